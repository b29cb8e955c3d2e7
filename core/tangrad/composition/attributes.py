"""Operators, methods and properties of arrays: plugins of the group `tangrad.array`, loaded when first used."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from tangrad.composition.registry import composition
from tangrad.diagnostics.missing_names import missing_array_attribute
from tangrad.diagnostics.tracebacks import api_boundary

ATTRIBUTES_GROUP = "tangrad.array"


class _Attributes(dict[str, Any]):
    """Name -> function of the array, or `property`. Names are Python's own, such as `__add__`, `reshape`, `T`."""

    def __missing__(self, name: str) -> Any:
        plugin = composition().find(ATTRIBUTES_GROUP, name)
        if plugin is None:
            raise missing_array_attribute(name)
        found = plugin.load()
        if type(found) is FunctionType and not name.startswith("__"):  # methods; operators are boundaries themselves
            found = api_boundary(found)
        self[name] = found
        return found


def _check_attribute(_: Any, loaded: Any) -> None:
    if not hasattr(type(loaded), "__get__"):
        raise TypeError(
            f"expected a function of the array, or a property, got {loaded!r} of type {type(loaded).__name__}"
        )


attributes = _Attributes()
composition().set_check(ATTRIBUTES_GROUP, _check_attribute)
composition().on_change(lambda _: attributes.clear())
