"""Programs on their way to a backend: lowering, compiling, calling, and the checks of what they return."""

from tangrad._core.composition.doors import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.kernel.compilation": (
            "backend_of compile_program lower_program LoweredProgram one_at_a_time Program program_for "
            "program_watchers report_hit to_arrays usable_donations"
        ),
        "tangrad._core.kernel.nan_checks": "check_results check_values without_value_checks",
        "tangrad._core.kernel.primitive": "watch_operations",
        "tangrad._core.kernel.trace": "computes_at_once",
    },
)
