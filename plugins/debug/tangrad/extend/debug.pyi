# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._debug.calls import HostProgram as HostProgram
from tangrad._debug.effects import (
    debug_effects as debug_effects,
    io_effects as io_effects,
)
from tangrad._debug.evaluation import wait_for_earlier as wait_for_earlier
from tangrad._debug.functions import pure_callback as pure_callback
from tangrad._debug.primitives import (
    debug_callback_p as debug_callback_p,
    debug_print_p as debug_print_p,
    io_callback_p as io_callback_p,
    pure_callback_p as pure_callback_p,
)

__all__ = [
    "HostProgram",
    "debug_callback_p",
    "debug_effects",
    "debug_print_p",
    "io_callback_p",
    "io_effects",
    "pure_callback",
    "pure_callback_p",
    "wait_for_earlier",
]
