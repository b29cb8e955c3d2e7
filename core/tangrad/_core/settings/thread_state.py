"""What one thread is doing: fields with owners, in the object that has its overrides of settings as well."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any


class ThreadState(threading.local):
    """The state of one thread. A field is assigned by its owner, a module of core; others use `holding`."""

    trace: Any  # kernel.trace: the current `Trace`
    name_stack: tuple[str, ...] = ()  # diagnostics.source_info: the named scopes around, a `NameStack`
    source: Any = None  # diagnostics.source_info: a `SourceInfo` that stands for all operations, or None
    values_unchecked: bool = False  # kernel.nan_checks: within `without_value_checks`
    copies_explicitly: bool = False  # kernel.transfers: within `device_put` and `device_get`
    overrides: tuple[tuple[str, Any], ...] = ()  # settings.config: part of the keys of caches, beside `shared.context`
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

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._previous = {name: getattr(thread, name) for name in self._fields}
        thread.__dict__.update(self._fields)

    def __exit__(self, *_: object) -> None:
        thread.__dict__.update(self._previous)
