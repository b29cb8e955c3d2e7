"""Key paths: where in a tree a leaf is. A path is a tuple of entries, one for each node on the way from the root."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NoReturn, TypeAlias, TypeVar

KeyEntry = TypeVar("KeyEntry", bound=Hashable)
KeyPath: TypeAlias = tuple[Any, ...]


class _Entry:
    """An entry of a key path: one immutable attribute, named in `__match_args__`."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    def _value(self) -> object:
        return getattr(self, self.__match_args__[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Entry) or type(other) is not type(self):
            return NotImplemented
        return bool(self._value() == other._value())

    def __hash__(self) -> int:
        return hash((type(self), self._value()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__match_args__[0]}={self._value()!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._value(),)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be deleted")


_set = object.__setattr__


class DictKey(_Entry):
    """The entry of a child of a dict.

    >>> from tangrad.tree_util import DictKey
    >>> str(DictKey("weights"))
    "['weights']"
    """

    __slots__ = __match_args__ = ("key",)
    key: Any

    def __init__(self, key: Hashable) -> None:
        _set(self, "key", key)

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class SequenceKey(_Entry):
    """The entry of a child of a list or tuple.

    >>> from tangrad.tree_util import SequenceKey
    >>> str(SequenceKey(2))
    '[2]'
    """

    __slots__ = __match_args__ = ("idx",)
    idx: int

    def __init__(self, idx: int) -> None:
        if not isinstance(idx, int):
            raise TypeError(f"SequenceKey expects an int, got {type(idx).__name__}: {idx!r}")
        _set(self, "idx", idx)

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


class GetAttrKey(_Entry):
    """The entry of a child that is an attribute: of a namedtuple, a dataclass, or a class with keys.

    >>> from tangrad.tree_util import GetAttrKey
    >>> str(GetAttrKey("bias"))
    '.bias'
    """

    __slots__ = __match_args__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"GetAttrKey expects a str, got {type(name).__name__}: {name!r}")
        _set(self, "name", name)

    def __str__(self) -> str:
        return f".{self.name}"


class FlattenedIndexKey(_Entry):
    """The entry of a child of a registered type that names no keys: its position among the children.

    >>> from tangrad.tree_util import FlattenedIndexKey
    >>> str(FlattenedIndexKey(1))
    '[<flat index 1>]'
    """

    __slots__ = __match_args__ = ("key",)
    key: int

    def __init__(self, key: int) -> None:
        if not isinstance(key, int):
            raise TypeError(f"FlattenedIndexKey expects an int, got {type(key).__name__}: {key!r}")
        _set(self, "key", key)

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Return a key path as text.

    Args:
        keys: the path.
        simple: print keys, indices and names alone, without brackets, quotes and dots.
        separator: put between the entries.

    >>> from tangrad.tree_util import DictKey, SequenceKey, keystr
    >>> keystr((DictKey("layers"), SequenceKey(0)))
    "['layers'][0]"
    >>> keystr((DictKey("layers"), SequenceKey(0)), simple=True, separator="/")
    'layers/0'
    """
    return separator.join([str(key._value() if simple and isinstance(key, _Entry) else key) for key in keys])
