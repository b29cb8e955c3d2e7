"""Whether an exception came from outside of the code that it ended: what is interrupted is not broken.

A time-out raises wherever the program happens to be, in the middle of a plugin that does nothing wrong. It must reach
the caller, the plugin stays as it was, and nothing is done again meanwhile: what took too long would again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def from_signal_handler(error: BaseException) -> bool:
    """Return whether a signal's handler has raised `error`: Python hands it the frame that it came upon.

    That frame called it, as far as tracebacks say, and no other function gets the frame of its caller as an argument.
    """
    entry = error.__traceback__
    while entry is not None:
        frame = entry.tb_frame
        names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
        if frame.f_back is not None and any([frame.f_locals.get(name) is frame.f_back for name in names]):
            return True
        entry = entry.tb_next
    return False


def from_outside(error: BaseException, again: Callable[..., Any], *arguments: Any) -> bool:
    """Return whether `error`, which a call has raised, came from a signal's handler, or from another thread.

    Python makes what a thread sends without arguments; then the call is repeated, and works where it was interrupted.
    """
    return from_signal_handler(error) or (not error.args and works(again, *arguments))


def works(call: Callable[..., Any], *arguments: Any) -> bool:
    """Return whether a call that has raised works when it is repeated: then what it raised came from outside."""
    try:
        call(*arguments)
    except Exception as error:
        return from_signal_handler(error)
    return True
