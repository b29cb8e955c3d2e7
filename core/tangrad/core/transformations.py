"""What transformations need beyond a trace that asks for rules: staging, calls, leaks, the place of operands."""

from tangrad._core.composition.doors import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.kernel.backend": "is_operand",
        "tangrad._core.kernel.jaxpr": "one_equation",
        "tangrad._core.kernel.primitive": "join_named_shapes",
        "tangrad._core.kernel.rule_trace": "call_under",
        "tangrad._core.kernel.staging": "StagingTrace StagingTracer",
        "tangrad._core.kernel.trace": "check_no_leak device_beside find_backend install_trace",
    },
)
