"""The elementwise primitives and the types of their results.

Operands have one dtype, and one shape or rank 0: the primitives neither promote nor broadcast beyond scalars.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable

from tangrad._lax.checks import (
    ANY,
    BITS,
    BOOL,
    COMPLEX,
    EXTENDED,
    FLOATING,
    INEXACT,
    INTEGER,
    NUMERIC,
    ORDERED,
    SIGNED,
    check_dtype,
    check_int,
    check_same_dtype,
    common_shape,
    is_kind,
    nary,
    unary,
)
from tangrad._lax.definitions import declare
from tangrad.core import Array, Literal, Primitive, PrimitiveSet, ShapedArray, dtypes, literal
from tangrad.errors import ArgumentError
from tangrad.typing import DType, Value

elementwise = PrimitiveSet("elementwise", api=1)
INT32, FLOAT32 = dtypes.as_dtype("int32"), dtypes.as_dtype("float32")


class RoundingMethod(enum.IntEnum):
    """What `round` does with a number halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _real(dtype: DType) -> DType:
    return dtypes.to_floating_dtype(dtype) if is_kind(dtype, (COMPLEX,)) else dtype


def _complex(dtype: DType) -> DType:
    return dtypes.to_complex_dtype(dtype)


def _bool(_: DType) -> DType:
    return BOOL


def _number(value: float, x: Value) -> Value:
    """A literal of the dtype and weak type of `x`."""
    return literal(value, x.aval.dtype, x.aval.weak_type)


def _is_complex(x: Value) -> bool:
    return is_kind(x.aval.dtype, (COMPLEX,))


# --- signs and rounding ---

neg_p = unary(elementwise, "neg", NUMERIC, "-x; unsigned integers wrap.")
sign_p = unary(elementwise, "sign", NUMERIC, "-1, 0 or 1; NaN and signed zeros stay; x / |x| for complex x, 0 at 0.")
abs_p = unary(elementwise, "abs", (SIGNED, FLOATING, COMPLEX), "|x|; the least signed integer stays.", result=_real)
floor_p = unary(elementwise, "floor", (FLOATING,), "The greatest integer not above x.")
ceil_p = unary(elementwise, "ceil", (FLOATING,), "The least integer not below x.")
is_finite_p = unary(elementwise, "is_finite", (FLOATING,), "False for NaN and infinities.", result=_bool)


@elementwise.primitive(name="round")
def round_p(x: ShapedArray, *, rounding_method: RoundingMethod) -> ShapedArray:
    """The nearest integer; `rounding_method` decides for halves."""
    check_dtype("round", x, (FLOATING,), "x")
    if not isinstance(rounding_method, RoundingMethod):
        raise TypeError(f"round: rounding_method must be a RoundingMethod, got {rounding_method!r}")
    return x


# --- functions of one variable ---
# Those that consist of others say so: whatever has no rule for them takes the others' rules.

_NAN_BELOW = "NaN below zero; the principal branch for complex x"
_BEYOND = "NaN beyond ±1"
_POSITIVE, _WITHIN = (0.3, 3.0), (-0.8, 0.8)


def _exp2(x: Value) -> Array:
    if _is_complex(x):
        # Each part by itself: a product of complex numbers makes NaN of an infinite part.
        real, imag = real_p.bind(x), imag_p.bind(x)
        scale = _number(math.log(2), real)
        return exp_p.bind(complex_p.bind(mul_p.bind(real, scale), mul_p.bind(imag, scale)))
    return pow_p.bind(_number(2, x), x)  # in narrow dtypes the rounding of x log 2 would show


