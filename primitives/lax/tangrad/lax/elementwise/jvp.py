"""How the elementwise primitives act on tangents: one line each, in the order of `primitives.py`.

A derivative is written `(tangent, answer, *primals)` and is linear in the tangent. What multiplies the tangent is made
of primals alone, so it is computed once, and each tangent costs one multiplication.
"""

from __future__ import annotations

import math
from typing import Any

from tangrad.autodiff import Zero, elementwise_jvp, instantiate, linear_jvp, symbolic_zeros, zero_jvp
from tangrad.autodiff.zeros import has_tangent
from tangrad.core import RuleSet, literal
from tangrad.lax.checks import COMPLEX, INTEGER, is_kind
from tangrad.lax.elementwise.primitives import (
    abs_p,
    acos_p,
    acosh_p,
    add_p,
    and_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    bitcast_convert_type_p,
    cbrt_p,
    ceil_p,
    clamp_p,
    clz_p,
    complex_p,
    conj_p,
    convert_element_type_p,
    cos_p,
    cosh_p,
    div_p,
    eq_p,
    eq_to_p,
    exp2_p,
    exp_p,
    expm1_p,
    floor_p,
    ge_p,
    gt_p,
    imag_p,
    integer_pow_p,
    is_finite_p,
    le_p,
    le_to_p,
    log1p_p,
    log_p,
    logistic_p,
    lt_p,
    lt_to_p,
    max_p,
    min_p,
    mul_p,
    mulhi_p,
    ne_p,
    neg_p,
    nextafter_p,
    not_p,
    or_p,
    population_count_p,
    pow_p,
    real_p,
    reduce_precision_p,
    rem_p,
    round_p,
    rsqrt_p,
    select_n_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    sign_p,
    sin_p,
    sinh_p,
    sqrt_p,
    square_p,
    sub_p,
    tan_p,
    tanh_p,
    xor_p,
)

jvp = RuleSet("jvp", api=1)

# Short names, because the table below is read as mathematics.
add, sub, mul, div, neg, square = add_p.bind, sub_p.bind, mul_p.bind, div_p.bind, neg_p.bind, square_p.bind


def number(value: Any, like: Any) -> Any:
    """A constant of the dtype of `like`; weakly typed, so that it leaves the type of a product alone."""
    return literal(value, like.aval.dtype, True)


def scaled(value: float, x: Any) -> Any:
    """A constant times x."""
    return mul(number(value, x), x)


