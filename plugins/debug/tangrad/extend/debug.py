"""What other distributions may use of tangrad-debug, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._debug.calls": "HostProgram",
        "tangrad._debug.functions": "pure_callback",
        "tangrad._debug.primitives": (
            "debug_callback_p debug_effects debug_print_p io_callback_p io_effects pure_callback_p wait_for_earlier"
        ),
    },
)
