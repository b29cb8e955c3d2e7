"""Timing one piece of work inside a process: what a `Case` is, and the best time of one call of it.

The machine is noisy, and noise only ever adds time. So the time of a call is the *least* over many short loops: a loop
of a few milliseconds often fits between two interruptions, one of a second never does. Garbage collection stays on,
because users have it on, but starts clean.

On a machine that others keep busy the CPU clock (of all the process's threads) may say more than the one on the wall.
"""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from itertools import repeat
from time import perf_counter, process_time
from typing import Any

# --- How many programs a side has compiled so far, by what the side itself reports ---

BACKEND_COMPILE = "/jax/core/compile/backend_compile_duration"

_counters: dict[str, Callable[[], int]] = {}


def counter(module: str) -> Callable[[], int]:
    """The function that returns the number of programs compiled since this was first asked for. NumPy compiles none."""
    if module not in _counters:
        _counters[module] = _MAKERS.get(module, _of_none)()
    return _counters[module]


def _of_none() -> Callable[[], int]:
    return lambda: 0


def _of_jax() -> Callable[[], int]:
    seen: list[str] = []

    def listen(event: str, seconds: float, **_: Any) -> None:
        if event == BACKEND_COMPILE:
            seen.append(event)

    import_module("jax.monitoring").register_event_duration_secs_listener(listen)
    return lambda: len(seen)


def _of_tangrad() -> Callable[[], int]:
    core = import_module("tangrad.core")

    class Compilations:
        """Counts what is compiled."""

        count = 0

        @core.hookimpl  # type: ignore[untyped-decorator]
        def tangrad_compiled(self, context: Any) -> None:
            self.count += 1

    observer = Compilations()
    core.register(observer, group="tangrad.hooks", name="compilations")
    return lambda: observer.count


_MAKERS = {"jax": _of_jax, "tangrad": _of_tangrad}


# --- Timing one piece of work inside a process: what a `Case` is, and the best time of one call of it ---

CLOCKS = {"wall": perf_counter, "cpu": process_time}
LOOP_SECONDS = 0.004
LEAST_LOOPS = 3
LONG = 5
MOST_FRESH = 256
MOST_CALLS = 1 << 20


@dataclass(slots=True)
class Case:
    """A piece of work on one side.

    `call()` does it once. Where caches would hide the work, `fresh()` makes a new function (untimed) for each call and
    the work is `call(function)`. `finish()`, inside the timed section, waits for asynchronous results. `equations()` is
    the number of jaxpr equations behind a call and `hlo()` the optimised HLO text, where they mean something;
    `compilations()` gives the function that returns how many programs the side has compiled. `once`: a call takes
    seconds, so that one is a sample.
    """

    call: Callable[..., Any]
    fresh: Callable[[], Any] | None = None
    finish: Callable[[Any], Any] | None = None
    equations: Callable[[], int] | None = None
    hlo: Callable[[], str] | None = None
    compilations: Callable[[], Callable[[], int]] | None = None
    once: bool = False


def compilations_of_a_call(case: Case) -> int:
    """How many programs one call compiles, after another one; of a fresh case, on something fresh."""
    if case.compilations is None:
        raise ValueError("there is no count of what this case compiles")
    compiled = case.compilations()
    loop_seconds(case, 1)
    before = compiled()
    loop_seconds(case, 1)
    return compiled() - before


def loop_seconds(case: Case, count: int, clock: str = "wall") -> float:
    """Seconds that `count` calls take together, by a clock of `CLOCKS`."""
    now = CLOCKS[clock]
    if case.fresh is not None:
        return _fresh_loop_seconds(case, count, now)
    call, result = case.call, None
    start = now()
    for _ in repeat(None, count):
        result = call()
    if case.finish is not None:
        case.finish(result)
    return now() - start


def _fresh_loop_seconds(case: Case, count: int, now: Callable[[], float]) -> float:
    assert case.fresh is not None
    functions = [case.fresh() for _ in range(count)]
    call, result = case.call, None
    start = now()
    for function in functions:
        result = call(function)
    if case.finish is not None:
        case.finish(result)
    return now() - start


def calls_in_a_loop(case: Case, loop: float = LOOP_SECONDS) -> int:
    """How many calls fill a loop of about `loop` seconds; warms the case up while finding out."""
    if case.once:
        return 1
    loop_seconds(case, 1)
    if loop_seconds(case, 1) > LONG * loop:  # it compiles in each call: once is enough, however it was interrupted
        return 1
    count = 1
    most = MOST_FRESH if case.fresh is not None else MOST_CALLS
    while loop_seconds(case, count) < loop / 2 and count < most:
        count *= 4
    # One slow loop, interrupted by another process, must not leave loops that are too short: the least of several.
    took = min([loop_seconds(case, count) for _ in range(LEAST_LOOPS)])
    return min(most, max(1, round(count * loop / max(took, 1e-9))))


def best_call_seconds(case: Case, count: int, seconds: float, clock: str = "wall") -> float:
    """The least seconds of one call over loops of `count` calls that take about `seconds` together."""
    gc.collect()
    best, spent, loops = float("inf"), 0.0, 0
    while not loops or (not case.once and (spent < seconds or loops < LEAST_LOOPS)):
        took = loop_seconds(case, count, clock)
        best, spent, loops = min(best, took), spent + took, loops + 1
    return best / count
