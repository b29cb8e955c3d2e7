"""Shapes with named axes: independent samples for each example along mapped axes, of one key."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import SupportsIndex, TypeVar, cast

from tangrad._random.functions import fold_in
from tangrad.core import Array, class_boundary
from tangrad.extend.collectives import axis_index, size_of_axis
from tangrad.typing import Key

Sampler = TypeVar("Sampler", bound=Callable[..., Array])


@class_boundary
class NamedShape(tuple[int, ...]):
    """A shape, and the mapped axes along which a sample differs.

    Args:
        sizes: the dimensions of the array of one example.
        named: sizes of mapped axes by name. Along them examples with the same key get independent samples; along other
            axes they get the same one.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad import random
    >>> noise = lambda x: x + random.normal(random.key(0), random.NamedShape(2, rows=3))
    >>> found = tangrad.vmap(noise, axis_name="rows")(np.zeros((3, 2)))
    >>> len(set(found.ravel().tolist()))
    6
    """

    named: dict[str, int]

    def __new__(cls, *sizes: int, **named: SupportsIndex) -> NamedShape:
        found = super().__new__(cls, sizes)
        found.named = {name: operator.index(size) for name, size in named.items()}
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and self[:] == other[:] and self.named == getattr(other, "named", {})

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self[:], frozenset(self.named.items()))) if self.named else hash(self[:])

    def __repr__(self) -> str:
        return f"NamedShape({', '.join([*map(str, self), *[f'{name}={size}' for name, size in self.named.items()]])})"


def takes_named_shapes(sampler: Sampler) -> Sampler:
    """A function of a key, and of a shape among other arguments, that takes a `NamedShape` too.

    Raises (the function returned) NameError for an axis that is not in scope, ValueError for one of another size.
    """
    what = f"random.{sampler.__name__}"

    @functools.wraps(sampler)
    def draw(key: Key, *args: object, **kwargs: object) -> Array:
        for value in (*args, *kwargs.values()):
            if type(value) is NamedShape:
                key = _own_key(what, key, value)
        return sampler(key, *args, **kwargs)

    return cast(Sampler, draw)


def _own_key(what: str, key: Key, shape: NamedShape) -> Key:
    """A key of the example's own along the named axes."""
    for name, expected in shape.named.items():
        size = size_of_axis(what, name)
        if size != expected:
            raise ValueError(f"{what}: {shape} gives axis {name!r} size {expected}, and it has size {size}")
        key = fold_in(key, axis_index(name))
    return key
