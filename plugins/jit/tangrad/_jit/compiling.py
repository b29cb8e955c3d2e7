"""Compiling: what a long one is at, one for each place where a backend asks for it, and what is remembered of it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from time import monotonic
from types import CodeType, FrameType
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from tangrad._jit.call import trace_call
from tangrad.core import Array, ClosedJaxpr, thread
from tangrad.core.backends import Logger
from tangrad.core.programs import LoweredProgram, compile_program, one_at_a_time
from tangrad.core.tools import hooks

if TYPE_CHECKING:
    from tangrad.core import Backend, Device
    from tangrad.core.backends import CompileOptions
    from tangrad.core.programs import Program
    from tangrad.typing import Params


class Compilation(NamedTuple):
    """What a compiled program remembers of how it was made.

    Attributes:
        traced, passes, lowered, compiled: seconds. reused: whether the function had been traced before.
        program: what the backend got. options: with which options.
    """

    traced: float
    reused: bool
    passes: float
    lowered: float
    compiled: float
    program: ClosedJaxpr
    options: CompileOptions


P = ParamSpec("P")
R = TypeVar("R")
AFTER = 10.0  # seconds until the first line
EVERY = 10.0  # and from each to the next
logger = Logger("tangrad")


def watched(name: str, make: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return `make(*args, **kwargs)`; a line reports what it is at where that takes long, and `log_compiles` is on."""
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


class Placed:
    """Runs a program where its arguments are: one compilation for each place."""

    __slots__ = ("_backend", "_jaxpr", "_name", "_options", "_programs")

    def __init__(self, jaxpr: ClosedJaxpr, backend: Backend, name: str, options: Params) -> None:
        self._jaxpr = jaxpr
        self._backend = backend
        self._name = name
        self._options = options
        self._programs: dict[Device | None, Program] = {}

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        place = self._backend.placement(arrays)
        program = self._programs.get(place)
        if program is None:
            with one_at_a_time((id(self), place)):
                program = self._programs.get(place)
                if program is None:
                    program = self._programs[place] = watched(
                        self._name,
                        compile_program,
                        self._jaxpr,
                        self._backend,
                        self._name,
                        device=place,
                        **self._options,
                    )
        return program.execute(arrays)
