"""Sums, products, quotients, remainders and powers: `tangrad.numpy.add`, `floor_divide`, `power`, …"""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._numpy.fusing import fused, fused_pair
from tangrad._numpy.makers import OfTwoToPair, binary_pair, fast, general_form, operator_form, public_form, unary
from tangrad._numpy.operands import (
    align,
    align_inexact,
    align_numeric,
    array_operand,
    broadcast,
    check_array_like,
    convert,
    inexact_dtypes,
    is_complex,
    is_inexact,
    is_kind,
    literal_like,
    of_known_type,
    operand,
    promote_inexact,
    promote_numeric,
    select,
)
from tangrad._numpy.operations import numerical
from tangrad._numpy.settings import check_promotion
from tangrad.core import EVAL_TRACE, Array, Literal, dtypes, filter_traceback, own_boundary, thread, transfers
from tangrad.core.caches import DirectCalls
from tangrad.extend.lax import (
    RoundingMethod,
    abs_p,
    add_p,
    and_p,
    div_p,
    eq_p,
    integer_pow_p,
    lt_p,
    max_p,
    min_p,
    mul_p,
    ne_p,
    neg_p,
    or_p,
    pow_p,
    rem_p,
    round_p,
    shift_right_logical_p,
    sign_p,
    square_p,
    stop_gradient_p,
    sub_p,
)
from tangrad.typing import ArrayLike, Value

# Of what transfer guards ask: a whole exponent is part of the operation.
COPIES_FROM_HOST = dict.fromkeys(
    ["power_operator", "power_of"],
    lambda given: transfers.is_from_host([given["x"]] if type(given["y"]) is int else [given["x"], given["y"]]),
)

# --- sums and products ---

add, add_operator = binary_pair(
    "add",
    "+",
    add_p,
    general_form("add", add_p, or_p),
    "The sum x + y, element by element; integers wrap, of booleans it is `or`.",
    "tangrad.numpy.add(1, 2.5)\nArray(3.5, dtype=float32, weak_type=True)",
)
subtract, subtract_operator = binary_pair(
    "subtract",
    "-",
    sub_p,
    general_form("subtract", sub_p),
    "The difference x - y, element by element; integers wrap, booleans are refused.",
    "tangrad.numpy.subtract(5, 2)\nArray(3, dtype=int32, weak_type=True)",
)
multiply, multiply_operator = binary_pair(
    "multiply",
    "*",
    mul_p,
    general_form("multiply", mul_p, and_p),
    "The product x * y, element by element; integers wrap, of booleans it is `and`.",
    "tangrad.numpy.multiply(2, 3.5)\nArray(7., dtype=float32, weak_type=True)",
)
maximum, _ = binary_pair(
    "maximum",
    "",
    max_p,
    general_form("maximum", max_p),
    "The greater of x and y, element by element; NaN if either is.",
    "tangrad.numpy.maximum(1, 2)\nArray(2, dtype=int32, weak_type=True)",
)
minimum, _ = binary_pair(
    "minimum",
    "",
    min_p,
    general_form("minimum", min_p),
    "The lesser of x and y, element by element; NaN if either is.",
    "tangrad.numpy.minimum(1, 2)\nArray(1, dtype=int32, weak_type=True)",
)


_divide = fused_pair("divide", lambda x, y: div_p.bind(*align_inexact("divide", x, y)))


divide, divide_operator = binary_pair(
    "divide",
    "/",
    div_p,
    _divide,
    "The quotient x / y, element by element, of floats: integers are converted.",
    "tangrad.numpy.divide(7, 2)\nArray(3.5, dtype=float32, weak_type=True)",
    direct=inexact_dtypes,
    returns="An array of the shape in which `x` and `y` meet, floating or complex.",
)
true_divide = divide


# --- one operand ---


def _absolute(x: Value) -> Value:
    if x.aval.dtype.kind == "b" or is_kind(x, np.unsignedinteger):
        return array_operand("absolute", x)
    return abs_p.bind(x)


def _positive(x: Value) -> Value:
    return array_operand("positive", x)


def _reciprocal(x: Value) -> Value:
    (made,) = promote_inexact("reciprocal", x)
    return integer_pow_p.bind(made, y=-1)


_SAME = "An array of the shape and dtype of `x`."

negative = unary(
    "negative",
    neg_p.bind,
    "The negative of each element; unsigned integers wrap, booleans are refused.",
    _SAME,
    "tangrad.numpy.negative(3)\nArray(-3, dtype=int32, weak_type=True)",
)
positive = unary(
    "positive",
    _positive,
    "The elements as they are.",
    _SAME,
    "tangrad.numpy.positive(3)\nArray(3, dtype=int32, weak_type=True)",
)


