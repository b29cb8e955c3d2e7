# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._jit.abstract import struct_tree as struct_tree
from tangrad._jit.call import (
    Call as Call,
    Options as Options,
    trace_call as trace_call,
)
from tangrad._jit.donations import taken_over as taken_over
from tangrad._jit.function import (
    JitFunction as JitFunction,
    jit as jit,
)
from tangrad._jit.primitives import jit_p as jit_p
from tangrad._jit.regions.primitives import region_p as region_p
from tangrad._jit.signature import (
    check_positions as check_positions,
    infer_other as infer_other,
    positions as positions,
    signature_of as signature_of,
)

__all__ = [
    "Call",
    "JitFunction",
    "Options",
    "check_positions",
    "infer_other",
    "jit",
    "jit_p",
    "positions",
    "region_p",
    "signature_of",
    "struct_tree",
    "taken_over",
    "trace_call",
]
