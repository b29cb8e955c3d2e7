"""Operators, methods and properties of arrays: plugins of the group `tangrad.array`, loaded when first used.

What was loaded is put on the class of arrays, where Python finds it at once: coming through the class's `__getattr__`,
or through a function that looks it up here, costs as much as a small operation of NumPy. A change of the composition
takes it off again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tangrad._core.composition.missing_names import explanations
from tangrad._core.composition.registry import Plugin, composition
from tangrad._core.diagnostics.tracebacks import boundary_around, filter_traceback, is_boundary, own_boundary
from tangrad._core.settings.threads import free_after_fork

ATTRIBUTES_GROUP = "tangrad.array"
ABSENT_LIMIT = 256


class _Attributes(dict[str, Any]):
    """Name -> function of the array, or `property`. Names are Python's own, such as `__add__`, `reshape`, `T`."""

    __slots__ = ("_absent", "_changes", "_lock", "_owner", "_replaced")

    def __init__(self) -> None:
        super().__init__()
        self._owner: type | None = None
        self._changes = 0  # of the composition
        self._absent: set[str] = set()  # names that libraries ask for again and again
        self._lock = free_after_fork(threading.RLock())  # what it guards is done whole, or once more
        self._replaced: dict[str, object] = {}  # name on the class -> what it had there; None: nothing

    def serve(self, owner: type) -> None:
        """Put what is loaded from now on `owner`, the class of arrays, whose operators find it here until then."""
        self._owner = owner

    def __missing__(self, name: str) -> Any:
        changes, absent = self._changes, self._absent
        plugin = None if name in absent else composition().find(ATTRIBUTES_GROUP, name)
        if plugin is None:
            if len(absent) < ABSENT_LIMIT and "tangrad_array_attribute" not in composition().manager.computes:
                absent.add(name)
            raise explanations().missing_array_attribute(name, lambda: composition().names(ATTRIBUTES_GROUP), changes)
        found = plugin.load()
        is_whole = plugin.is_object(found)  # or its module is being imported: who knows whether that ends well
        if not name.startswith("__"):  # methods and properties; operators are boundaries themselves
            found = _with_boundary(found)
        with self._lock:
            if is_whole and changes == self._changes:  # or it may be of a composition that is no more
                self[name] = found
                self._put_on_class(name, found)
        return found

    def _put_on_class(self, name: str, found: object) -> None:
        if not name.startswith("__"):
            if type(found) in (FunctionType, property):
                self._put(name, found)
        elif type(found) is FunctionType and is_boundary(found) and name in vars(self._owner):
            self._put(name, found)
            reflected = f"__r{name[2:]}"
            if reflected in vars(self._owner):
                self._put(reflected, _reflected(found))

    def _put(self, name: str, value: object) -> None:
        self._replaced.setdefault(name, vars(self._owner).get(name))
        setattr(self._owner, name, value)

    def forget(self) -> None:
        """Load everything anew when it is used next."""
        with self._lock:
            self._changes, self._absent = self._changes + 1, set()
            self.clear()
            while self._replaced:
                name, value = self._replaced.popitem()
                if value is not None:
                    setattr(self._owner, name, value)
                elif name in vars(self._owner):
                    delattr(self._owner, name)


def _with_boundary(found: object) -> object:
    if type(found) is FunctionType:
        return boundary_around(found)
    if type(found) is property and type(found.fget) is FunctionType:
        return property(boundary_around(found.fget), doc=found.__doc__)
    return found


def _reflected(operation: FunctionType) -> Any:
    def reflected_operator(self: object, other: object) -> object:
        try:
            return operation(other, self)
        except Exception as error:
            filter_traceback(error)
            raise

    return own_boundary(reflected_operator)


def _check_attribute(_: Plugin, loaded: Callable[..., object] | int | property) -> None:
    if not hasattr(type(loaded), "__get__"):
        raise TypeError(
            f"expected a function of the array, or a property, got {loaded!r} of type {type(loaded).__name__}"
        )


attributes = _Attributes()
composition().set_check(ATTRIBUTES_GROUP, _check_attribute)
composition().on_change(lambda _: attributes.forget())
