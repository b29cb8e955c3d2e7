"""Errors of Python functions that programs call, on their way through XLA; and calls that no interrupt may cut short.

XLA turns whatever a callback raises into an error of its own, which keeps the text alone; it comes up where results are
waited for, which may be later and elsewhere. So the exception is kept here under a number that goes into the text, and
is raised in place of XLA's error.
"""

from __future__ import annotations

import _thread
import atexit
import itertools
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from tangrad.core.caches import after_fork

# Exceptions hold on to the frames they went through: only the latest are kept.
LIMIT = 32

_lock = threading.Lock()
_numbers = itertools.count(1)
_kept: OrderedDict[int, tuple[BaseException, TracebackType | None]] = OrderedDict()
_MARK = re.compile(r"\[tangrad callback failure (\d+)\]")


class CallbackFailed(Exception):
    """What a callback raises in XLA's hands."""


def keep(error: BaseException) -> CallbackFailed:
    """Keep an exception; returns the one to raise instead."""
    number = next(_numbers)
    with _lock:
        _kept[number] = error, error.__traceback__
        if len(_kept) > LIMIT:
            _kept.popitem(last=False)
    return CallbackFailed(f"{type(error).__name__}: {error} [tangrad callback failure {number}]")


def raise_original(error: BaseException) -> None:
    """Raise what a callback has raised, if that is why a program failed with `error` and it is still kept."""
    found: re.Match[str] | None = _MARK.search(str(error))
    kept = _kept.get(int(found.group(1))) if found is not None else None
    if kept is not None:
        original, traceback = kept
        raise original.with_traceback(traceback)


def forget() -> None:
    """Let the kept exceptions go."""
    with _lock:
        _kept.clear()


# --- Calls of jaxlib that an interrupt must not cut short ---
# jaxlib compiles in a thread of its own and waits for it. In the main thread the wait ends when a signal's handler
# raises (Ctrl-C does); what is compiled is freed then, while the compiler goes on reading it: the process dies.
# Python runs handlers in the main thread alone. So such a call is made from another one, for which the main thread
# waits: an interrupt still ends the wait at once, and the call goes on with what is its own until it is done.
# The threads are the interpreter's plain ones, and bare locks signal their end. `threading.Thread.start` waits for an
# `Event`, written in Python: an interrupt in the midst of that wait leaves the event's lock taken, and the new thread
# stands before it for ever.

R = TypeVar("R")

_main_thread = threading.main_thread
_running: set[_thread.LockType] = set()  # a lock for each call under way, free when the call is done
_ended = False  # at the interpreter's end no thread begins any more


def uninterrupted(call: Callable[..., R], *args: object) -> R:
    """`call(*args)`, which goes on to its end even where an interrupt ends this. Raises what the call raises."""
    if _ended or threading.get_ident() != _main_thread().ident:
        return call(*args)
    results: list[R] = []
    errors: list[BaseException] = []
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            _running.add(done)
            if not _ended:
                results.append(call(*args))
        except BaseException as error:
            errors.append(error)
        finally:
            _running.discard(done)

    # An exception that another thread sends to this one may go to the new one instead: until that has begun CPython
    # knows it by this one's number. It ends before it does anything then, and another takes its place.
    while not (results or errors):
        _thread.start_new_thread(_releasing(run, done), ())
        done.acquire()
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # or the error would hold this frame, and the frame the error
    return results[0]


class _Release:
    """Releases a lock when the last reference to it goes."""

    __slots__ = ("_lock",)

    def __init__(self, lock: Any) -> None:
        self._lock = lock

    def __del__(self) -> None:
        self._lock.release()


def _releasing(run: Callable[[], None], lock: object) -> Callable[[], None]:
    """A thread's function that frees a lock when the thread ends, however it does: not even its first line is sure.

    The thread alone has it. No frame has, which an error could keep.
    """
    function: Any = partial(run)
    function.at_the_end = _Release(lock)
    return function


after_fork(_running.clear)  # the threads are not in the child


@atexit.register
def _wait_for_all() -> None:
    """The client is taken away after this: no call may be under way then."""
    global _ended
    _ended = True
    for done in list(_running):
        done.acquire()
