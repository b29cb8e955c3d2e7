"""What backends take from the kernel: devices, shardings of programs, options of compiling, direct calls."""

from tangrad._core.composition.doors import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.composition.record": "read_own_file",
        "tangrad._core.diagnostics.logs": "Logger",
        "tangrad._core.diagnostics.tracebacks": "method_boundaries",
        "tangrad._core.kernel.array": "ArrayOperators",
        "tangrad._core.kernel.aval": "AbstractToken",
        "tangrad._core.kernel.backend": "chosen_device CompileOptions loaded_backends",
        "tangrad._core.kernel.jaxpr": "carried_program",
        "tangrad._core.kernel.primitive": "evaluate forget_direct_calls",
        "tangrad._core.settings.threads": "processors",
        "tangrad._core.kernel.sharding": (
            "agreed_devices as_sharding check_argument is_addressable names_memories Parts program_shardings "
            "sharding_of_result stated_claims types_by_shardings with_shardings_of_types"
        ),
    },
)
