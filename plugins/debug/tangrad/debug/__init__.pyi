# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._core.diagnostics.errors import CallbackError as CallbackError
from tangrad._debug.breakpoints import debug_breakpoint as breakpoint
from tangrad._debug.effects import (
    DebugEffect as DebugEffect,
    OrderedDebugEffect as OrderedDebugEffect,
)
from tangrad._debug.functions import debug_callback as callback
from tangrad._debug.printing import (
    debug_log as log,
    debug_print as print,
)
from tangrad._sharding.pictures import (
    visualize_array_sharding as visualize_array_sharding,
    visualize_sharding as visualize_sharding,
)

__all__ = [
    "CallbackError",
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]
