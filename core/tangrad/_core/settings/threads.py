"""What one thread is doing, and locks across a fork.

The state of a thread has fields with owners; the object has its overrides of settings as well. In the child of a fork
the threads that held locks are gone, and nothing else would release them.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

L = TypeVar("L")


class ThreadState(threading.local):
    """The state of one thread. A field is assigned by its owner, a module of core; others use `holding`."""

    trace: Any  # kernel.trace: the current `Trace`
    name_stack: tuple[str, ...] = ()  # diagnostics.source_info: the named scopes around, a `NameStack`
    source: Any = None  # diagnostics.source_info: a `SourceInfo` that stands for all operations, or None
    in_hook: bool = False  # composition.hook_names: a hook that compiles would otherwise call itself without end
    values_unchecked: bool = False  # kernel.nan_checks: within `without_value_checks`
    copies_explicitly: bool = False  # kernel.transfers: within `device_put` and `device_get`
    overrides: tuple[tuple[str, object], ...] = ()  # settings.config: in the keys of caches, beside `shared.context`
    axis_environment: tuple[tuple[Any, int], ...] = ()  # `holding` alone: named axes and sizes, the innermost last
    typed_axes: Any = None  # `holding` alone: what marks in types along which named axes values differ, or None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


thread = ThreadState()


class holding:  # noqa: N801 - a context manager, named as a verb
    """Within a `with` block, fields of this thread's state have these values; whatever is raised, they are restored.

    Raises AttributeError for a name that is no field.
    """

    __slots__ = ("_fields", "_previous")

    def __init__(self, **fields: object) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._previous = {name: getattr(thread, name) for name in self._fields}
        thread.__dict__.update(self._fields)

    def __exit__(self, *_: object) -> None:
        thread.__dict__.update(self._previous)


def processors() -> int:
    """How many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# --- forks ---

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


def after_fork(repair: Callable[[], None]) -> Callable[[], None]:
    """Have `repair()` called in the child of a fork, where locks of `free_after_fork` are free already.

    Returns it, so that it serves as a decorator.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=repair)
    return repair


after_fork(_free_all)
