"""Locks across a fork: in the child the threads that held them are gone, and nothing else would release them."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

L = TypeVar("L", bound=Any)

_watched: weakref.WeakSet[Any] = weakref.WeakSet()
_new = threading.Lock()


def free_after_fork(lock: L) -> L:
    """Return `lock`, which the child of a fork finds free, whichever thread held it.

    What a lock guards must be whole between any two steps of Python: a fork happens between them.

    Args:
        lock: a `threading.Lock` or `threading.RLock`.

    >>> import threading
    >>> from tangrad.core.caches import free_after_fork
    >>> with free_after_fork(threading.Lock()) as held:
    ...     held
    True
    """
    with _new:
        _watched.add(lock)
    return lock


def _free_all() -> None:
    global _new, _watched
    locks = list(_watched.data)  # type: ignore[attr-defined]  # the set itself may have been amid a change
    _new, _watched = threading.Lock(), weakref.WeakSet()
    for reference in locks:
        lock = reference()
        if lock is not None:
            lock._at_fork_reinit()  # what the threading module does with its own
            _watched.add(lock)


def after_fork(repair: Callable[[], Any]) -> Callable[[], Any]:
    """Have `repair()` called in the child of a fork, where locks of `free_after_fork` are free already.

    Returns it, so that it serves as a decorator.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=repair)
    return repair


after_fork(_free_all)
