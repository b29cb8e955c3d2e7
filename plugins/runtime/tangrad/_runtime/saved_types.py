"""Types of parameters that plugins define: how their values are written, and found again by a name.

An entry point of group `tangrad.saved_types` names a class; its name is what files call it, its value the class. What
is written of a value follows from the class, and no code of a file's is ever run:

- an `enum.Enum`: the name of the member;
- a `NamedTuple` or a dataclass: the fields, in their order;
- another subclass of `tuple`: its items, of which the class makes one;
- any other class: what its method `to_saved()` returns, from which its class method `from_saved(value)` makes it.

Fields, and what `to_saved` returns, are parameters in turn. `from_saved` gets what a file says: it must raise for what
makes no sense.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from tangrad._runtime.errors import ArtifactError
from tangrad.core import composition
from tangrad.core.caches import register_cache

GROUP = "tangrad.saved_types"

_by_class: dict[type, str] = {}


def name_of(kind: type) -> str | None:
    """The name under which values of a class are written, or None where it is not registered."""
    if not _by_class:
        for plugin in composition().entries(GROUP):
            _by_class[plugin.load()] = plugin.name
    return _by_class.get(kind)


register_cache(_by_class.clear)


def parts_of(value: Any) -> Any:
    """What is written of a value of a registered class."""
    if isinstance(value, enum.Enum):
        return value.name
    if hasattr(value, "to_saved"):
        return value.to_saved()
    if isinstance(value, tuple):
        return tuple(value)
    return tuple([getattr(value, field.name) for field in dataclasses.fields(value)])


def restored(name: str, parts: Any) -> Any:
    """The value of the registered class `name` of which `parts` were written. Raises ArtifactError."""
    # Without the check an empty name, or one with line breaks, would be looked for in the text of the index.
    plugin = composition().find(GROUP, name) if name.isprintable() and name.strip() else None
    if plugin is None:
        raise ArtifactError(f"the program has a parameter of type {name!r}, which no installed distribution provides")
    kind = plugin.load()
    try:
        if issubclass(kind, enum.Enum):
            return kind[parts]
        if hasattr(kind, "from_saved"):
            return kind.from_saved(parts)
        if not isinstance(parts, tuple):
            raise TypeError(f"expected its fields, got {parts!r}")
        return kind(*parts) if hasattr(kind, "_fields") or dataclasses.is_dataclass(kind) else kind(parts)
    except Exception as error:
        raise ArtifactError(f"{parts!r} is no {name}: {error}") from error
