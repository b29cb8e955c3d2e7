"""The frequencies of transforms, and their order: `tangrad.numpy.fft.fftfreq`, `rfftfreq`, `fftshift`, `ifftshift`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad.core import Array, as_operand, dtypes
from tangrad.extend.numpy import (
    arange,
    array_operand,
    as_one,
    canonical_axis,
    convert,
    divide,
    index_argument,
    multiply,
    placed,
    roll,
    user_dtype,
)
from tangrad.typing import ArrayLike, DeviceLike, DTypeLike, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["fftfreq", "rfftfreq"], True)


def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Array:
    """The frequencies of the elements of `fft`: [0, 1, …, -2, -1] / (d n), the negative ones last.

    Args:
        n: the number of points.
        d: the distance between two of them, in the unit whose inverse the frequencies have; it may be traced.
        dtype: of the result; None: the default float.
        device: where it shall be; None: on the default device.

    Returns:
        An array of shape (n,).

    Raises:
        TypeError: `n` is no integer.
        ValueError: `n` is negative.

    >>> import tangrad.numpy as np
    >>> np.fft.fftfreq(5, 0.5)
    Array([ 0. ,  0.4,  0.8, -0.8, -0.4], dtype=float32)
    """
    return placed(_of_fft(n, d, dtype), device)


@as_one("n", "dtype", name="fftfreq")
def _of_fft(n: int, d: Any, dtype: Any) -> Value:
    size = _size("fftfreq", n)
    return _frequencies("fftfreq", ifftshift(arange(-(size // 2), (size + 1) // 2)), size, d, dtype)


def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Array:
    """The frequencies of the elements of `rfft`: [0, 1, …, n // 2] / (d n).

    Args:
        n: the number of points.
        d: the distance between two of them, in the unit whose inverse the frequencies have; it may be traced.
        dtype: of the result; None: the default float.
        device: where it shall be; None: on the default device.

    Returns:
        An array of shape (n // 2 + 1,).

    Raises:
        TypeError: `n` is no integer.
        ValueError: `n` is less than 1.

    >>> import tangrad.numpy as np
    >>> np.fft.rfftfreq(5, 0.5)
    Array([0. , 0.4, 0.8], dtype=float32)
    """
    return placed(_of_rfft(n, d, dtype), device)


@as_one("n", "dtype", name="rfftfreq")
def _of_rfft(n: int, d: Any, dtype: Any) -> Value:
    size = _size("rfftfreq", n, 1)
    return _frequencies("rfftfreq", arange(size // 2 + 1), size, d, dtype)


def _size(name: str, n: int, least: int = 0) -> int:
    size = index_argument(name, n, "n")
    if size < least:
        raise ValueError(f"{name}: n must be at least {least}, got {n!r}")
    return size


def _frequencies(name: str, multiples: Value, size: int, d: Value, dtype: np.dtype | None) -> Value:
    asked = user_dtype(name, dtype)
    wanted = dtypes.default_float_dtype() if asked is None else asked
    # Divided as floats whatever is asked for: the length of the whole may be less than one.
    computed = wanted if dtypes.issubdtype(wanted, np.inexact) else dtypes.default_float_dtype()
    if not size:
        return convert(multiples, wanted)
    length = convert(as_operand(multiply(d, size)), computed)
    return convert(divide(convert(multiples, computed), length), wanted)


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Move the element of frequency 0 from the front to the middle, the negative frequencies before it.

    Args:
        x: an array or number.
        axes: along which dimensions; None: along all.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: `x` is no array, or an axis no integer.
        ValueError: an axis is out of bounds.

    >>> import tangrad.numpy as np
    >>> np.fft.fftshift(np.array([0, 1, 2, -2, -1]))
    Array([-2, -1,  0,  1,  2], dtype=int32)
    """
    return _shifted("fftshift", x, axes, lambda size: size // 2)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`: the element in the middle comes to the front.

    Args:
        x: an array or number.
        axes: along which dimensions; None: along all.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: `x` is no array, or an axis no integer.
        ValueError: an axis is out of bounds.

    >>> import tangrad.numpy as np
    >>> np.fft.ifftshift(np.array([-2, -1, 0, 1, 2]))
    Array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, lambda size: -(size // 2))


def _shifted(name: str, value: object, axes: object, shift: Callable[[int], int]) -> Array:
    x = array_operand(name, value)
    rank = x.aval.ndim
    given = range(rank) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    places = tuple([canonical_axis(name, axis, rank, "axes") for axis in given])
    return roll(x, [shift(x.aval.shape[place]) for place in places], places)