def plus(value: float, x: Any) -> Any:
    """A constant plus x."""
    return add(number(value, x), x)


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y; either may be a Python number."""
    if isinstance(x, (int, float)):
        x = number(x, y)
    elif isinstance(y, (int, float)):
        y = number(y, x)
    return select_n_p.bind(condition, y, x)


def one_minus_square(x: Any) -> Any:
    """1 - x², as a product: accurate where x is near 1."""
    one = number(1, x)
    return mul(sub(one, x), add(one, x))


# --- signs and rounding --------------------------------------------------------------------------------------------

linear_jvp(jvp, neg_p)
zero_jvp(jvp, floor_p, ceil_p, round_p, is_finite_p)


def _abs(tangent: Any, answer: Any, x: Any) -> Any:
    if not is_kind(x.aval.dtype, (COMPLEX,)):
        return mul(tangent, where(ge_p.bind(x, number(0, x)), number(1, x), -1))  # 1 at 0
    # The projection on the direction of x; 0 where x is.
    size = where(eq_p.bind(answer, number(0, answer)), 1, answer)
    direction = div(conj_p.bind(x), convert_element_type_p.bind(size, new_dtype=x.aval.dtype, weak_type=True))
    return real_p.bind(mul(tangent, direction))


elementwise_jvp(jvp, abs_p, _abs)


@jvp.rule(sign_p)
@symbolic_zeros
def _sign(primals: Any, tangents: Any) -> Any:
    (x,), (tangent,) = primals, tangents
    answer = sign_p.bind(x)
    if not is_kind(x.aval.dtype, (COMPLEX,)):
        return answer, Zero.of(answer)
    # What is left of the tangent across the direction of x, divided by |x|: (t - s Re(s̄ t)) / |x|; 0 at 0.
    dtype = x.aval.dtype
    along = real_p.bind(mul(tangent, conj_p.bind(answer)))
    across = sub(tangent, mul(answer, convert_element_type_p.bind(along, new_dtype=dtype, weak_type=True)))
    size = abs_p.bind(x)
    inverse = where(eq_p.bind(size, number(0, size)), 0, div(number(1, size), size))
    return answer, mul(across, convert_element_type_p.bind(inverse, new_dtype=dtype, weak_type=True))


# --- functions of one variable -------------------------------------------------------------------------------------

for primitive, derivative in {
    exp_p: lambda t, ans, x: mul(t, ans),
    exp2_p: lambda t, ans, x: mul(t, scaled(math.log(2), ans)),
    log_p: lambda t, ans, x: div(t, x),
    expm1_p: lambda t, ans, x: mul(t, plus(1, ans)),
    log1p_p: lambda t, ans, x: div(t, plus(1, x)),
    logistic_p: lambda t, ans, x: mul(t, mul(ans, sub(number(1, ans), ans))),
    sqrt_p: lambda t, ans, x: mul(t, div(number(0.5, ans), ans)),
    rsqrt_p: lambda t, ans, x: mul(t, scaled(-0.5, div(ans, x))),
    cbrt_p: lambda t, ans, x: mul(t, scaled(1 / 3, integer_pow_p.bind(ans, y=-2))),
    square_p: lambda t, ans, x: mul(t, scaled(2, x)),
    sin_p: lambda t, ans, x: mul(t, cos_p.bind(x)),
    cos_p: lambda t, ans, x: mul(t, neg(sin_p.bind(x))),
    tan_p: lambda t, ans, x: mul(t, plus(1, square(ans))),
    asin_p: lambda t, ans, x: mul(t, rsqrt_p.bind(one_minus_square(x))),
    acos_p: lambda t, ans, x: mul(t, neg(rsqrt_p.bind(one_minus_square(x)))),
    atan_p: lambda t, ans, x: div(t, plus(1, square(x))),
    sinh_p: lambda t, ans, x: mul(t, cosh_p.bind(x)),
    cosh_p: lambda t, ans, x: mul(t, sinh_p.bind(x)),
    tanh_p: lambda t, ans, x: mul(t, one_minus_square(ans)),
    asinh_p: lambda t, ans, x: mul(t, rsqrt_p.bind(plus(1, square(x)))),
    # Two roots, not the root of a product: they differ in sign for complex x with a negative real part.
    acosh_p: lambda t, ans, x: mul(t, mul(rsqrt_p.bind(plus(-1, x)), rsqrt_p.bind(plus(1, x)))),
    atanh_p: lambda t, ans, x: div(t, one_minus_square(x)),
}.items():
    elementwise_jvp(jvp, primitive, derivative)


@jvp.rule(integer_pow_p)
@symbolic_zeros
def _integer_pow(primals: Any, tangents: Any, *, y: int) -> Any:
    (x,), (tangent,) = primals, tangents
    answer = integer_pow_p.bind(x, y=y)
    if y == 0:
        return answer, Zero.of(answer)
    if y == 1:
        return answer, tangent
    rest = x if y == 2 else integer_pow_p.bind(x, y=y - 1)
    return answer, mul(tangent, scaled(y, rest))


# --- complex parts -------------------------------------------------------------------------------------------------

linear_jvp(jvp, real_p, imag_p, conj_p)
elementwise_jvp(
    jvp,
    complex_p,
    lambda t, ans, x, y: complex_p.bind(t, number(0, t)),
    lambda t, ans, x, y: complex_p.bind(number(0, t), t),
)

# --- arithmetic ----------------------------------------------------------------------------------------------------

elementwise_jvp(jvp, add_p, lambda t, ans, x, y: t, lambda t, ans, x, y: t)
elementwise_jvp(jvp, sub_p, lambda t, ans, x, y: t, lambda t, ans, x, y: neg(t))
elementwise_jvp(jvp, mul_p, lambda t, ans, x, y: mul(t, y), lambda t, ans, x, y: mul(x, t))
elementwise_jvp(jvp, div_p, lambda t, ans, x, y: div(t, y), lambda t, ans, x, y: mul(t, neg(div(ans, y))))
elementwise_jvp(jvp, rem_p, lambda t, ans, x, y: t, lambda t, ans, x, y: mul(t, _minus_quotient(x, y)))
zero_jvp(jvp, mulhi_p)
jvp.not_applicable("a step to the neighbouring number has no derivative of use", nextafter_p)


def _minus_quotient(x: Any, y: Any) -> Any:
    quotient = div(x, y)
    return neg(mul(sign_p.bind(quotient), floor_p.bind(abs_p.bind(quotient))))


def _share(x: Any, answer: Any, other: Any) -> Any:
    """How much of a maximum or minimum is owed to x: 1, or 0, or a half where both are equal."""
    tied = where(eq_p.bind(other, answer), number(0.5, answer), number(1, answer))
    return where(eq_p.bind(x, answer), tied, 0)


for primitive in (max_p, min_p):
    elementwise_jvp(
        jvp,
        primitive,
        lambda t, ans, x, y: mul(t, _share(x, ans, y)),
        lambda t, ans, x, y: mul(t, _share(y, ans, x)),
    )

elementwise_jvp(
    jvp,
    atan2_p,
    lambda t, ans, x, y: mul(t, div(y, add(square(x), square(y)))),
    lambda t, ans, x, y: mul(t, neg(div(x, add(square(x), square(y))))),
)


def _pow_by_base(tangent: Any, answer: Any, x: Any, y: Any) -> Any:
    zero_exponent = eq_p.bind(y, number(0, y))
    if is_kind(y.aval.dtype, (INTEGER,)):
        # The exponent 1 in place of 0 keeps y - 1 from wrapping in unsigned dtypes.
        exponent = sub(where(zero_exponent, 1, y), number(1, y))
        factor = convert_element_type_p.bind(y, new_dtype=x.aval.dtype, weak_type=True)
    else:
        exponent, factor = sub(where(zero_exponent, 1, y), number(1, y)), y
    return mul(tangent, mul(factor, pow_p.bind(x, exponent)))


def _pow_by_exponent(tangent: Any, answer: Any, x: Any, y: Any) -> Any:
    # At x = 0 the power is constant in y > 0, so the logarithm must not turn it into NaN.
    at_zero = eq_p.bind(x, number(0, x))
    return mul(tangent, mul(log_p.bind(where(at_zero, 1, x)), answer))


elementwise_jvp(jvp, pow_p, _pow_by_base, _pow_by_exponent)

# --- bits and comparisons ------------------------------------------------------------------------------------------

zero_jvp(jvp, not_p, and_p, or_p, xor_p, population_count_p, clz_p)
zero_jvp(jvp, shift_left_p, shift_right_logical_p, shift_right_arithmetic_p)
zero_jvp(jvp, eq_p, ne_p, lt_p, le_p, gt_p, ge_p, eq_to_p, lt_to_p, le_to_p)

# --- selection -----------------------------------------------------------------------------------------------------


@jvp.rule(select_n_p)
@symbolic_zeros
def _select_n(primals: Any, tangents: Any) -> Any:
    which, *cases = primals
    answer = select_n_p.bind(which, *cases)
    if not has_tangent(answer.aval.dtype):
        return answer, Zero.of(answer)
    parts = [number(0, case) if type(t) is Zero else t for case, t in zip(cases, tangents[1:], strict=True)]
    if all(type(t) is Zero for t in tangents[1:]):
        return answer, Zero.of(answer)
    tangent = select_n_p.bind(which, *parts)
    if tangent.aval.shape != answer.aval.shape:  # only scalar cases have tangents
        tangent = select_n_p.bind(which, *[instantiate(t) for t in tangents[1:]])
    return answer, tangent


elementwise_jvp(
    jvp,
    clamp_p,
    lambda t, ans, low, x, high: where(and_p.bind(gt_p.bind(low, x), lt_p.bind(low, high)), t, 0),
    lambda t, ans, low, x, high: where(and_p.bind(gt_p.bind(x, low), lt_p.bind(x, high)), t, 0),
    lambda t, ans, low, x, high: where(gt_p.bind(x, high), t, 0),
)

# --- conversions ---------------------------------------------------------------------------------------------------

zero_jvp(jvp, bitcast_convert_type_p)
linear_jvp(jvp, reduce_precision_p)


@jvp.rule(convert_element_type_p)
@symbolic_zeros
def _convert_element_type(primals: Any, tangents: Any, *, new_dtype: Any, weak_type: bool) -> Any:
    answer = convert_element_type_p.bind(primals[0], new_dtype=new_dtype, weak_type=weak_type)
    if type(tangents[0]) is Zero or not has_tangent(new_dtype):
        return answer, Zero.of(answer)
    return answer, convert_element_type_p.bind(tangents[0], new_dtype=new_dtype, weak_type=weak_type)