def _logarithm(base: int) -> Callable[[Array | Literal], Array]:
    """log(x) / log(base), and the whole number where the quotient is a few roundings from one: `int(log10(1000.0))`."""

    def decompose(x: Value) -> Array:
        dtype = x.aval.dtype
        if _is_complex(x):
            logarithm = log_p.bind(x)
            parts = real_p.bind(logarithm), imag_p.bind(logarithm)
            return complex_p.bind(*[mul_p.bind(part, _number(1 / math.log(base), part)) for part in parts])
        if dtypes.bit_width(dtype) < 32:  # its rounding makes more of the error than all that is done here
            wide = convert_element_type_p.bind(x, new_dtype=FLOAT32, weak_type=False)
            return convert_element_type_p.bind(decompose(wide), new_dtype=dtype, weak_type=x.aval.weak_type)
        info, logarithm = dtypes.finfo(dtype), log_p.bind(x)
        quotient = mul_p.bind(logarithm, _number(1 / math.log(base), x))
        short = reduce_precision_p.bind(quotient, exponent_bits=int(info.nexp), mantissa_bits=int(info.nmant) - 2)
        whole = round_p.bind(short, rounding_method=RoundingMethod.TO_NEAREST_EVEN)
        return select_n_p.bind(eq_p.bind(short, whole), quotient, short)

    return decompose


def _logistic(x: Value) -> Array:
    one = _number(1, x)
    if _is_complex(x):
        return div_p.bind(one, add_p.bind(one, exp_p.bind(neg_p.bind(x))))
    # exp(min(x, 0)) / (exp(min(x, 0)) + exp(-max(x, 0))): nothing overflows, in the derivative neither.
    zero = _number(0, x)
    rise, fall = exp_p.bind(min_p.bind(x, zero)), exp_p.bind(neg_p.bind(max_p.bind(x, zero)))
    return div_p.bind(rise, add_p.bind(rise, fall))


def _rsqrt(x: Value) -> Array:
    return div_p.bind(_number(1, x), sqrt_p.bind(x))


def _square(x: Value) -> Array:
    return mul_p.bind(x, x)


def _tan(x: Value) -> Array:
    if not _is_complex(x):
        return div_p.bind(sin_p.bind(x), cos_p.bind(x))
    # -i tanh(i x), for sine and cosine overflow; products with i would make NaN of infinities.
    turned = tanh_p.bind(complex_p.bind(neg_p.bind(imag_p.bind(x)), real_p.bind(x)))
    return complex_p.bind(imag_p.bind(turned), neg_p.bind(real_p.bind(turned)))


def _integer_pow(x: Value, *, y: int) -> Value:
    """By squaring: a multiplication for each binary digit of `y`, and one more for each that is 1."""
    one = _number(1, x)
    if y == 0:
        return select_n_p.bind(eq_p.bind(x, x), one, one)
    power = x
    for digit in f"{abs(y):b}"[1:]:
        power = mul_p.bind(power, power)
        if digit == "1":
            power = mul_p.bind(power, x)
    return power if y > 0 else div_p.bind(one, power)


