"""The threads that compute parts of large arrays, and how many there are.

NumPy's functions let other threads of Python go on while they compute, so that parts of one array are computed at the
same time. What a part gives depends on where it begins and ends, never on which thread computes it or how many there
are: callers fix the parts by shapes alone.

The threads start with the first array that is large enough, sleep between calls, and end with the interpreter. A child
of `fork` starts its own. A part that would itself part its work does it alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tangrad._backend_numpy.quiet import run_quietly
from tangrad.core.backends import processors
from tangrad.core.caches import free_after_fork
from tangrad.core.settings import check_optional_positive, define_setting

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

NO_PART = -1
MOST = 8  # threads, unless more are asked for: Python's own share of the work is done by one at a time

numpy_threads = define_setting(
    "numpy_threads",
    None,
    "In how many threads the NumPy backend computes large arrays; None: one for each processor, up to 8.",
    parse=lambda text: None if text.strip().lower() in ("", "none") else int(text),
    check=check_optional_positive,
)


class _State(threading.local):
    is_working = False


_state = _State()
_lock = free_after_fork(threading.Lock())
_pool: ThreadPoolExecutor | None = None
_size = 0  # of the pool


def count() -> int:
    """How many threads a caller can use, its own included."""
    return 1 if _state.is_working else numpy_threads.value or min(processors(), MOST)


def share(work: Callable[[Iterable[int]], object], parts: range) -> None:
    """Call `work(some of parts)` in several threads, where each takes the next part that is left; or once, with all.

    Args:
        work: a function of an iterable, which calls no code of users. In each thread it is called once at most, so that
            it can have memory of its own for all of its parts.
        parts: what names the parts, such as where they begin; none is negative.

    Raises what `work` raised, in several threads what was raised for the first part; others may not be computed then.
    """
    helpers = min(count(), len(parts)) - 1 if len(parts) > 1 else 0
    if helpers < 1:
        work(parts)
        return
    waiting = list(reversed(parts))
    failures: list[tuple[int, Exception]] = []
    futures: list[Future[None]] = []
    try:
        _submit(futures, helpers, work, waiting, failures)
        _work(work, waiting, failures)
    finally:
        waiting.clear()
        _wait(futures)
    if failures:
        raise min(failures, key=lambda failure: failure[0])[1]


def _work(work: Callable[[Iterable[int]], object], waiting: list[int], failures: list[tuple[int, Exception]]) -> None:
    latest = NO_PART

    def take() -> int:
        nonlocal latest
        try:
            latest = waiting.pop()  # which no two threads do at once
        except IndexError:
            return NO_PART
        return latest

    _state.is_working = True
    try:
        work(iter(take, NO_PART))
    except Exception as error:  # anything else, an interrupt, is raised at once
        waiting.clear()
        failures.append((latest, error))
    finally:
        _state.is_working = False


def _submit(futures: list[Future[None]], helpers: int, *call: object) -> None:
    try:
        pool = _pool if _size >= helpers and _pool is not None else _start(helpers)
        for _ in range(helpers):
            futures.append(pool.submit(run_quietly, _work, *call))
    except RuntimeError:  # the interpreter ends, or the system gives no threads
        return


def _wait(futures: list[Future[None]]) -> None:
    """Until no thread writes any more, interrupted or not; what has not begun is not needed."""
    interrupt = None
    for future in futures:
        while not (future.cancel() or future.done()):
            try:
                future.exception()
            except KeyboardInterrupt as error:
                interrupt = error
    if interrupt is not None:
        raise interrupt


def _start(helpers: int) -> ThreadPoolExecutor:
    global _pool, _size
    from concurrent.futures import ThreadPoolExecutor  # not with the backend: it takes milliseconds

    with _lock:
        if _pool is None or _size < helpers:
            _size = max(helpers, processors() - 1)
            _pool = ThreadPoolExecutor(_size, "tangrad-numpy")
        return _pool


def _forget() -> None:
    """In the child of a fork, where the threads are not."""
    global _pool, _size
    _pool, _size = None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
