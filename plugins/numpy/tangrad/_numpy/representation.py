"""Floats as mantissa and exponent: `tangrad.numpy.frexp`, `ldexp`, `modf`, `spacing`.

Bits are read only to find exponents. The results are products with powers of two: exact, and differentiable.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tangrad._numpy.logic import signbit
from tangrad._numpy.makers import unary
from tangrad._numpy.operands import (
    INT32,
    broadcast,
    check_array_like,
    convert,
    is_complex,
    is_inexact,
    literal_like,
    operand,
    promote_inexact,
    select,
    strong,
)
from tangrad.core import Array, dtypes, literal
from tangrad.extend.lax import (
    add_p,
    and_p,
    bitcast_convert_type_p,
    ceil_p,
    clamp_p,
    convert_element_type_p,
    div_p,
    eq_p,
    floor_p,
    ge_p,
    lt_p,
    mul_p,
    neg_p,
    nextafter_p,
    not_p,
    or_p,
    select_n_p,
    shift_left_p,
    shift_right_logical_p,
    stop_gradient_p,
    sub_p,
)
from tangrad.typing import ArrayLike, DType, Value, Values


def _real_floats(name: str, x: ArrayLike) -> Value:
    (made,) = promote_inexact(name, x)
    if is_complex(made):
        raise TypeError(f"{name} does not accept complex numbers, got {made.aval.str_short()}")
    return made


# --- powers of two ---


class _Layout:
    """Where the exponent of a floating dtype is.

    Attributes:
        bits: the integer dtype of the same width.
        mantissa, exponent: how many bits each has.
        bias: what is added to an exponent to make its field.
    """

    __slots__ = ("bias", "bits", "exponent", "lift", "mantissa", "reach")

    def __init__(self, dtype: DType) -> None:
        info = dtypes.finfo(dtype)
        self.bits = dtypes.as_dtype(f"int{dtypes.bit_width(dtype)}")
        self.mantissa, self.exponent = int(info.nmant), int(info.nexp)
        self.bias = 1 - int(info.minexp)
        self.lift = self.mantissa + 2  # brings what is below the normal numbers among them
        # No number is moved further than this and is neither 0 nor infinite then.
        self.reach = int(info.maxexp) - int(info.minexp) + self.mantissa + 2

    def number(self, value: int) -> Value:
        return literal(value, self.bits)

    def exponent_of(self, x: Value) -> Value:
        """The e of m * 2**e with m in [0.5, 1), for normal numbers."""
        pattern = bitcast_convert_type_p.bind(stop_gradient_p.bind(x), new_dtype=self.bits)
        shifted = shift_right_logical_p.bind(pattern, self.number(self.mantissa))
        field = and_p.bind(shifted, self.number((1 << self.exponent) - 1))
        return sub_p.bind(field, self.number(self.bias - 1))

    def power(self, exponent: Value, dtype: DType) -> Value:
        """2**exponent, of exponents that normal numbers have."""
        field = add_p.bind(exponent, self.number(self.bias))
        pattern = shift_left_p.bind(field, self.number(self.mantissa))
        return bitcast_convert_type_p.bind(pattern, new_dtype=dtype)

    def scale(self, x: Value, exponent: Value) -> Value:
        """x * 2**exponent, in three steps so that each power is a number of the dtype."""
        third = div_p.bind(exponent, self.number(3))
        rest = sub_p.bind(exponent, add_p.bind(third, third))
        step = self.power(third, x.aval.dtype)
        return mul_p.bind(mul_p.bind(mul_p.bind(x, step), self.power(rest, x.aval.dtype)), step)

    def magnitude(self, x: Value) -> Value:
        """The bits of |x|."""
        pattern = bitcast_convert_type_p.bind(stop_gradient_p.bind(x), new_dtype=self.bits)
        return and_p.bind(pattern, self.number(int(dtypes.iinfo(self.bits).max)))

    def lifted(self, x: Value) -> tuple[Array, Array]:
        """x times a power of two where it is below the normal numbers, which brings it among them; and where that is.

        XLA takes those numbers for 0 when it computes with them. So their value comes from their bits, an integer that
        converts exactly; the product has the derivative.
        """
        magnitude = self.magnitude(x)
        below = lt_p.bind(magnitude, self.number(1 << self.mantissa))
        unit = literal_like(x, 2.0 ** (self.lift + 1 - self.bias - self.mantissa))
        size = mul_p.bind(convert_element_type_p.bind(magnitude, new_dtype=x.aval.dtype, weak_type=False), unit)
        exact = select(signbit(x), neg_p.bind(size), size)
        product = mul_p.bind(x, literal_like(x, 2.0**self.lift))
        rest = sub_p.bind(exact, stop_gradient_p.bind(product))
        return select(below, add_p.bind(product, select(below, rest, literal_like(x, 0))), x), below

    def trivial(self, x: Value) -> Value:
        """Where x is 0, infinite or NaN."""
        magnitude = self.magnitude(x)
        infinite = ((1 << self.exponent) - 1) << self.mantissa
        return or_p.bind(eq_p.bind(magnitude, self.number(0)), ge_p.bind(magnitude, self.number(infinite)))


def _frexp(x: Value) -> Values:
    made = _real_floats("frexp", x)
    layout = _Layout(made.aval.dtype)
    lifted, below = layout.lifted(made)
    special = layout.trivial(made)
    zero = layout.number(0)
    exponent = select(special, zero, layout.exponent_of(lifted))
    mantissa = select(special, made, layout.scale(lifted, neg_p.bind(exponent)))
    was_lifted = and_p.bind(below, not_p.bind(special))
    return mantissa, convert(sub_p.bind(exponent, select(was_lifted, layout.number(layout.lift), zero)), INT32)


frexp: Callable[[ArrayLike], tuple[Array, Array]] = unary(
    "frexp",
    _frexp,
    "Mantissa and exponent: x = m * 2**e with |m| in [0.5, 1), and (x, 0) for 0, infinities and NaN.",
    "An array of the shape of `x`, floating, and one of int32.",
    "tangrad.numpy.frexp(6.0)\n(Array(0.75, dtype=float32), Array(3, dtype=int32))",
    fuse=2,
)


def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 * 2**x2, element by element.

    Args:
        x1: an array or number, not complex.
        x2: integers, broadcast against `x1`.

    Returns:
        An array of their common shape, floating.

    Raises:
        ValueError: for complex `x1`, `x2` that are not integers, and shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.ldexp(0.75, 3)
    Array(6., dtype=float32)
    """
    check_array_like("ldexp", x1, x2)
    first, second = operand("ldexp", x1), operand("ldexp", x2, 1)
    if is_complex(first) or is_inexact(second) or is_complex(second):
        kinds = f"{first.aval.str_short()} and {second.aval.str_short()}"
        raise ValueError(f"ldexp takes real numbers and integer exponents, got {kinds}")
    made, exponent = broadcast("ldexp", [_real_floats("ldexp", first), convert(second, INT32)])
    layout = _Layout(made.aval.dtype)
    limited = clamp_p.bind(literal(-layout.reach, INT32), exponent, literal(layout.reach, INT32))
    lifted, below = layout.lifted(made)
    wanted = convert(limited, layout.bits)
    lowered = select(below, sub_p.bind(wanted, layout.number(layout.lift)), wanted)
    return select_n_p.bind(layout.trivial(made), layout.scale(lifted, lowered), made)


