"""Booleans packed into bytes: `tangrad.numpy.packbits`, `unpackbits`."""

from __future__ import annotations

import numpy as np

from tangrad._numpy.axes import moveaxis
from tangrad._numpy.conversion import asarray
from tangrad._numpy.joining import concatenate
from tangrad._numpy.logic import truth
from tangrad._numpy.operands import array_operand, broadcast_to_shape, canonical_axis, index_argument, literal
from tangrad._numpy.reductions import sum as total
from tangrad._numpy.shapes import expand_dims, ravel, reshaped
from tangrad.core import Array, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.typing import ArrayLike, Value

_BYTE = dtypes.as_dtype("uint8")


def _places(bitorder: str, name: str) -> Value:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}: bitorder must be 'big' or 'little', got {bitorder!r}")
    places = np.arange(8, dtype=np.uint8)
    return asarray(places[::-1] if bitorder == "big" else places)


def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack eight truth values into a byte each.

    Args:
        a: an array of integers or booleans; what is not zero is a bit that is set.
        axis: along which axis; None: of the array as one dimension.
        bitorder: whether the first is the highest ("big") or the lowest bit of a byte.

    Returns:
        An array of uint8; missing bits are 0.

    Raises:
        TypeError: `a` is not of integers or booleans.
        ValueError: the axis is out of bounds, or `bitorder` is unknown.

    >>> import tangrad
    >>> tangrad.numpy.packbits(tangrad.numpy.array([1, 0, 1]))
    Array([160], dtype=uint8)
    """
    x = array_operand("packbits", a)
    if x.dtype.kind not in "biu":
        raise TypeError(f"packbits requires integers or booleans, got dtype {dtypes.dtype_name(x.dtype)}")
    places = _places(bitorder, "packbits")
    if axis is None:
        x, axis = ravel(x), 0
    dimension = canonical_axis("packbits", axis, x.ndim)
    bits = moveaxis(truth(x).astype(_BYTE), dimension, -1)
    missing = -bits.shape[-1] % 8
    if is_symbolic(missing) or missing:
        padding = broadcast_to_shape(literal(0, _BYTE), (*bits.shape[:-1], missing))
        bits = concatenate([bits, padding], axis=-1)
    bits = reshaped(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    packed = total(bits << places, axis=-1, dtype=_BYTE)
    return moveaxis(packed, -1, dimension)


def unpackbits(a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """Unpack the bits of bytes.

    Args:
        a: an array of uint8.
        axis: along which axis; None: of the array as one dimension.
        count: how many bits to return; negative: how many to leave out at the end; None: all.
        bitorder: whether the highest ("big") or the lowest bit of a byte comes first.

    Returns:
        An array of uint8, 0 and 1.

    Raises:
        TypeError: `a` is not of uint8.
        ValueError: the axis is out of bounds, or `bitorder` is unknown.

    >>> import tangrad
    >>> tangrad.numpy.unpackbits(tangrad.numpy.array([160], dtype="uint8"), count=3)
    Array([1, 0, 1], dtype=uint8)
    """
    x = array_operand("unpackbits", a)
    if x.dtype != _BYTE:
        raise TypeError(f"unpackbits requires uint8, got dtype {dtypes.dtype_name(x.dtype)}")
    places = _places(bitorder, "unpackbits")
    if axis is None:
        x, axis = ravel(x), 0
    dimension = canonical_axis("unpackbits", axis, x.ndim)
    moved = moveaxis(x, dimension, -1)
    bits = (expand_dims(moved, moved.ndim) >> places) & 1
    bits = reshaped(bits, (*moved.shape[:-1], moved.shape[-1] * 8))
    if count is not None:
        wanted = index_argument("unpackbits", count, "count")
        more = wanted - bits.shape[-1]
        if more > 0:
            bits = concatenate([bits, broadcast_to_shape(literal(0, _BYTE), (*bits.shape[:-1], more))], axis=-1)
        bits = bits[..., :wanted]
    return moveaxis(bits, -1, dimension)
