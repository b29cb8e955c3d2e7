"""What a long compilation is at: a line now and then, where the setting `log_compiles` asks for it.

A thread looks at the stack of the one that compiles, so nothing has to say its phase; it is there as long as something
is compiled while the setting is on.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from time import monotonic
from types import CodeType, FrameType
from typing import ParamSpec, TypeVar

from tangrad._jit.call import trace_call
from tangrad.core import thread
from tangrad.core.backends import Logger
from tangrad.core.programs import LoweredProgram
from tangrad.core.tools import hooks

P = ParamSpec("P")
R = TypeVar("R")
AFTER = 10.0  # seconds until the first line
EVERY = 10.0  # and from each to the next
logger = Logger("tangrad")


def watched(name: str, make: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return `make(*args, **kwargs)`; a line says what it is at where that takes long, and `log_compiles` is on."""
    if not thread.log_compiles:
        return make(*args, **kwargs)
    done = threading.Event()
    watcher = threading.Thread(
        target=_report_until, args=(done, name, threading.get_ident()), name="tangrad-progress", daemon=True
    )
    try:
        watcher.start()
    except RuntimeError:  # no threads here, or no more of them: it is compiled without the lines
        return make(*args, **kwargs)
    try:
        return make(*args, **kwargs)
    finally:
        done.set()
        watcher.join()


def _report_until(done: threading.Event, name: str, compiling: int) -> None:
    started = monotonic()
    pause = AFTER
    while not done.wait(pause):
        phase = phase_of(sys._current_frames().get(compiling))
        logger.warning("Compiling %s: %.0f s so far, now %s", name, monotonic() - started, phase)
        pause = EVERY


_PHASES: dict[CodeType, str] = {
    trace_call.__code__: "tracing",
    type(hooks).run_passes.__code__: "in the passes",
    LoweredProgram.__init__.__code__: "lowering",
    LoweredProgram.compile.__code__: "in the backend's compiler",
}


def phase_of(frame: FrameType | None) -> str:
    """The phase that the innermost of a thread's functions belongs to."""
    while frame is not None:
        found = _PHASES.get(frame.f_code)
        if found is not None:
            return found
        frame = frame.f_back
    return "between its stages"
