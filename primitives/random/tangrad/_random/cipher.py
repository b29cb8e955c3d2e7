"""The family's set, with the primitives that the others are made of: the cipher, and keys as words and back."""

from __future__ import annotations

from typing import Any

from tangrad._random.keys import UINT32, KeyType, is_key
from tangrad.core import Array, PrimitiveSet, ShapedArray
from tangrad.typing import Value

random = PrimitiveSet("random", api=1)


def check_keys(name: str, keys: ShapedArray) -> None:
    if not is_key(keys):
        raise TypeError(f"{name} takes random keys (tangrad.random.key), got {keys.str_short()}")


@random.primitive(name="threefry2x32", multiple_results=True, weak_type="never")
def threefry2x32_p(key1: ShapedArray, key2: ShapedArray, x1: ShapedArray, x2: ShapedArray) -> tuple[ShapedArray, ...]:
    """The Threefry-2x32 cipher with 20 rounds, element by element.

    Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011, doi:10.1145/2063384.2063405.
    """
    avals = (key1, key2, x1, x2)
    shapes = {aval.shape for aval in avals if aval.shape}
    if any(aval.dtype != UINT32 for aval in avals):
        raise TypeError(f"threefry2x32 takes uint32 operands, got {', '.join([a.str_short() for a in avals])}")
    if len(shapes) > 1:
        raise ValueError(f"threefry2x32 takes operands of one shape, or scalars, got {[a.shape for a in avals]}")
    out = ShapedArray(shapes.pop() if shapes else (), UINT32)
    return out, out


@random.primitive(name="random_wrap", weak_type="never")
def random_wrap_p(words: ShapedArray, *, impl: KeyType) -> ShapedArray:
    """Words as keys."""
    rank = len(impl.key_shape)
    if words.dtype != UINT32 or words.shape[len(words.shape) - rank :] != impl.key_shape:
        raise TypeError(f"key data must be uint32 with last dimensions {impl.key_shape}, got {words.str_short()}")
    return ShapedArray(words.shape[: len(words.shape) - rank], impl)


def _of_physical(self: Any, contents: Value) -> Array:
    return random_wrap_p.bind(contents, impl=self)


KeyType.of_physical = _of_physical  # type: ignore[method-assign]  # `keys`, imported here, knows no primitives


@random.primitive(name="random_unwrap", weak_type="never")
def random_unwrap_p(keys: ShapedArray) -> ShapedArray:
    """Keys as words."""
    check_keys("random_unwrap", keys)
    return keys.dtype.physical_aval(keys)
