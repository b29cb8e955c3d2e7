# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._core.kernel.backend import is_operand as is_operand
from tangrad._core.kernel.jaxpr import one_equation as one_equation
from tangrad._core.kernel.primitive import (
    join_named_shapes as join_named_shapes,
    kept_elsewhere as kept_elsewhere,
)
from tangrad._core.kernel.rule_trace import call_under as call_under
from tangrad._core.kernel.staging import (
    StagingTrace as StagingTrace,
    StagingTracer as StagingTracer,
)
from tangrad._core.kernel.trace import (
    check_no_leak as check_no_leak,
    device_beside as device_beside,
    find_backend as find_backend,
)

__all__ = [
    "StagingTrace",
    "StagingTracer",
    "call_under",
    "check_no_leak",
    "device_beside",
    "find_backend",
    "is_operand",
    "join_named_shapes",
    "kept_elsewhere",
    "one_equation",
]
