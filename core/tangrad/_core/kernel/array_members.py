"""The base of arrays: what plugins add to them, found on the class, too. Editors read the stub beside this file."""

from typing import Any

from tangrad._core.composition.attributes import ATTRIBUTES_GROUP, attributes
from tangrad._core.composition.registry import composition


class MembersOnClass(type):
    # The metaclass of arrays: `Array.reshape` is found, and `dir(Array)` lists it.

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):  # what Python and NumPy ask of any class
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return attributes[name]

    def __dir__(cls) -> list[str]:
        return sorted({*super().__dir__(), *composition().names(ATTRIBUTES_GROUP)})


class ArrayMembers(metaclass=MembersOnClass):
    __slots__ = ()

    def __dir__(self) -> list[str]:  # what an interactive prompt completes
        return sorted({*super().__dir__(), *composition().names(ATTRIBUTES_GROUP)})