def _modf(x: Value) -> Values:
    made = _real_floats("modf", x)
    whole = select(ge_p.bind(made, literal_like(made, 0)), floor_p.bind(made), ceil_p.bind(made))
    return sub_p.bind(made, whole), whole


modf: Callable[[ArrayLike], tuple[Array, Array]] = unary(
    "modf",
    _modf,
    "The fraction and the whole part, both with the sign of x.",
    "Two arrays of the shape of `x`, floating.",
    "tangrad.numpy.modf(2.5)\n(Array(0.5, dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))",
    fuse=2,
)


def _spacing(x: Value) -> Value:
    made = strong(_real_floats("spacing", x))
    negative = signbit(made)
    outwards = select(negative, literal_like(made, -math.inf), literal_like(made, math.inf))
    distance = sub_p.bind(nextafter_p.bind(made, outwards), made)
    # XLA's subtraction flushes subnormal numbers to zero; of those only the smallest can be a distance there.
    least = float(dtypes.finfo(made.aval.dtype).smallest_subnormal)
    smallest = select(negative, literal_like(made, -least), literal_like(made, least))
    return select(eq_p.bind(distance, literal_like(made, 0)), smallest, distance)


spacing = unary(
    "spacing",
    _spacing,
    "The distance to the next float away from 0, with the sign of x.",
    "An array of the shape of `x`, floating.",
    "tangrad.numpy.spacing(1)\nArray(1.1920929e-07, dtype=float32)",
    fuse=1,
)
