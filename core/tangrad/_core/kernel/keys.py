"""Cache keys for parameters and static values.

In Python `1 == 1.0 == True` and `0.0 == -0.0`; a cache must distinguish them, or one program would be answered with
another's result. `typed_key` makes a hashable key that does.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, TypeAlias, TypeVar

C = TypeVar("C", bound=type)
Params: TypeAlias = dict[str, Any]  # a primitive\'s parameters by name

# Types whose equality is already exact, so that the value is its own key.
_EXACT: set[type] = {str, type(None), bytes}


def exact_equality(kind: C) -> C:
    """Declare that equal values of `kind` are interchangeable, as parts of cache keys. A decorator of classes.

    For types that compare by identity, as jaxprs do, and for those whose equality distinguishes all that matters.

    >>> from tangrad.core.caches import exact_equality
    >>> @exact_equality
    ... class Mode:
    ...     "A parameter of some primitive; each mode is one object."
    """
    _EXACT.add(kind)
    return kind


def typed_key(value: Any) -> Any:
    """A hashable key for `value` that distinguishes types and the sign of zero. Raises TypeError if unhashable.

    >>> from tangrad.core.caches import typed_key
    >>> 1 == True, typed_key(1) == typed_key(True), typed_key((0.0,)) == typed_key((-0.0,))
    (True, False, False)
    """
    kind = type(value)
    if kind in _EXACT:
        return value
    if kind is tuple:
        if _only_integers(value):  # the leaves of most nested tuples: three times as fast
            return int, value
        return (kind, *[typed_key(item) for item in value])
    if kind is float:
        # NaN is not equal to itself: as a key it would never be found again.
        return (kind, value, math.copysign(1.0, value)) if value == value else (kind, "nan")
    if kind is complex:
        return kind, value, math.copysign(1.0, value.real), math.copysign(1.0, value.imag)
    if isinstance(value, tuple):
        return (kind, *[typed_key(item) for item in value])
    if kind is frozenset:
        return kind, frozenset([typed_key(item) for item in value])
    hash(value)
    return kind, value


def params_key(params: Params) -> Hashable:
    """The key of a primitive's parameters, which `FixedParams` have ready.

    Tuples of plain integers, the most common value, take the short way.
    """
    if type(params) is FixedParams:
        return params.key
    key: list[Hashable] = []
    for name, value in params.items():
        kind = type(value)
        key.append(name)
        if kind in _EXACT:
            key.append(value)
        elif kind is tuple:
            key.extend((value, None if _only_integers(value) else typed_key(value)))
        else:
            key.append(typed_key(value))
    return tuple(key)


class FixedParams(dict[str, Any]):
    """Parameters that a hot path binds again and again (`Primitive.bind_fixed`): their key is made once.

    Must not be changed once made.
    """

    __slots__ = ("key",)

    def __init__(self, **params: object) -> None:
        super().__init__(params)
        self.key = params_key(params)


def _only_integers(value: tuple[Any, ...]) -> bool:
    """Whether a tuple holds integers, and tuples of them, alone: its value determines its key."""
    for item in value:
        kind = type(item)
        if kind is not int and (kind is not tuple or not _only_integers(item)):
            return False
    return True
