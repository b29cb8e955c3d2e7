"""Exponentials, logarithms, trigonometric and hyperbolic functions: `tangrad.numpy.exp`, `log2`, `arctan2`, …"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from tangrad._numpy.fusing import fused, fused_pair
from tangrad._numpy.makers import public_form, unary, unary_documentation, unary_inexact
from tangrad._numpy.operands import align_inexact, is_complex, literal_like, of_known_type, promote_inexact, select
from tangrad._numpy.operations import numerical
from tangrad.core import Array, Literal, Primitive, dtypes
from tangrad.extend.lax import (
    RoundingMethod,
    abs_p,
    acosh_p,
    add_p,
    atan2_p,
    bessel_i0e_p,
    complex_p,
    div_p,
    eq_p,
    exp2_p,
    exp_p,
    gt_p,
    imag_p,
    log1p_p,
    log2_p,
    log10_p,
    lt_p,
    max_p,
    min_p,
    mul_p,
    ne_p,
    neg_p,
    or_p,
    real_p,
    rem_p,
    round_p,
    sin_p,
    sqrt_p,
    square_p,
    stop_gradient_p,
    sub_p,
)

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Value, Values


def _example(name: str, argument: str, result: str) -> str:
    return f"tangrad.numpy.{name}({argument})\nArray({result}, dtype=float32, weak_type=True)"


# --- logarithms and trigonometric functions with forms of their own ---

_FLOATS = "An array of the shape of `x`, floating or complex."


def _logarithm(name: str, primitive: Primitive, base: int, example: str) -> Callable[[ArrayLike], Array]:
    summary = f"The logarithm to base {base}; a whole number of each power of {base}."
    text = unary_documentation(summary, _FLOATS, f"tangrad.numpy.{name}{example}, dtype=float32)")
    return unary_inexact(name, primitive, text, weak=False)


log2 = _logarithm("log2", log2_p, 2, "(8)\nArray(3.")
log10 = _logarithm("log10", log10_p, 10, "(1)\nArray(0.")


def _arccosh(x: Value) -> Value:
    (made,) = promote_inexact("arccosh", x)
    result = acosh_p.bind(made)
    if not is_complex(result):
        return result
    real = real_p.bind(result)  # NumPy's branch has a real part that is not negative
    return select(lt_p.bind(real, literal_like(real, 0)), neg_p.bind(result), result)


arccosh = unary(
    "arccosh", _arccosh, "Inverse hyperbolic cosine; NaN below 1.", _FLOATS, _example("arccosh", "1", "0."), fuse=1
)
acosh = arccosh


def _scaled(name: str, factor: float) -> Callable[[Array | Literal], Array | Literal]:
    def general(x: Value) -> Value:
        (made,) = promote_inexact(name, x)
        return mul_p.bind(made, literal_like(made, factor))

    return general


def _conversion(name: str, factor: float, summary: str) -> Callable[[ArrayLike], Array]:
    return unary(name, _scaled(name, factor), summary, _FLOATS, _example(name, "0", "0."), fuse=1)


deg2rad = _conversion("deg2rad", math.pi / 180, "Degrees into radians.")
rad2deg = _conversion("rad2deg", 180 / math.pi, "Radians into degrees.")
radians, degrees = deg2rad, rad2deg


def _real_pair(name: str, x: ArrayLike, y: ArrayLike) -> Values:
    first, second = align_inexact(name, x, y)
    if is_complex(first):
        raise TypeError(f"{name} does not accept complex numbers, got {first.aval.str_short()}")
    return first, second


@fused("arctan2")
def _arctan2(x: ArrayLike, y: ArrayLike) -> Value:
    return atan2_p.bind(*align_inexact("arctan2", x, y))


arctan2 = public_form(
    "arctan2",
    _arctan2,
    "The angle of a point to the first axis, in (-π, π], by its second and first coordinate; they may be complex.",
    _example("arctan2", "0, 1", "0."),
)
atan2 = arctan2

# --- sinc, and the modified Bessel function ---

_SINC_SERIES = tuple([(-1) ** k / math.factorial(2 * k + 1) for k in range(10, -1, -1)])
_SINC_NEAR = 0.5


def _sinc(x: Value) -> Value:
    (made,) = promote_inexact("sinc", x)
    if is_complex(made):
        return _sinc_quotient(mul_p.bind(made, literal_like(made, math.pi)))
    # By the inverse, so that no derivative has a square that overflows. The angle of the sine is that of the rest
    # after the nearest even number, which is exact; whole numbers, as all large ones are, have a sine of 0.
    turn, half = literal_like(made, 2), literal_like(made, 0.5)
    size = abs_p.bind(made)
    near = lt_p.bind(size, literal_like(made, _SINC_NEAR))
    endless = eq_p.bind(size, literal_like(made, math.inf))
    one = literal_like(made, 1)
    outer = select(or_p.bind(near, endless), one, made)
    whole = mul_p.bind(turn, round_p.bind(mul_p.bind(outer, half), rounding_method=RoundingMethod.TO_NEAREST_EVEN))
    sine = sin_p.bind(mul_p.bind(sub_p.bind(outer, whole), literal_like(made, math.pi)))
    far = mul_p.bind(mul_p.bind(sine, literal_like(made, 1 / math.pi)), div_p.bind(one, outer))
    angle = mul_p.bind(select(near, made, literal_like(made, 0)), literal_like(made, math.pi))
    return select(endless, literal_like(made, 0), select(near, _sinc_series(angle), far))


def _sinc_quotient(angle: Array) -> Array:
    at_zero = eq_p.bind(angle, literal_like(angle, 0))
    safe = select(at_zero, literal_like(angle, 1), angle)
    return select(at_zero, _sinc_series(angle), div_p.bind(sin_p.bind(safe), safe))


def _sinc_series(angle: Value) -> Value:
    """sin(a) / a as a polynomial, for |a| up to 1.6."""
    return _power_series(square_p.bind(angle), _SINC_SERIES)


sinc = unary("sinc", _sinc, "sin(πx) / (πx), and 1 at 0.", _FLOATS, _example("sinc", "0", "1."), fuse=1)


def _i0(x: Value) -> Value:
    (made,) = promote_inexact("i0", x)
    if is_complex(made):
        raise TypeError(f"i0 does not accept complex numbers, got {made.aval.str_short()}")
    size = abs_p.bind(made)
    # Beyond what the exponential has, all derivatives are infinite: a product with the scaled function's would be NaN.
    beyond = gt_p.bind(size, literal_like(made, math.log(float(dtypes.finfo(made.aval.dtype).max))))
    near = lt_p.bind(size, literal_like(made, 1))
    middle = select(or_p.bind(beyond, near), literal_like(made, 2), made)
    scaled = mul_p.bind(exp_p.bind(abs_p.bind(middle)), bessel_i0e_p.bind(middle))
    half = mul_p.bind(select(near, made, literal_like(made, 0)), literal_like(made, 0.5))
    result = select(near, _power_series(square_p.bind(half), _I0_SERIES), scaled)
    return select(beyond, exp_p.bind(size), result)


# I₀(x) = Σ (x / 2)²ᵏ / k!² (DLMF 10.25.2), the highest power first.
_I0_SERIES = tuple([1 / math.factorial(k) ** 2 for k in range(8, -1, -1)])


def _power_series(x: Value, coefficients: tuple[float, ...]) -> Value:
    total = literal_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = add_p.bind(mul_p.bind(total, x), literal_like(x, coefficient))
    return total


i0 = unary(
    "i0", _i0, "The modified Bessel function of the first kind, order 0.", _FLOATS, _example("i0", "0", "1."), fuse=1
)

# --- two operands ---


@fused("hypot", family=numerical.name)
def _hypot(x: ArrayLike, y: ArrayLike) -> Value:
    """Scaled by the greater one, lest its square overflow."""
    first, second = of_known_type((x, y), _real_pair("hypot", x, y))
    sizes = [abs_p.bind(first), abs_p.bind(second)]
    infinity, zero, one = [literal_like(first, number) for number in (math.inf, 0, 1)]
    endless = [eq_p.bind(size, infinity) for size in sizes]
    either_infinite = or_p.bind(*endless)
    large = max_p.bind(*sizes)
    trivial = or_p.bind(eq_p.bind(large, zero), either_infinite)
    # The scale, whose inverse is no subnormal number, is held fixed in derivatives: they have no part of it.
    quarter = literal_like(first, 0.25 * float(dtypes.finfo(first.aval.dtype).max))
    scale = stop_gradient_p.bind(select(trivial, one, min_p.bind(large, quarter)))
    parts = [div_p.bind(select(trivial, literal_like(value, 0), value), scale) for value in (first, second)]
    total = add_p.bind(square_p.bind(parts[0]), square_p.bind(parts[1]))
    length = mul_p.bind(scale, sqrt_p.bind(select(trivial, one, total)))
    of_zero = select(either_infinite, _infinite_length(sizes, endless), zero)
    return select(trivial, of_zero, length)


def _infinite_length(sizes: list[Value], endless: list[Value]) -> Value:
    """The sum of what is infinite, so that its derivative is the sign."""
    zero = literal_like(sizes[0], 0)
    return add_p.bind(*[select(mask, size, zero) for mask, size in zip(endless, sizes)])


hypot = public_form(
    "hypot", _hypot, "The length √(x² + y²) without overflow on the way; real numbers.", _example("hypot", "3, 4", "5.")
)


def _log_add_exp(
    name: str, exponential: Callable[..., object], log_of_one_plus: Callable[..., object], base: float
) -> Callable[[ArrayLike, ArrayLike], Array]:
    def general(x: ArrayLike, y: ArrayLike) -> Value:
        first, second = align_inexact(name, x, y)
        if base == 2 or is_complex(first):
            first, second = of_known_type((x, y), (first, second))
        if is_complex(first):
            return _complex_log_add_exp(first, second, base)
        difference = sub_p.bind(first, second)
        unknown = ne_p.bind(difference, difference)  # equal infinities, or a NaN: the sum is which
        safe = select(unknown, literal_like(difference, 0), difference)
        # Two formulas, each smooth to all orders, and neither sees what would overflow it.
        zero = literal_like(difference, 0)
        above = gt_p.bind(safe, zero)
        minus = neg_p.bind(select(above, safe, zero))
        upper = add_p.bind(first, log_of_one_plus(exponential(minus)))
        lower = add_p.bind(second, log_of_one_plus(exponential(select(above, zero, safe))))
        result = select(above, upper, lower)
        return select(unknown, add_p.bind(first, second), result)

    return fused_pair(name, general, family=numerical.name)


def _complex_log_add_exp(x: Value, y: Value, base: float) -> Value:
    unit = math.log(base)
    large, small = max_p.bind(x, y), min_p.bind(x, y)
    difference = sub_p.bind(small, large)
    if base == math.e:
        logarithm = log1p_p.bind(exp_p.bind(difference))
    else:
        power = exp_p.bind(mul_p.bind(difference, literal_like(x, unit)))
        logarithm = div_p.bind(log1p_p.bind(power), literal_like(x, unit))
    total = add_p.bind(large, logarithm)
    imaginary = imag_p.bind(total)
    # Into the principal branch of the logarithm, a turn around zero. Of large numbers a remainder is exact, where a
    # quotient would have no digits left.
    turn, half, zero = [literal_like(imaginary, number) for number in (2 * math.pi / unit, math.pi / unit, 0)]
    rest = rem_p.bind(add_p.bind(imaginary, half), turn)
    rest = select(lt_p.bind(rest, zero), add_p.bind(rest, turn), rest)
    return complex_p.bind(real_p.bind(total), sub_p.bind(rest, half))


def _log2_of_one_plus(x: Value) -> Value:
    return div_p.bind(log1p_p.bind(x), literal_like(x, math.log(2)))


_logaddexp = _log_add_exp("logaddexp", exp_p.bind, log1p_p.bind, math.e)
_logaddexp2 = _log_add_exp("logaddexp2", exp2_p.bind, _log2_of_one_plus, 2)
logaddexp = public_form(
    "logaddexp",
    _logaddexp,
    "log(exp(x) + exp(y)) without overflow on the way.",
    _example("logaddexp", "-numpy.inf, 0", "0.").replace("tangrad.numpy", "import numpy\n>>> tangrad.numpy"),
)
logaddexp2 = public_form(
    "logaddexp2",
    _logaddexp2,
    "log2(2**x + 2**y) without overflow on the way.",
    _example("logaddexp2", "2, 2", "3."),
)
