"""Windows for signals: `tangrad.numpy.bartlett`, `blackman`, `hamming`, `hanning`, `kaiser`."""

from __future__ import annotations

import math
from typing import Any

from tangrad._numpy.analytic import cos, sqrt
from tangrad._numpy.creation import ones
from tangrad._numpy.operands import array_operand, index_argument
from tangrad._numpy.ranges import arange
from tangrad._numpy.transcendental import i0
from tangrad.core import Array, dtypes, literal
from tangrad.extend.lax import select_n_p
from tangrad.typing import ArrayLike

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["bartlett", "blackman", "hamming", "hanning", "kaiser"], True)


def _places(name: str, M: object) -> tuple[int, Array | None]:
    """The length, and 0 to length - 1 as floats; None for lengths 0 and 1, whose windows are ones."""
    length = index_argument(name, M, "M")
    if length <= 1:
        return length, None
    return length, arange(length, dtype=dtypes.default_float_dtype())


def _short(length: int) -> Array:
    return ones(max(length, 0), dtypes.default_float_dtype())


def _cosines(name: str, M: object, first: float, *factors: float) -> Array:
    """A sum of cosines of whole multiples of the angle."""
    length, n = _places(name, M)
    if n is None:
        return _short(length)
    angle = 2 * math.pi / (length - 1) * n
    result: Any = first
    for k, factor in enumerate(factors, 1):
        result = result + factor * cos(k * angle)
    return result


def bartlett(M: int) -> Array:
    """Make a triangular window.

    Args:
        M: its length.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: `M` is no integer.

    >>> import tangrad
    >>> tangrad.numpy.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    length, n = _places("bartlett", M)
    return _short(length) if n is None else 1 - abs(2 * n + 1 - length) / (length - 1)


def blackman(M: int) -> Array:
    """Make a Blackman window.

    Args:
        M: its length.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: `M` is no integer.

    >>> import tangrad
    >>> tangrad.numpy.blackman(3).shape
    (3,)
    """
    return _cosines("blackman", M, 0.42, -0.5, 0.08)


def hamming(M: int) -> Array:
    """Make a Hamming window.

    Args:
        M: its length.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: `M` is no integer.

    >>> import tangrad
    >>> tangrad.numpy.hamming(3).shape
    (3,)
    """
    return _cosines("hamming", M, 0.54, -0.46)


def hanning(M: int) -> Array:
    """Make a Hann window.

    Args:
        M: its length.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: `M` is no integer.

    >>> import tangrad
    >>> tangrad.numpy.hanning(3)
    Array([0., 1., 0.], dtype=float32)
    """
    return _cosines("hanning", M, 0.5, -0.5)


def kaiser(M: int, beta: ArrayLike) -> Array:
    """Make a Kaiser window.

    Args:
        M: its length.
        beta: its shape: the greater, the narrower.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: `M` is no integer, `beta` no number.

    >>> import tangrad
    >>> tangrad.numpy.kaiser(3, 0.0)
    Array([1., 1., 1.], dtype=float32)
    """
    length, n = _places("kaiser", M)
    if n is None:
        return _short(length)
    shape = array_operand("kaiser", beta, 1)
    alpha = 0.5 * (length - 1)
    inside = 1 - ((n - alpha) / alpha) ** 2
    # At the ends nothing is left, where the root has no derivative.
    positive = inside > 0
    root = select_n_p.bind(positive, literal(0, n.aval.dtype), sqrt(select_n_p.bind(positive, ones(length), inside)))
    return i0(shape * root) / i0(shape)