# What is declared has public functions of the same name, made in `functions/analytic.py` and for tangrad.numpy, and
# samples; the other files of the family have its derivative, those of the backends its lowerings.
exp_p = declare(elementwise, "exp", INEXACT, "e to the power x.", (0.0, "1."))
exp2_p = declare(elementwise, "exp2", INEXACT, "2 to the power x.", (3.0, "8."), decompose=_exp2)
log_p = declare(elementwise, "log", INEXACT, f"The natural logarithm; {_NAN_BELOW}.", (1.0, "0."), smooth=_POSITIVE)
log2_p = declare(
    elementwise,
    "log2",
    INEXACT,
    "The logarithm to base 2; whole at powers of 2.",
    (8.0, "3."),
    smooth=_POSITIVE,
    numpy=None,  # which takes integers, too
    decompose=_logarithm(2),
)
log10_p = unary(
    elementwise, "log10", INEXACT, "The logarithm to base 10; whole at powers of 10.", decompose=_logarithm(10)
)
expm1_p = declare(elementwise, "expm1", INEXACT, "exp(x) - 1, accurate near 0.", (0.0, "0."))
log1p_p = declare(elementwise, "log1p", INEXACT, "log(1 + x), accurate near 0.", (0.0, "0."), smooth=(-0.6, 2.0))
logistic_p = declare(
    elementwise, "logistic", INEXACT, "1 / (1 + exp(-x)).", (0.0, "0.5"), numpy=None, decompose=_logistic
)
sqrt_p = declare(elementwise, "sqrt", INEXACT, f"The square root; {_NAN_BELOW}.", (4.0, "2."), smooth=_POSITIVE)
rsqrt_p = declare(
    elementwise, "rsqrt", INEXACT, "1 / sqrt(x).", (4.0, "0.5"), smooth=_POSITIVE, numpy=None, decompose=_rsqrt
)
cbrt_p = declare(elementwise, "cbrt", (FLOATING,), "The real cube root.", (-8.0, "-2."), smooth=(0.4, 3.0))
square_p = unary(elementwise, "square", NUMERIC, "x * x.", decompose=_square)
sin_p = declare(elementwise, "sin", INEXACT, "Sine, of x in radians.", (0.0, "0."))
cos_p = declare(elementwise, "cos", INEXACT, "Cosine, of x in radians.", (0.0, "1."))
tan_p = declare(
    elementwise, "tan", INEXACT, "Tangent, of x in radians.", (0.0, "0."), smooth=(-1.2, 1.2), decompose=_tan
)
asin_p = declare(
    elementwise, "asin", INEXACT, f"Inverse sine, in radians; {_BEYOND}.", (0.0, "0."), smooth=_WITHIN, numpy="arcsin"
)
acos_p = declare(
    elementwise, "acos", INEXACT, f"Inverse cosine, in radians; {_BEYOND}.", (1.0, "0."), smooth=_WITHIN, numpy="arccos"
)
atan_p = declare(
    elementwise, "atan", INEXACT, "Inverse tangent, in radians.", (0.0, "0."), smooth=(-0.9, 0.9), numpy="arctan"
)
sinh_p = declare(elementwise, "sinh", INEXACT, "Hyperbolic sine.", (0.0, "0."))
cosh_p = declare(elementwise, "cosh", INEXACT, "Hyperbolic cosine.", (0.0, "1."))
tanh_p = declare(elementwise, "tanh", INEXACT, "Hyperbolic tangent.", (0.0, "0."))
asinh_p = declare(
    elementwise, "asinh", INEXACT, "Inverse hyperbolic sine.", (0.0, "0."), smooth=(-0.9, 0.9), numpy="arcsinh"
)
acosh_p = declare(  # tangrad.numpy has a function of its own, of another branch
    elementwise, "acosh", INEXACT, "Inverse hyperbolic cosine; NaN below 1.", (1.0, "0."), smooth=(1.2, 3.0), numpy=None
)
atanh_p = declare(
    elementwise,
    "atanh",
    INEXACT,
    f"Inverse hyperbolic tangent; {_BEYOND}.",
    (0.0, "0."),
    smooth=_WITHIN,
    numpy="arctanh",
)


def _power_by_digits(x: Value, y: Value, *, digits: int, inverse: bool) -> object:
    """By squaring, with the binary digits of an exponent that is an operand, the last one first."""
    one, last_digit = _number(1, x), literal(1, INT32)
    power, square = one, x
    for place in range(digits):
        digit = and_p.bind(shift_right_logical_p.bind(y, literal(place, INT32)), last_digit)
        power = select_n_p.bind(eq_p.bind(digit, last_digit), _like(power, x), mul_p.bind(power, square))
        square = mul_p.bind(square, square)
    return div_p.bind(one, power) if inverse else power


def _like(value: Value, x: Value) -> Value:
    """A scalar in the shape of `x`."""
    return value if value.aval.shape == x.aval.shape else select_n_p.bind(eq_p.bind(x, x), value, value)