def negative_operator(x: ArrayLike) -> Array:
    """`-x`."""
    return neg_p.bind(x)


absolute = unary(
    "absolute",
    _absolute,
    "The absolute value of each element.",
    "An array of the shape and dtype of `x`, for complex `x` floating.",
    "tangrad.numpy.absolute(-3)\nArray(3, dtype=int32, weak_type=True)",
)
fabs = unary(
    "fabs",
    lambda x: abs_p.bind(_real_floats("fabs", x)),
    "The absolute value of each element, in floats.",
    "An array of the shape of `x`, floating.",
    "tangrad.numpy.fabs(-3)\nArray(3., dtype=float32, weak_type=True)",
    fuse=1,
)
sign = unary(
    "sign",
    sign_p.bind,
    "The sign of each element: -1, 0 or 1; x / |x| for complex x; booleans are refused.",
    _SAME,
    "tangrad.numpy.sign(-2.5)\nArray(-1., dtype=float32, weak_type=True)",
)
square = unary(
    "square",
    lambda x: square_p.bind(promote_numeric("square", x)[0]),
    "The square of each element.",
    _SAME,
    "tangrad.numpy.square(3)\nArray(9, dtype=int32, weak_type=True)",
    fuse=1,
)
reciprocal = unary(
    "reciprocal",
    _reciprocal,
    "1 / x, element by element, in floats.",
    "An array of the shape of `x`, floating or complex.",
    "tangrad.numpy.reciprocal(4)\nArray(0.25, dtype=float32, weak_type=True)",
    fuse=1,
)


def _real_floats(name: str, x: Value) -> Value:
    (made,) = promote_inexact(name, x)
    if is_complex(made):
        raise TypeError(f"{name} does not accept complex numbers, got {x.aval.str_short()}")
    return made


# --- quotients that are whole, and remainders ---


@fused("floor_divide", family=numerical.name)
def _floor_divide(x: ArrayLike, y: ArrayLike) -> Value:
    first, second = align("floor_divide", x, y)
    _no_complex("floor_divide", first)
    if first.aval.dtype.kind == "b":
        first, second = convert(first, dtypes.default_int_dtype()), convert(second, dtypes.default_int_dtype())
    if is_kind(first, np.unsignedinteger):
        return div_p.bind(first, second)
    return _float_quotient(first, second) if is_inexact(first) else _whole_quotient(first, second)


def _whole_quotient(x: Value, y: Value) -> Value:
    """Rounded down, where division rounds towards zero."""
    quotient = div_p.bind(x, y)
    signs_differ = ne_p.bind(sign_p.bind(x), sign_p.bind(y))
    inexact = ne_p.bind(rem_p.bind(x, y), literal_like(x, 0))
    lower = sub_p.bind(quotient, literal_like(quotient, 1))
    return select(and_p.bind(signs_differ, inexact), lower, quotient)


def _float_quotient(x: Value, y: Value) -> Value:
    """As of `_float_divmod`; but the quotient itself where x is zero or infinite, and no other zero has a sign.

    The array API standard prefers the floor of the quotient: inf // 2 is inf. Python pairs the quotient with the
    remainder, and both are NaN.
    """
    zero = literal_like(x, 0)
    by_zero, infinite = eq_p.bind(y, zero), eq_p.bind(abs_p.bind(x), literal_like(x, np.inf))
    whole = or_p.bind(or_p.bind(eq_p.bind(x, zero), by_zero), infinite)
    rounded = _float_divmod(x, y)[0]
    unsigned = select(eq_p.bind(rounded, zero), zero, rounded)
    return select(whole, stop_gradient_p.bind(div_p.bind(x, y)), unsigned)


def _float_divmod(x: Value, y: Value) -> tuple[Array, Array]:
    """As Python's: the remainder has the sign of y, and quotient * y + remainder is x. By zero it is the quotient."""
    by_zero = eq_p.bind(y, literal_like(y, 0))
    remainder = rem_p.bind(x, y)
    quotient = div_p.bind(sub_p.bind(x, remainder), y)
    not_zero = ne_p.bind(remainder, literal_like(remainder, 0))
    signs_differ = ne_p.bind(sign_p.bind(y), sign_p.bind(remainder))
    adjust = and_p.bind(not_zero, signs_differ)
    remainder = select(adjust, add_p.bind(remainder, y), remainder)
    quotient = select(adjust, sub_p.bind(quotient, literal_like(quotient, 1)), quotient)
    rounded = round_p.bind(quotient, rounding_method=RoundingMethod.AWAY_FROM_ZERO)
    return select(by_zero, stop_gradient_p.bind(div_p.bind(x, y)), rounded), remainder


