"""Arithmetic, signs and powers: `tangrad.lax.add`, `abs`, `pow`, …"""

from __future__ import annotations

from tangrad._lax.checks import check_int
from tangrad._lax.elementwise import primitives as p
from tangrad._lax.operands import operand, pair
from tangrad.core import Array, dtypes
from tangrad.typing import ArrayLike, DTypeLike


def neg(x: ArrayLike) -> Array:
    """The negative of each element; unsigned integers wrap.

    Args:
        x: an array or number, integer, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.neg(1.5)
    Array(-1.5, dtype=float32, weak_type=True)
    """
    return p.neg_p.bind(x if isinstance(x, Array) else operand("neg", x))


def sign(x: ArrayLike) -> Array:
    """The sign of each element: -1, 0 or 1, NaN for NaN; for complex numbers x / |x|, and 0 at 0.

    Args:
        x: an array or number, integer, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.sign(-2.5)
    Array(-1., dtype=float32, weak_type=True)
    """
    return p.sign_p.bind(x if isinstance(x, Array) else operand("sign", x))


def abs(x: ArrayLike) -> Array:
    """The absolute value of each element.

    Args:
        x: an array or number, signed integer, floating or complex.

    Returns:
        An array of the shape of `x` and its dtype, for complex `x` the floating dtype of its parts.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.abs(-2.5)
    Array(2.5, dtype=float32, weak_type=True)
    """
    return p.abs_p.bind(x if isinstance(x, Array) else operand("abs", x))


def square(x: ArrayLike) -> Array:
    """The square of each element.

    Args:
        x: an array or number, integer, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.square(3.0)
    Array(9., dtype=float32, weak_type=True)
    """
    return p.square_p.bind(x if isinstance(x, Array) else operand("square", x))


def add(x: ArrayLike, y: ArrayLike) -> Array:
    """The sum x + y, element by element; integers wrap.

    Args:
        x, y: arrays or numbers of one dtype, integer, floating or complex; of one shape, or scalars beside it, or
            with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.add(1.0, 2.0)
    Array(3., dtype=float32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("add", x, y)
    return p.add_p.bind(x, y)


def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """The difference x - y, element by element; integers wrap.

    Args:
        x, y: arrays or numbers of one dtype, integer, floating or complex; of one shape, or scalars beside it, or
            with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.sub(1.0, 2.0)
    Array(-1., dtype=float32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("sub", x, y)
    return p.sub_p.bind(x, y)


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """The product x * y, element by element; integers wrap.

    Args:
        x, y: arrays or numbers of one dtype, integer, floating or complex; of one shape, or scalars beside it, or
            with sizes of 1. With `out_dtype` they may be of two dtypes.
        out_dtype: the dtype to multiply in, to which both are converted first; default: theirs.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.mul(2.0, 3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    if out_dtype is not None:
        dtype = dtypes.check_user_dtype_supported(out_dtype, "mul")
        x, y = [
            p.convert_element_type_p.bind(operand("mul", factor), new_dtype=dtype, weak_type=False) for factor in (x, y)
        ]
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("mul", x, y)
    return p.mul_p.bind(x, y)


def div(x: ArrayLike, y: ArrayLike) -> Array:
    """The quotient x / y, element by element; integers round towards zero, x / 0 is -1.

    Args:
        x, y: arrays or numbers of one dtype, integer, floating or complex; of one shape, or scalars beside it, or
            with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.div(7, -2)
    Array(-3, dtype=int32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("div", x, y)
    return p.div_p.bind(x, y)


def rem(x: ArrayLike, y: ArrayLike) -> Array:
    """The remainder of x / y, element by element, with the sign of x; x itself for integers and y = 0.

    Args:
        x, y: arrays or numbers of one dtype, integer or floating; of one shape, or scalars beside it, or with sizes
            of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.rem(-7, 2)
    Array(-1, dtype=int32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("rem", x, y)
    return p.rem_p.bind(x, y)


def max(x: ArrayLike, y: ArrayLike) -> Array:
    """The greater of x and y, element by element; NaN if either is. Complex numbers go by real part, then imaginary.

    Args:
        x, y: arrays or numbers of one dtype, boolean, integer, floating or complex; of one shape, or scalars beside
            it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.max(1.0, 2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("max", x, y)
    return p.max_p.bind(x, y)


def min(x: ArrayLike, y: ArrayLike) -> Array:
    """The lesser of x and y, element by element; NaN if either is. Complex numbers go by real part, then imaginary.

    Args:
        x, y: arrays or numbers of one dtype, boolean, integer, floating or complex; of one shape, or scalars beside
            it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.min(1.0, 2.0)
    Array(1., dtype=float32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("min", x, y)
    return p.min_p.bind(x, y)


def mulhi(x: ArrayLike, y: ArrayLike) -> Array:
    """The upper half of the bits of the product x * y, element by element.

    Args:
        x, y: arrays or numbers of one dtype, integer; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.mulhi(2**30, 8)
    Array(2, dtype=int32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("mulhi", x, y)
    return p.mulhi_p.bind(x, y)


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """x to the power y, element by element.

    Args:
        x: an array or number, floating or complex.
        y: of the dtype of `x`, or an integer of any width; of one shape with `x`, or a scalar beside it.

    Returns:
        An array of their common shape, with the dtype of `x`.

    Raises:
        TypeError: for other dtypes.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.pow(2.0, 3)
    Array(8., dtype=float32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        # An integer exponent stays one: the power is then exact for any sign of x.
        x, y = pair("pow", x, operand("pow", y, "y") if type(y) is int else y)
    return p.pow_p.bind(x, y)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """x to the power of a fixed integer, by repeated multiplication.

    Args:
        x: an array or number, integer, floating or complex.
        y: the exponent, a Python integer; not negative if `x` is an integer.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes, an exponent that is no integer, or a negative power of an integer.

    >>> import tangrad
    >>> tangrad.lax.integer_pow(3.0, 2)
    Array(9., dtype=float32, weak_type=True)
    """
    exponent = check_int("integer_pow", y, "y")
    return p.integer_pow_p.bind(x if isinstance(x, Array) else operand("integer_pow", x), y=exponent)


def reciprocal(x: ArrayLike) -> Array:
    """1 / x, element by element.

    Args:
        x: an array or number, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.reciprocal(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return p.integer_pow_p.bind(x if isinstance(x, Array) else operand("reciprocal", x), y=-1)


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """The angle of the point (y, x), element by element, in radians, in (-π, π].

    Args:
        x, y: arrays or numbers of one dtype, floating or complex; of one shape, or scalars beside it, or with sizes
            of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.atan2(0.0, 1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("atan2", x, y)
    return p.atan2_p.bind(x, y)