# What powers are outside of programs, where they are compiled; no program holds one.
_power_by_digits_p = Primitive(
    "integer_pow_of", lambda x, y, **_: x, family="elementwise", weak_type="own", decompose=_power_by_digits
)


def _power_by_operand(x: Value, *, y: int) -> Callable[..., object] | None:
    """Exponents but the smallest, which are the commonest and quick, are numbers that one program serves."""
    if abs(y) <= 3 or abs(y) >= 1 << 31:
        return None
    digits, exponent = 7 if abs(y) < 1 << 7 else 31, literal(abs(y), INT32)
    return lambda x: _power_by_digits_p.bind(x, exponent, digits=digits, inverse=y < 0)


@elementwise.primitive(name="integer_pow", decompose=_integer_pow, value_form=_power_by_operand)
def integer_pow_p(x: ShapedArray, *, y: int) -> ShapedArray:
    """x to the power of the integer `y`, by repeated multiplication; negative `y` for floating and complex x only."""
    check_dtype("integer_pow", x, NUMERIC, "x")
    if check_int("integer_pow", y, "y") < 0 and is_kind(x.dtype, (INTEGER,)):
        raise TypeError(f"integer_pow: integers have no negative powers, got x of type {x.str_short()} and y={y}")
    return x


# --- complex parts ---

real_p = unary(elementwise, "real", (COMPLEX,), "The real part.", result=_real)
imag_p = unary(elementwise, "imag", (COMPLEX,), "The imaginary part.", result=_real)


def _conj(x: Value) -> Array:
    if _is_complex(x):
        return complex_p.bind(real_p.bind(x), neg_p.bind(imag_p.bind(x)))
    return complex_p.bind(x, _number(0, x))


@elementwise.primitive(name="conj", decompose=_conj)
def conj_p(x: ShapedArray) -> ShapedArray:
    """The complex conjugate; a real x becomes complex."""
    if x.dtype.name not in ("float32", "float64") and not is_kind(x.dtype, (COMPLEX,)):
        found = dtypes.dtype_name(x.dtype)
        raise TypeError(f"conj does not accept dtype {found} for x; expected float32, float64 or complex")
    return x.update(dtype=_complex(x.dtype))


