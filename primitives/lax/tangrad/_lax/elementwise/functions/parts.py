"""Rounding, neighbours, and the parts of complex numbers: `tangrad.lax.floor`, `round`, `real`, …"""

from __future__ import annotations

from tangrad._lax.elementwise import primitives as p
from tangrad._lax.operands import operand, pair
from tangrad.core import Array
from tangrad.typing import ArrayLike


def floor(x: ArrayLike) -> Array:
    """Each element rounded down to an integer.

    Args:
        x: an array or number, floating.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.floor(-1.5)
    Array(-2., dtype=float32, weak_type=True)
    """
    return p.floor_p.bind(x if isinstance(x, Array) else operand("floor", x))


def ceil(x: ArrayLike) -> Array:
    """Each element rounded up to an integer.

    Args:
        x: an array or number, floating.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.ceil(-1.5)
    Array(-1., dtype=float32, weak_type=True)
    """
    return p.ceil_p.bind(x if isinstance(x, Array) else operand("ceil", x))


def is_finite(x: ArrayLike) -> Array:
    """Whether each element is neither infinite nor NaN.

    Args:
        x: an array or number, floating.

    Returns:
        A boolean array of the shape of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.is_finite(float("inf"))
    Array(False, dtype=bool, weak_type=True)
    """
    return p.is_finite_p.bind(x if isinstance(x, Array) else operand("is_finite", x))


def real(x: ArrayLike) -> Array:
    """The real part of each element.

    Args:
        x: an array or number, complex.

    Returns:
        An array of the shape of `x` and the floating dtype of its parts.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.real(1 + 2j)
    Array(1., dtype=float32, weak_type=True)
    """
    return p.real_p.bind(x if isinstance(x, Array) else operand("real", x))


def imag(x: ArrayLike) -> Array:
    """The imaginary part of each element.

    Args:
        x: an array or number, complex.

    Returns:
        An array of the shape of `x` and the floating dtype of its parts.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.imag(1 + 2j)
    Array(2., dtype=float32, weak_type=True)
    """
    return p.imag_p.bind(x if isinstance(x, Array) else operand("imag", x))


def conj(x: ArrayLike) -> Array:
    """The complex conjugate of each element.

    Args:
        x: an array or number, float32, float64 or complex.

    Returns:
        An array of the shape of `x`, complex.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.conj(1 + 2j)
    Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    return p.conj_p.bind(x if isinstance(x, Array) else operand("conj", x))


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """The complex numbers x + iy.

    Args:
        x, y: arrays or numbers of one dtype, float32 or float64; of one shape, or scalars beside it, or with sizes
            of 1.

    Returns:
        A complex array of their common shape.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.complex(1.0, 2.0)
    Array(1.+2.j, dtype=complex64, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("complex", x, y)
    return p.complex_p.bind(x, y)


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The next representable number after x1 in the direction of x2, element by element.

    Args:
        x1, x2: arrays or numbers of one dtype, floating; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.nextafter(1.0, 2.0)
    Array(1.0000001, dtype=float32, weak_type=True)
    """
    if getattr(x1, "aval", 0) is not getattr(x2, "aval", 1):
        x1, x2 = pair("nextafter", x1, x2)
    return p.nextafter_p.bind(x1, x2)


def round(x: ArrayLike, rounding_method: p.RoundingMethod = p.RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Each element rounded to the nearest integer.

    Args:
        x: an array or number, floating.
        rounding_method: where halves go: away from zero, or to the nearest even integer.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.
        ValueError: for an unknown rounding method.

    >>> import tangrad
    >>> tangrad.lax.round(2.5)
    Array(3., dtype=float32, weak_type=True)
    >>> tangrad.lax.round(2.5, tangrad.lax.RoundingMethod.TO_NEAREST_EVEN)
    Array(2., dtype=float32, weak_type=True)
    """
    method = rounding_method if type(rounding_method) is p.RoundingMethod else p.RoundingMethod(rounding_method)
    return p.round_p.bind(x if isinstance(x, Array) else operand("round", x), rounding_method=method)
