"""Functions of bits, and comparisons: `tangrad.lax.bitwise_and`, `shift_left`, `eq`, …"""

from __future__ import annotations

from tangrad._lax.elementwise import primitives as p
from tangrad._lax.operands import operand, pair
from tangrad.core import Array
from tangrad.typing import ArrayLike


def bitwise_not(x: ArrayLike) -> Array:
    """The complement of each element: of a truth value, or of each bit.

    Args:
        x: an array or number, boolean or integer.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.bitwise_not(5)
    Array(-6, dtype=int32, weak_type=True)
    """
    return p.not_p.bind(x if isinstance(x, Array) else operand("bitwise_not", x))


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """x and y, bit by bit, element by element.

    Args:
        x, y: arrays or numbers of one dtype, boolean or integer; of one shape, or scalars beside it, or with sizes
            of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.bitwise_and(6, 3)
    Array(2, dtype=int32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("bitwise_and", x, y)
    return p.and_p.bind(x, y)


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """x or y, bit by bit, element by element.

    Args:
        x, y: arrays or numbers of one dtype, boolean or integer; of one shape, or scalars beside it, or with sizes
            of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.bitwise_or(6, 3)
    Array(7, dtype=int32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("bitwise_or", x, y)
    return p.or_p.bind(x, y)


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Exclusive or of x and y, bit by bit, element by element.

    Args:
        x, y: arrays or numbers of one dtype, boolean or integer; of one shape, or scalars beside it, or with sizes
            of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.bitwise_xor(6, 3)
    Array(5, dtype=int32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("bitwise_xor", x, y)
    return p.xor_p.bind(x, y)


def population_count(x: ArrayLike) -> Array:
    """The number of bits that are set in each element.

    Args:
        x: an array or number, integer.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.population_count(5)
    Array(2, dtype=int32, weak_type=True)
    """
    return p.population_count_p.bind(x if isinstance(x, Array) else operand("population_count", x))


def clz(x: ArrayLike) -> Array:
    """The number of zeros before the highest bit that is set in each element.

    Args:
        x: an array or number, integer.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> tangrad.lax.clz(1)
    Array(31, dtype=int32, weak_type=True)
    """
    return p.clz_p.bind(x if isinstance(x, Array) else operand("clz", x))


def shift_left(x: ArrayLike, y: ArrayLike) -> Array:
    """x shifted left by y bits, element by element; 0 where y is negative or at least the width.

    Args:
        x, y: arrays or numbers of one dtype, integer; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.shift_left(1, 4)
    Array(16, dtype=int32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("shift_left", x, y)
    return p.shift_left_p.bind(x, y)


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """x shifted right by y bits with zeros entering; 0 where y is negative or at least the width.

    Args:
        x, y: arrays or numbers of one dtype, integer; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.shift_right_logical(-1, 28)
    Array(15, dtype=int32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("shift_right_logical", x, y)
    return p.shift_right_logical_p.bind(x, y)


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Array:
    """x shifted right by y bits with copies of the sign entering; all sign where y is out of range.

    Args:
        x, y: arrays or numbers of one dtype, integer; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.shift_right_arithmetic(-16, 2)
    Array(-4, dtype=int32, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("shift_right_arithmetic", x, y)
    return p.shift_right_arithmetic_p.bind(x, y)


def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x == y, element by element; False where either is NaN.

    Args:
        x, y: arrays or numbers of one dtype, boolean, integer, floating or complex; of one shape, or scalars beside
            it, or with sizes of 1.

    Returns:
        A boolean array of their common shape.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.eq(1.0, 2.0)
    Array(False, dtype=bool, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("eq", x, y)
    return p.eq_p.bind(x, y)


def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x != y, element by element; True where either is NaN.

    Args:
        x, y: arrays or numbers of one dtype, boolean, integer, floating or complex; of one shape, or scalars beside
            it, or with sizes of 1.

    Returns:
        A boolean array of their common shape.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.ne(1.0, 2.0)
    Array(True, dtype=bool, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("ne", x, y)
    return p.ne_p.bind(x, y)


def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x < y, element by element; False where either is NaN.

    Args:
        x, y: arrays or numbers of one dtype, boolean, integer or floating; of one shape, or scalars beside it, or
            with sizes of 1.

    Returns:
        A boolean array of their common shape.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.lt(1.0, 2.0)
    Array(True, dtype=bool, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("lt", x, y)
    return p.lt_p.bind(x, y)


def le(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x <= y, element by element; False where either is NaN.

    Args:
        x, y: arrays or numbers of one dtype, boolean, integer or floating; of one shape, or scalars beside it, or
            with sizes of 1.

    Returns:
        A boolean array of their common shape.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.le(1.0, 2.0)
    Array(True, dtype=bool, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("le", x, y)
    return p.le_p.bind(x, y)


def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x > y, element by element; False where either is NaN.

    Args:
        x, y: arrays or numbers of one dtype, boolean, integer or floating; of one shape, or scalars beside it, or
            with sizes of 1.

    Returns:
        A boolean array of their common shape.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.gt(1.0, 2.0)
    Array(False, dtype=bool, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("gt", x, y)
    return p.gt_p.bind(x, y)


def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x >= y, element by element; False where either is NaN.

    Args:
        x, y: arrays or numbers of one dtype, boolean, integer or floating; of one shape, or scalars beside it, or
            with sizes of 1.

    Returns:
        A boolean array of their common shape.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.lax.ge(1.0, 2.0)
    Array(False, dtype=bool, weak_type=True)
    """
    if getattr(x, "aval", 0) is not getattr(y, "aval", 1):
        x, y = pair("ge", x, y)
    return p.ge_p.bind(x, y)
