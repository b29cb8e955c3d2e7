"""The dtype of random keys. An array of keys holds, underneath, one more dimension with the words of each key."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tangrad._random.settings import default_prng_impl
from tangrad.core import ShapedArray, dtypes

UINT32 = np.dtype(np.uint32)


class KeyType(dtypes.ExtendedDType):
    """The dtype `key<tag>` of keys of one generator.

    Attributes:
        implementation: the generator's name, such as "threefry2x32".
        key_shape: the shape of the words of one key.
    """

    __slots__ = ("implementation", "key_shape", "tag")
    type = dtypes.prng_key
    way_out = "; tangrad.random.key_data gives their words"

    def __init__(self, implementation: str, tag: str, key_shape: tuple[int, ...]) -> None:
        self.implementation = implementation
        self.tag = tag
        self.key_shape = key_shape

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"key<{self.tag}>"

    @property
    def itemsize(self) -> int:  # type: ignore[override]
        return int(np.prod(self.key_shape)) * UINT32.itemsize

    def physical_aval(self, aval: ShapedArray) -> ShapedArray:
        """The type of the array of words that holds keys of type `aval`."""
        return ShapedArray((*aval.shape, *self.key_shape), UINT32)

    def to_saved(self) -> str:
        """What is written of it in a file."""
        return self.implementation

    @classmethod
    def from_saved(cls, value: str | None) -> KeyType:
        """The dtype that was written."""
        return key_type(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyType) and self.implementation == other.implementation

    def __hash__(self) -> int:
        return hash((KeyType, self.implementation))

    def __reduce__(self) -> tuple[Callable[..., KeyType], tuple[str]]:
        return key_type, (self.implementation,)


THREEFRY = KeyType("threefry2x32", "fry", (2,))
KEY_TYPES = (THREEFRY, KeyType("rbg", "rbg", (4,)), KeyType("unsafe_rbg", "urbg", (4,)))
_types = {name: kind for kind in KEY_TYPES for name in (kind.implementation, kind.tag)}


def key_type(implementation: str | None = None) -> KeyType:
    """The dtype of the keys of a generator. Raises ValueError for an unknown name, TypeError for no name."""
    if implementation is None:
        implementation = default_prng_impl.value
    if isinstance(implementation, KeyType):
        return implementation
    found = _types.get(implementation)
    if found is None:
        names = ", ".join([repr(kind.implementation) for kind in KEY_TYPES])
        error = ValueError if isinstance(implementation, str) else TypeError
        raise error(f"unknown random generator {implementation!r}; there are: {names}")
    return found


def is_key(aval: ShapedArray) -> bool:
    """Whether an aval is that of random keys."""
    return isinstance(aval.dtype, KeyType)
