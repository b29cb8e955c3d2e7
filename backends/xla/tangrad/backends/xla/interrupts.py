"""Calls of jaxlib that an interrupt must not cut short.

jaxlib compiles in a thread of its own and waits for it. In the main thread the wait ends when a signal's handler raises
(Ctrl-C does); what is compiled is freed then, while the compiler goes on reading it: the process dies. Python runs
handlers in the main thread alone. So such a call is made from another one, for which the main thread waits: an
interrupt still ends the wait at once, and the call goes on with what is its own until it is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_main_thread = threading.main_thread


def uninterrupted(call: Callable[..., Any], *args: Any) -> Any:
    """`call(*args)`, which goes on to its end even where an interrupt ends this. Raises what the call raises."""
    if threading.get_ident() != _main_thread().ident:
        return call(*args)
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call(*args))
        except BaseException as error:
            errors.append(error)

    # Not a daemon: at its end the interpreter waits for it, and takes the client away afterwards.
    thread = threading.Thread(target=run, name="tangrad-xla-compile")
    thread.start()
    thread.join()
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # or the error would hold this frame, and the frame the error
    return results[0]