@fused("remainder", family=numerical.name)
def _remainder(x: ArrayLike, y: Array | Literal) -> Value:
    first, second = align_numeric("remainder", x, y)
    _no_complex("remainder", first)
    if not is_inexact(first):
        second = select(eq_p.bind(second, literal_like(second, 0)), literal_like(second, 1), second)
    truncated = rem_p.bind(first, second)
    negative, nonzero = lt_p.bind(second, literal_like(second, 0)), ne_p.bind(truncated, literal_like(truncated, 0))
    signs_differ = ne_p.bind(lt_p.bind(truncated, literal_like(truncated, 0)), negative)
    adjusted = select(and_p.bind(signs_differ, nonzero), add_p.bind(truncated, second), truncated)
    return select(nonzero, adjusted, _signed_zero(truncated, negative)) if is_inexact(first) else adjusted


def _signed_zero(x: Value, negative: Value) -> Value:
    """0 or -0 where x is a zero of either sign. Its derivative in x is 1, as of other remainders: hence no constant."""
    constant = stop_gradient_p.bind(x)
    return select(negative, neg_p.bind(sub_p.bind(constant, x)), sub_p.bind(x, constant))


@fused("fmod")
def _fmod(x: ArrayLike, y: ArrayLike) -> Value:
    first, second = align_numeric("fmod", x, y)
    _no_complex("fmod", first)
    if not is_inexact(first):
        second = select(eq_p.bind(second, literal_like(second, 0)), literal_like(second, 1), second)
    return rem_p.bind(first, second)