@elementwise.primitive(name="complex")
def complex_p(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """x + iy."""
    for aval, argument in ((x, "x"), (y, "y")):
        if aval.dtype.name not in ("float32", "float64"):
            found = dtypes.dtype_name(aval.dtype)
            raise TypeError(f"complex does not accept dtype {found} for {argument}; expected float32 or float64")
    check_same_dtype("complex", (x, y))
    return ShapedArray(common_shape("complex", (x, y)), _complex(x.dtype))


# --- arithmetic ---

add_p = nary(elementwise, "add", NUMERIC, "x + y; integers wrap.")
sub_p = nary(elementwise, "sub", NUMERIC, "x - y; integers wrap.")
mul_p = nary(elementwise, "mul", NUMERIC, "x * y; integers wrap.")
div_p = nary(
    elementwise, "div", NUMERIC, "x / y; integers round towards zero, x / 0 is -1 (all bits set), the least / -1 wraps."
)
rem_p = nary(
    elementwise, "rem", (INTEGER, FLOATING), "The remainder of x / y, with the sign of x; x for integers and y = 0."
)
max_p = nary(
    elementwise, "max", ANY, "The greater one; NaN if either is; complex numbers by real part, then imaginary."
)
min_p = nary(elementwise, "min", ANY, "The lesser one; NaN if either is; complex numbers by real part, then imaginary.")
atan2_p = nary(elementwise, "atan2", INEXACT, "The angle of the point (y=first, x=second), in (-π, π].")
nextafter_p = nary(elementwise, "nextafter", (FLOATING,), "The next number after x in the direction of y.")
mulhi_p = nary(elementwise, "mulhi", (INTEGER,), "The upper half of the bits of the double-width product.")


@elementwise.primitive(name="pow")
def pow_p(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """x to the power y. y has x's dtype or is an integer of any width."""
    check_dtype("pow", x, INEXACT, "x")
    check_dtype("pow", y, NUMERIC, "y")
    if not is_kind(y.dtype, (INTEGER,)):
        check_same_dtype("pow", (x, y))
    return ShapedArray(common_shape("pow", (x, y)), x.dtype)


# --- bits ---

not_p = unary(elementwise, "not", BITS, "The complement: of a truth value, or of each bit.")
and_p = nary(elementwise, "and", BITS, "x and y, bit by bit.")
or_p = nary(elementwise, "or", BITS, "x or y, bit by bit.")
xor_p = nary(elementwise, "xor", BITS, "x exclusive-or y, bit by bit.")
shift_left_p = nary(elementwise, "shift_left", (INTEGER,), "x shifted by y bits; 0 where y is not in [0, width).")
shift_right_logical_p = nary(
    elementwise,
    "shift_right_logical",
    (INTEGER,),
    "x shifted right by y bits, zeros enter; 0 if y is not in [0, width).",
)
shift_right_arithmetic_p = nary(
    elementwise,
    "shift_right_arithmetic",
    (INTEGER,),
    "x shifted right by y bits, copies of the sign enter; all sign where y is not in [0, width).",
)
population_count_p = unary(elementwise, "population_count", (INTEGER,), "The number of bits that are set.")
clz_p = unary(elementwise, "clz", (INTEGER,), "The number of zeros before the highest bit that is set.")

# --- comparisons ---

eq_p = nary(elementwise, "eq", (*ANY, EXTENDED), "x == y; False if either is NaN.", result=_bool)
ne_p = nary(elementwise, "ne", (*ANY, EXTENDED), "x != y; True if either is NaN.", result=_bool)
lt_p = nary(elementwise, "lt", ORDERED, "x < y; False if either is NaN.", result=_bool)
le_p = nary(elementwise, "le", ORDERED, "x <= y; False if either is NaN.", result=_bool)
gt_p = nary(elementwise, "gt", ORDERED, "x > y; False if either is NaN.", result=_bool)
ge_p = nary(elementwise, "ge", ORDERED, "x >= y; False if either is NaN.", result=_bool)
# In the total order of IEEE 754: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
eq_to_p = nary(elementwise, "eq_to", ORDERED, "x == y in the total order of floats.", result=_bool)
lt_to_p = nary(elementwise, "lt_to", ORDERED, "x < y in the total order of floats.", result=_bool)
le_to_p = nary(elementwise, "le_to", ORDERED, "x <= y in the total order of floats.", result=_bool)


# --- selection ---


@elementwise.primitive(name="select_n", weak_type="own")
def select_n_p(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    """`cases[which]`, element by element; `which` is boolean (two cases) or int32, of the cases' shape or rank 0."""
    if not cases:
        raise TypeError("select_n requires at least one case")
    if which.dtype != BOOL and which.dtype.name != "int32":
        raise TypeError(f"select_n: which must be boolean or int32, got {dtypes.dtype_name(which.dtype)}")
    if which.dtype == BOOL and len(cases) > 2:
        raise TypeError(f"select_n: a boolean which chooses between at most two cases, got {len(cases)}")
    check_same_dtype("select_n", cases)
    shape = common_shape("select_n", cases)
    if which.shape and which.shape != shape and shape:
        raise ArgumentError(f"select_n: which must have the shape of the cases, {shape}, or none, got {which.shape}")
    return ShapedArray(shape or which.shape, cases[0].dtype, all(case.weak_type for case in cases))


def _clamp(min: Value, x: Value, max: Value) -> Array:
    if not _is_complex(x):
        return min_p.bind(max_p.bind(x, min), max)
    raised = select_n_p.bind(le_p.bind(real_p.bind(x), real_p.bind(min)), x, min)
    return select_n_p.bind(le_p.bind(real_p.bind(raised), real_p.bind(max)), max, raised)


@elementwise.primitive(name="clamp", decompose=_clamp)
def clamp_p(min: ShapedArray, x: ShapedArray, max: ShapedArray) -> ShapedArray:
    """x, or the bound that it passes. `min` and `max` have x's shape or rank 0; where min > max the result is max.

    Complex numbers are compared by their real parts alone, unlike in `min` and `max`; of equal ones the bound `min` is
    taken before `x`, and either before the bound `max`.
    """
    for aval, argument in ((min, "min"), (x, "x"), (max, "max")):
        check_dtype("clamp", aval, ANY, argument)
    check_same_dtype("clamp", (min, x, max))
    for aval, argument in ((min, "min"), (max, "max")):
        if aval.shape and aval.shape != x.shape:
            raise ArgumentError(f"clamp: {argument} must have the shape of x, {x.shape}, or none, got {aval.shape}")
    return ShapedArray(x.shape, x.dtype)


# --- conversions ---


@elementwise.primitive(name="convert_element_type", weak_type="own")
def convert_element_type_p(operand: ShapedArray, *, new_dtype: DType, weak_type: bool) -> ShapedArray:
    """The elements in another dtype.

    Floats become integers by truncation and saturation, NaN becomes 0; complex numbers lose their imaginary part.
    """
    for dtype in (operand.dtype, new_dtype):
        if isinstance(dtype, dtypes.ExtendedDType) and operand.dtype != new_dtype:
            names = f"{dtypes.dtype_name(operand.dtype)} to {dtypes.dtype_name(new_dtype)}"
            raise ArgumentError(f"convert_element_type cannot convert {names}")
    return ShapedArray(operand.shape, new_dtype, weak_type)


@elementwise.primitive(name="bitcast_convert_type", weak_type="never")
def bitcast_convert_type_p(operand: ShapedArray, *, new_dtype: DType) -> ShapedArray:
    """The same bits read as another dtype; a narrower one adds a trailing dimension, a wider one consumes it."""
    if operand.dtype == new_dtype:
        return operand
    for dtype in (operand.dtype, new_dtype):
        if isinstance(dtype, dtypes.ExtendedDType) or is_kind(dtype, ("boolean", COMPLEX)):
            raise TypeError(
                "bitcast_convert_type takes boolean, complex and key dtypes to themselves only, "
                f"got {dtypes.dtype_name(operand.dtype)} to {dtypes.dtype_name(new_dtype)}"
            )
    return ShapedArray(_bitcast_shape(operand, new_dtype), new_dtype)


def _bitcast_shape(operand: ShapedArray, new_dtype: DType) -> tuple[int, ...]:
    old, new = dtypes.bit_width(operand.dtype), dtypes.bit_width(new_dtype)
    if old == new:
        return operand.shape
    if old > new:
        return (*operand.shape, old // new)
    if not operand.shape or operand.shape[-1] * old != new:
        raise ValueError(
            f"bitcast_convert_type from {dtypes.dtype_name(operand.dtype)} ({old} bits) to "
            f"{dtypes.dtype_name(new_dtype)} ({new} bits) needs a last dimension of {new // old}, "
            f"got shape {operand.shape}"
        )
    return operand.shape[:-1]


@elementwise.primitive(name="reduce_precision")
def reduce_precision_p(operand: ShapedArray, *, exponent_bits: int, mantissa_bits: int) -> ShapedArray:
    """Rounded to what a float with that many exponent and mantissa bits can hold, in the same dtype."""
    check_dtype("reduce_precision", operand, (FLOATING,), "operand")
    if check_int("reduce_precision", exponent_bits, "exponent_bits") < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive, got {exponent_bits}")
    if check_int("reduce_precision", mantissa_bits, "mantissa_bits") < 0:
        raise ValueError(f"reduce_precision: mantissa_bits must not be negative, got {mantissa_bits}")
    return operand
