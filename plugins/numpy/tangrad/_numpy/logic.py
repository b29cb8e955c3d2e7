"""Comparisons, truth values and bits: `tangrad.numpy.less`, `logical_and`, `bitwise_xor`, `isnan`, …"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tangrad._numpy.fusing import fused, fused_pair
from tangrad._numpy.makers import Binary, binary_pair, general_form, operator_form, public_form, unary
from tangrad._numpy.operands import (
    BOOL,
    align,
    align_numeric,
    floating_dtypes,
    integer_dtypes,
    is_complex,
    is_inexact,
    is_kind,
    literal,
    literal_like,
    numeric_dtypes,
    select,
)
from tangrad.core import Array, Literal, Primitive, dtypes
from tangrad.extend.lax import (
    abs_p,
    and_p,
    bitcast_convert_type_p,
    broadcast_in_dim_p,
    convert_element_type_p,
    eq_p,
    ge_p,
    gt_p,
    imag_p,
    is_finite_p,
    le_p,
    lt_p,
    ne_p,
    not_p,
    or_p,
    population_count_p,
    real_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Value


_BOOLEAN = "A boolean array of the shape of `x`."
_BOOLEANS = "A boolean array of the shape that `x` and `y` broadcast to."

# --- comparisons ---


def _ordering(name: str, primitive: Primitive) -> Binary:
    """Complex numbers are ordered by real part, then imaginary, as NumPy does."""

    def general(x: ArrayLike, y: object) -> Value:
        first, second = align(name, x, y)
        if not is_complex(first):
            return primitive.bind(first, second)
        reals = real_p.bind(first), real_p.bind(second)
        imaginaries = imag_p.bind(first), imag_p.bind(second)
        return select(eq_p.bind(*reals), primitive.bind(*imaginaries), primitive.bind(*reals))

    return fused_pair(name, general)


def _comparison(
    name: str, symbol: str, primitive: Primitive, general: Binary, summary: str, result: str
) -> tuple[Any, Any]:
    example = f"tangrad.numpy.{name}(tangrad.numpy.arange(2), 1)\nArray({result}, dtype=bool)"
    # Complex numbers have an order here that primitives lack: they take the general path.
    direct = numeric_dtypes if name in ("equal", "not_equal") else _ordered_dtypes
    return binary_pair(name, symbol, primitive, general, summary, example, returns=_BOOLEANS, direct=direct)


_ordered_dtypes = integer_dtypes | floating_dtypes

equal, equal_operator = _comparison(
    "equal",
    "==",
    eq_p,
    general_form("equal", eq_p),
    "x == y, element by element; False if either is NaN.",
    "[False,  True]",
)
not_equal, not_equal_operator = _comparison(
    "not_equal",
    "!=",
    ne_p,
    general_form("not_equal", ne_p),
    "x != y, element by element; True with a NaN.",
    "[ True, False]",
)
less, less_operator = _comparison(
    "less", "<", lt_p, _ordering("less", lt_p), "x < y, element by element; False if either is NaN.", "[ True, False]"
)
less_equal, less_equal_operator = _comparison(
    "less_equal",
    "<=",
    le_p,
    _ordering("less_equal", le_p),
    "x <= y, element by element; False with a NaN.",
    "[ True,  True]",
)
greater, greater_operator = _comparison(
    "greater",
    ">",
    gt_p,
    _ordering("greater", gt_p),
    "x > y, element by element; False if either is NaN.",
    "[False, False]",
)
greater_equal, greater_equal_operator = _comparison(
    "greater_equal",
    ">=",
    ge_p,
    _ordering("greater_equal", ge_p),
    "x >= y, element by element; False with NaN.",
    "[False,  True]",
)

# --- truth ---


@overload
def truth(x: Array) -> Array: ...
@overload
def truth(x: Value) -> Value: ...
def truth(x: Value) -> Value:
    """Whether each element is not zero."""
    return x if x.aval.dtype is BOOL else ne_p.bind(x, literal_like(x, 0))


def _logical(name: str, primitive: Primitive) -> Binary:
    def general(x: ArrayLike, y: ArrayLike) -> Value:
        first, second = align(name, x, y)
        return primitive.bind(truth(first), truth(second))

    return fused_pair(name, general)


logical_and = public_form(
    "logical_and",
    _logical("logical_and", and_p),
    "Whether both are true, that is not zero; element by element.",
    "tangrad.numpy.logical_and(True, False)\nArray(False, dtype=bool)",
    returns=_BOOLEANS,
)
logical_or = public_form(
    "logical_or",
    _logical("logical_or", or_p),
    "Whether either is true, that is not zero; element by element.",
    "tangrad.numpy.logical_or(True, False)\nArray(True, dtype=bool)",
    returns=_BOOLEANS,
)
logical_xor = public_form(
    "logical_xor",
    _logical("logical_xor", xor_p),
    "Whether exactly one is true, that is not zero; element by element.",
    "tangrad.numpy.logical_xor(True, False)\nArray(True, dtype=bool)",
    returns=_BOOLEANS,
)
logical_not = unary(
    "logical_not",
    lambda x: not_p.bind(truth(x)),
    "Whether each element is zero.",
    _BOOLEAN,
    "tangrad.numpy.logical_not(True)\nArray(False, dtype=bool)",
)

# --- bits ---

bitwise_and, and_operator = binary_pair(
    "bitwise_and",
    "&",
    and_p,
    general_form("bitwise_and", and_p),
    "x & y, bit by bit: integers and booleans.",
    "tangrad.numpy.bitwise_and(6, 3)\nArray(2, dtype=int32, weak_type=True)",
    direct=integer_dtypes,
)
bitwise_or, or_operator = binary_pair(
    "bitwise_or",
    "|",
    or_p,
    general_form("bitwise_or", or_p),
    "x | y, bit by bit: integers and booleans.",
    "tangrad.numpy.bitwise_or(6, 3)\nArray(7, dtype=int32, weak_type=True)",
    direct=integer_dtypes,
)
bitwise_xor, xor_operator = binary_pair(
    "bitwise_xor",
    "^",
    xor_p,
    general_form("bitwise_xor", xor_p),
    "x ^ y, bit by bit: integers and booleans.",
    "tangrad.numpy.bitwise_xor(6, 3)\nArray(5, dtype=int32, weak_type=True)",
    direct=integer_dtypes,
)
bitwise_not = unary(
    "bitwise_not",
    not_p.bind,
    "The complement of each bit, or of each truth value.",
    "An array of the shape and dtype of `x`.",
    "tangrad.numpy.bitwise_not(0)\nArray(-1, dtype=int32, weak_type=True)",
)
invert = bitwise_invert = bitwise_not


def invert_operator(x: ArrayLike) -> Array:
    """`~x`."""
    return not_p.bind(x)


@fused("left_shift")
def _left_shift(x: Value, y: ArrayLike) -> Value:
    return shift_left_p.bind(*align_numeric("left_shift", x, y))


@fused("right_shift")
def _right_shift(x: Value, y: ArrayLike) -> Value:
    first, second = align_numeric("right_shift", x, y)
    primitive = shift_right_logical_p if is_kind(first, np.unsignedinteger) else shift_right_arithmetic_p
    return primitive.bind(first, second)


left_shift = public_form(
    "left_shift",
    _left_shift,
    "x * 2**y: the bits of integers shifted to the left.",
    "tangrad.numpy.left_shift(3, 2)\nArray(12, dtype=int32, weak_type=True)",
)
right_shift = public_form(
    "right_shift",
    _right_shift,
    "x // 2**y: the bits of integers shifted to the right; the sign stays.",
    "tangrad.numpy.right_shift(-8, 2)\nArray(-2, dtype=int32, weak_type=True)",
)
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift
left_shift_operator = operator_form("left_shift", "<<", _left_shift)
right_shift_operator = operator_form("right_shift", ">>", _right_shift)


def _bitwise_count(x: Value) -> Value:
    magnitude = abs_p.bind(x) if is_kind(x, np.signedinteger) else x
    if magnitude.aval.dtype is BOOL:
        return convert_element_type_p.bind(magnitude, new_dtype=dtypes.as_dtype("uint8"), weak_type=False)
    return convert_element_type_p.bind(
        population_count_p.bind(magnitude), new_dtype=dtypes.as_dtype("uint8"), weak_type=False
    )


bitwise_count = unary(
    "bitwise_count",
    _bitwise_count,
    "How many bits of |x| are set; of integers.",
    "An array of uint8 of the shape of `x`.",
    "tangrad.numpy.bitwise_count(7)\nArray(3, dtype=uint8)",
)

# --- what kind of number ---


def constant(x: Value, value: bool) -> Array:
    """A boolean array of one value, of the shape of an operand."""
    return broadcast_in_dim_p.bind(literal(value, BOOL), shape=x.aval.shape, broadcast_dimensions=())


def _parts(test: Callable[..., Value]) -> Callable[[Array | Literal], Array | Literal]:
    """A test of floats, of complex numbers by parts; never true of other numbers."""

    def general(x: Value) -> Value:
        if is_complex(x):
            return or_p.bind(test(real_p.bind(x)), test(imag_p.bind(x)))
        return test(x) if is_inexact(x) else constant(x, False)

    return general


def _is_finite(x: Value) -> Value:
    if is_complex(x):
        return and_p.bind(is_finite_p.bind(real_p.bind(x)), is_finite_p.bind(imag_p.bind(x)))
    return is_finite_p.bind(x) if is_inexact(x) else constant(x, True)


def _one_infinity(name: str, value: float) -> Callable[[Array | Literal], Array | Literal]:
    def general(x: Value) -> Value:
        if is_complex(x):
            raise ValueError(f"{name} does not accept complex numbers, got {x.aval.str_short()}")
        return eq_p.bind(x, literal_like(x, value)) if is_inexact(x) else constant(x, False)

    return general


def _is_infinite(x: Value) -> Value:
    return eq_p.bind(abs_p.bind(x), literal_like(x, math.inf))


def _sign_bit(x: Value) -> Value:
    """The highest bit, which distinguishes -0.0 and the NaNs too."""
    if is_complex(x):
        raise ValueError(f"signbit does not accept complex numbers, got {x.aval.str_short()}")
    if not is_inexact(x):
        signed = is_kind(x, np.signedinteger)
        return lt_p.bind(x, literal_like(x, 0)) if signed else constant(x, False)
    bits = dtypes.as_dtype(f"int{dtypes.bit_width(x.aval.dtype)}")
    return lt_p.bind(bitcast_convert_type_p.bind(x, new_dtype=bits), literal(0, bits))


def _test(
    name: str, general: Callable[..., object], summary: str, result: str = "[False]", sign: str = ""
) -> Callable[[ArrayLike], Array]:
    example = f"tangrad.numpy.{name}({sign}tangrad.numpy.ones(1))\nArray({result}, dtype=bool)"
    return unary(name, general, summary, _BOOLEAN, example, fuse=1)


isnan = _test("isnan", _parts(lambda x: ne_p.bind(x, x)), "Whether each element is NaN.")
isinf = _test("isinf", _parts(_is_infinite), "Whether each element is infinite, of either sign.")
isfinite = _test("isfinite", _is_finite, "Whether each element is neither infinite nor NaN.", result="[ True]")
isposinf = _test("isposinf", _one_infinity("isposinf", math.inf), "Whether each element is +inf; of real numbers.")
isneginf = _test("isneginf", _one_infinity("isneginf", -math.inf), "Whether each element is -inf; of real numbers.")
signbit = _test("signbit", _sign_bit, "Whether the sign bit is set: below zero, and -0.0.", "[ True]", "-")
iscomplex = _test(
    "iscomplex",
    lambda x: ne_p.bind(imag_p.bind(x), literal_like(imag_p.bind(x), 0)) if is_complex(x) else constant(x, False),
    "Whether each element has an imaginary part other than 0.",
)
isreal = _test(
    "isreal",
    lambda x: eq_p.bind(imag_p.bind(x), literal_like(imag_p.bind(x), 0)) if is_complex(x) else constant(x, True),
    "Whether each element has no imaginary part other than 0.",
    result="[ True]",
)