@fused("divmod", True)
def _divmod(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    first, second = align_numeric("divmod", x, y)
    _no_complex("divmod", first)
    if is_inexact(first):
        return _float_divmod(first, second)
    return _floor_divide(first, second), _remainder(first, second)


def _no_complex(name: str, x: Value) -> None:
    if is_complex(x):
        raise TypeError(f"{name} does not accept complex numbers, got {x.aval.str_short()}")


floor_divide = public_form(
    "floor_divide",
    _floor_divide,
    "The quotient x / y rounded down, element by element.",
    "tangrad.numpy.floor_divide(-7, 2)\nArray(-4, dtype=int32, weak_type=True)",
)
floor_divide_operator = operator_form("floor_divide", "//", _floor_divide)
remainder = public_form(
    "remainder",
    _remainder,
    "The remainder of x / y with the sign of y, as of Python's %; 0 for integers and y = 0.",
    "tangrad.numpy.remainder(-7, 2)\nArray(1, dtype=int32, weak_type=True)",
)
mod = remainder
remainder_operator = operator_form("remainder", "%", _remainder)
fmod = public_form(
    "fmod",
    _fmod,
    "The remainder of x / y with the sign of x, as in C.",
    "tangrad.numpy.fmod(-7, 2)\nArray(-1, dtype=int32, weak_type=True)",
)
divmod: OfTwoToPair = public_form(
    "divmod",
    _divmod,
    "The quotient rounded down and the remainder: `(x // y, x % y)`.",
    "tangrad.numpy.divmod(7, 2)\n(Array(3, dtype=int32, weak_type=True), Array(1, dtype=int32, weak_type=True))",
    returns="Two arrays of the shape and dtype in which `x` and `y` meet.",
)
divmod_operator = operator_form("divmod", "divmod()", _divmod)


# --- powers ---

_SQUARINGS = 6  # more would overflow any base above 1


def _power(x: ArrayLike, y: ArrayLike) -> Value:
    """A fixed whole exponent is multiplied out: exact, and with the derivative of a polynomial."""
    check_array_like("power", x, y)
    check_promotion("power", x, y)
    exponent = _whole_exponent(y)
    if exponent is not None:
        return integer_pow_p.bind(promote_numeric("power", x)[0], y=exponent)
    return _power_of_arrays(x, y)


@fused("power")
def _power_of_arrays(x: ArrayLike, y: Value) -> Value:
    first, second = broadcast("power", [operand("power", x), operand("power", y)])
    if is_inexact(first) and is_kind(second, np.integer):
        return pow_p.bind(first, second)  # differentiable in x at 0: no exponent that is a float
    base, power_of = align_numeric("power", first, second)
    if is_kind(base, np.integer):
        return _integer_power(*of_known_type((x, y), (base, power_of)))
    return pow_p.bind(base, power_of)


def _whole_exponent(y: Any) -> int | None:
    """The exponent as a Python integer, if it is a number that is known and whole by its type."""
    kind = type(y)
    if kind is int:
        return y
    if kind is float or kind is bool:
        return None
    if getattr(y, "shape", None) != () or not dtypes.issubdtype(y.dtype, np.integer):
        return None
    concrete = getattr(y, "concrete", None)
    if concrete is not None and concrete() is None:
        return None
    return int(y)


def _integer_power(x: Value, y: Value) -> Value:
    """By repeated squaring, with as many steps as matter."""
    zero, one = literal_like(x, 0), literal_like(x, 1)
    power_zero, power_one = literal_like(y, 0), literal_like(y, 1)
    vanishes = and_p.bind(eq_p.bind(x, zero), ne_p.bind(y, power_zero))
    product = select(vanishes, zero, one)
    for _ in range(_SQUARINGS):
        odd = ne_p.bind(and_p.bind(y, power_one), power_zero)
        product = select(odd, mul_p.bind(product, x), product)
        x = mul_p.bind(x, x)
        y = shift_right_logical_p.bind(y, power_one)
    return product


_whole_powers = DirectCalls()
_fast_power = fast(pow_p, _power, inexact_dtypes)


def _power_of_fast(x: Any, y: ArrayLike) -> Any:
    """`x ** 2` and the like, without promotion."""
    if type(y) is int:
        aval = x.aval if hasattr(type(x), "aval") else None
        if aval is not None and aval.dtype in inexact_dtypes:
            call = _whole_powers.get((aval, y)) if thread.trace is EVAL_TRACE else None
            return _whole_powers.apply((aval, y), integer_pow_p, (x,), {"y": y}) if call is None else call(x)
    elif type(y) is float:
        return _fast_power(x, y)
    return _power(x, y)


def power_of(x: ArrayLike, y: ArrayLike, /) -> Array:
    """As the operator, for users."""
    return _power_of_fast(x, y)


power = public_form(
    "power",
    _power_of_fast,
    "x to the power y, element by element; negative powers of integers are refused.",
    "tangrad.numpy.power(2.0, 3)\nArray(8., dtype=float32, weak_type=True)",
    written=power_of,
)
pow = power
_power_guarded = operator_form("power", "**", _power)


def power_operator(x: ArrayLike, y: ArrayLike) -> Array:
    """The operator ** of arrays."""
    try:
        kind = type(y)
        if (kind is int or kind is float) and hasattr(type(x), "aval"):
            return _power_of_fast(x, y)
        return _power_guarded(x, y)
    except Exception as error:
        filter_traceback(error)
        raise


own_boundary(power_operator)


float_power = public_form(
    "float_power",
    fused_pair("float_power", lambda x, y: pow_p.bind(*align_inexact("float_power", x, y))),
    "x to the power y, in floats.",
    "tangrad.numpy.float_power(2, 3)\nArray(8., dtype=float32, weak_type=True)",
    primitive=pow_p,
    direct=inexact_dtypes,
    returns="An array of the shape in which `x` and `y` meet, floating or complex.",
)


# --- greatest common divisors ---


def _integers(name: str, x: Value, y: ArrayLike) -> tuple[Array | Literal, Array | Literal]:
    first, second = of_known_type((x, y), align(name, x, y))
    if not is_kind(first, np.integer):
        raise TypeError(f"{name} requires integers, got {first.aval.str_short()} and {second.aval.str_short()}")
    if is_kind(first, np.unsignedinteger):
        return first, second
    return abs_p.bind(first), abs_p.bind(second)


@fused("gcd")
def _gcd(x: Value, y: ArrayLike) -> Value:
    """Euclid's algorithm, a fixed number of steps: no more than the longest sequence of Fibonacci numbers that fit."""
    first, second = broadcast("gcd", _integers("gcd", x, y))
    zero, one = literal_like(first, 0), literal_like(first, 1)
    for _ in range(int(1.4405 * dtypes.bit_width(first.aval.dtype)) + 1):
        done = eq_p.bind(second, zero)
        remainder_or_zero = rem_p.bind(first, select(done, one, second))
        first, second = select(done, first, second), select(done, zero, remainder_or_zero)
    return first


@fused("lcm")
def _lcm(x: Value, y: ArrayLike) -> Value:
    first, second = _integers("lcm", x, y)
    divisor = _gcd(first, second)
    zero = literal_like(divisor, 0)
    none = eq_p.bind(divisor, zero)
    part = div_p.bind(second, select(none, literal_like(divisor, 1), divisor))
    return select(none, zero, mul_p.bind(first, part))


gcd = public_form(
    "gcd",
    _gcd,
    "The greatest common divisor of integers, not negative; 0 of 0 and 0.",
    "tangrad.numpy.gcd(12, 18)\nArray(6, dtype=int32, weak_type=True)",
    by_name=True,
)
lcm = public_form(
    "lcm",
    _lcm,
    "The least common multiple of integers, not negative; 0 if either is 0.",
    "tangrad.numpy.lcm(4, 6)\nArray(12, dtype=int32, weak_type=True)",
    by_name=True,
)

abs = absolute
