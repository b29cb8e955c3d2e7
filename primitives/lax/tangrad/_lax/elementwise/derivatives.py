"""How the elementwise primitives act on tangents, and how those that are linear map cotangents back.

One line each, in the order of `primitives.py`. A derivative is written `(tangent, answer, *primals)` and is linear in
the tangent. What multiplies the tangent is made of primals alone, so it is computed once, and each tangent costs one
multiplication.
"""

from __future__ import annotations

import math
from typing import Any

from tangrad._lax.checks import COMPLEX, INTEGER, is_kind
from tangrad._lax.elementwise import primitives as p
from tangrad.autodiff import (
    Linear,
    Zero,
    elementwise_jvp,
    has_tangent,
    instantiate,
    is_linear,
    linear_jvp,
    linear_transpose_rule,
    symbolic_zeros,
    unbroadcast,
    zero_jvp,
)
from tangrad.core import Array, RuleSet, ShapedArray, dtypes, literal
from tangrad.typing import DType, Value, Values

jvp = RuleSet("jvp", api=1)

FLOAT32 = dtypes.as_dtype("float32")

# Short names, because the table below is read as mathematics.
add, sub, mul, div, neg, square = p.add_p.bind, p.sub_p.bind, p.mul_p.bind, p.div_p.bind, p.neg_p.bind, p.square_p.bind


def number(value: float, like: Any) -> Value:
    """A constant of the dtype of `like`; weakly typed, so that it leaves the type of a product alone."""
    return literal(value, like.aval.dtype, True)


def scaled(value: float, x: Value) -> Value:
    """A constant times x."""
    return mul(number(value, x), x)


def plus(value: float, x: Value) -> Array:
    """A constant plus x."""
    return add(number(value, x), x)


def where(condition: Value, x: Value | float, y: Value | float) -> Array:
    """x where the condition holds, else y; either may be a Python number."""
    if isinstance(x, (int, float)):
        x = number(x, y)
    elif isinstance(y, (int, float)):
        y = number(y, x)
    return p.select_n_p.bind(condition, y, x)


def one_minus_square(x: Value) -> Array:
    """1 - x²: as a product where x is near 1, as a difference near 0, so that its derivatives are as accurate."""
    one = number(1, x)
    near_zero = p.lt_p.bind(p.abs_p.bind(x), number(0.5, p.abs_p.bind(x)))
    return where(near_zero, sub(one, square(x)), mul(add(one, x), sub(one, x)))


def less_and_more(x: Value) -> tuple[Array, Array]:
    """1 - x and 1 + x of complex x, with the sign of a zero imaginary part: the side of a cut that x is on."""
    return neg(sub(x, number(1, x))), sub(x, number(-1, x))


def inverse_of_one_minus_square(x: Value) -> Value:
    """1 / (1 - x²) of complex x as a product, whose factors do not overflow."""
    one = number(1, x)
    less, more = less_and_more(x)
    return mul(div(one, less), div(one, more))


def inverse_root_of_one_minus_square(x: Value) -> Value:
    """1 / √(1 - x²), of complex x likewise."""
    if not is_kind(x.aval.dtype, (COMPLEX,)):
        return p.rsqrt_p.bind(one_minus_square(x))
    less, more = less_and_more(x)
    return mul(p.rsqrt_p.bind(less), p.rsqrt_p.bind(more))


def times_i(x: Value) -> Array:
    """i x, by its parts."""
    return p.complex_p.bind(neg(p.imag_p.bind(x)), p.real_p.bind(x))


def reciprocal_of_large(x: Value) -> tuple[Array, Array]:
    """Where |x| > 1, and 1 / x there: in it far away derivatives have no squares that overflow. 1 elsewhere."""
    size = p.abs_p.bind(x)
    large = p.gt_p.bind(size, number(1, size))
    return large, div(number(1, x), where(large, x, 1))


def inverse_of_one_plus_square(x: Value) -> Value:
    """1 / (1 + x²)."""
    if is_kind(x.aval.dtype, (COMPLEX,)):
        return inverse_of_one_minus_square(times_i(x))
    large, inverse = reciprocal_of_large(x)
    near = where(large, inverse, x)
    result = div(number(1, x), plus(1, square(near)))
    return where(large, mul(square(inverse), result), result)


def inverse_root_of_one_plus_square(x: Value) -> Value:
    """1 / √(1 + x²)."""
    if is_kind(x.aval.dtype, (COMPLEX,)):
        return inverse_root_of_one_minus_square(times_i(x))
    large, inverse = reciprocal_of_large(x)
    result = p.rsqrt_p.bind(plus(1, square(where(large, inverse, x))))
    return where(large, mul(p.abs_p.bind(inverse), result), result)


def tanh_slope(answer: Value) -> Array:
    """1 - tanh². Far out, where tanh rounds to 1, an exponential would be exact, and cost as much as tanh itself."""
    return mul(plus(1, answer), sub(number(1, answer), answer))


# --- signs and rounding ---

linear_jvp(jvp, p.neg_p)
zero_jvp(jvp, p.floor_p, p.ceil_p, p.round_p, p.is_finite_p)


def _abs(tangent: Value, answer: Value, x: Value) -> Array:
    if not is_kind(x.aval.dtype, (COMPLEX,)):
        return mul(tangent, where(p.ge_p.bind(x, number(0, x)), number(1, x), -1))  # 1 at 0
    # The projection on the direction of x; 0 where x is.
    size = where(p.eq_p.bind(answer, number(0, answer)), 1, answer)
    direction = div(p.conj_p.bind(x), p.convert_element_type_p.bind(size, new_dtype=x.aval.dtype, weak_type=True))
    return p.real_p.bind(mul(tangent, direction))


elementwise_jvp(jvp, p.abs_p, _abs)


@jvp.rule(p.sign_p)
@symbolic_zeros
def _sign(primals: Values, tangents: tuple[Value | Zero, ...]) -> tuple[Value, Value | Zero]:
    (x,), (tangent,) = primals, tangents
    answer = p.sign_p.bind(x)
    if not is_kind(x.aval.dtype, (COMPLEX,)):
        return answer, Zero.of(answer)
    # What is left of the tangent across the direction of x, divided by |x|: (t - s Re(s̄ t)) / |x|; 0 at 0.
    dtype = x.aval.dtype
    along = p.real_p.bind(mul(tangent, p.conj_p.bind(answer)))
    across = sub(tangent, mul(answer, p.convert_element_type_p.bind(along, new_dtype=dtype, weak_type=True)))
    size = p.abs_p.bind(x)
    inverse = where(p.eq_p.bind(size, number(0, size)), 0, div(number(1, size), size))
    return answer, mul(across, p.convert_element_type_p.bind(inverse, new_dtype=dtype, weak_type=True))


# --- functions of one variable ---


def _atanh(tangent: object, answer: object, x: Value) -> object:
    if is_kind(x.aval.dtype, (COMPLEX,)):
        return mul(tangent, inverse_of_one_minus_square(x))
    return div(tangent, one_minus_square(x))


for primitive, derivative in {
    p.exp_p: lambda t, ans, x: mul(t, ans),
    p.exp2_p: lambda t, ans, x: mul(t, scaled(math.log(2), ans)),
    p.log_p: lambda t, ans, x: div(t, x),
    p.log2_p: lambda t, ans, x: div(scaled(1 / math.log(2), t), x),
    p.log10_p: lambda t, ans, x: div(scaled(1 / math.log(10), t), x),
    p.expm1_p: lambda t, ans, x: mul(t, p.exp_p.bind(x)),
    p.log1p_p: lambda t, ans, x: div(t, plus(1, x)),
    p.logistic_p: lambda t, ans, x: mul(t, mul(ans, p.logistic_p.bind(neg(x)))),
    p.sqrt_p: lambda t, ans, x: mul(t, div(number(0.5, ans), ans)),
    p.rsqrt_p: lambda t, ans, x: mul(t, scaled(-0.5, div(ans, x))),
    p.cbrt_p: lambda t, ans, x: mul(t, scaled(1 / 3, p.integer_pow_p.bind(ans, y=-2))),
    p.square_p: lambda t, ans, x: mul(t, scaled(2, x)),
    p.sin_p: lambda t, ans, x: mul(t, p.cos_p.bind(x)),
    p.cos_p: lambda t, ans, x: mul(t, neg(p.sin_p.bind(x))),
    p.tan_p: lambda t, ans, x: mul(t, plus(1, square(ans))),
    p.asin_p: lambda t, ans, x: mul(t, inverse_root_of_one_minus_square(x)),
    p.acos_p: lambda t, ans, x: mul(t, neg(inverse_root_of_one_minus_square(x))),
    p.atan_p: lambda t, ans, x: mul(t, inverse_of_one_plus_square(x)),
    p.sinh_p: lambda t, ans, x: mul(t, p.cosh_p.bind(x)),
    p.cosh_p: lambda t, ans, x: mul(t, p.sinh_p.bind(x)),
    p.tanh_p: lambda t, ans, x: mul(t, tanh_slope(ans)),
    p.asinh_p: lambda t, ans, x: mul(t, inverse_root_of_one_plus_square(x)),
    # Two roots, not the root of a product: they differ in sign for complex x with a negative real part.
    p.acosh_p: lambda t, ans, x: mul(t, mul(*[p.rsqrt_p.bind(sub(x, number(side, x))) for side in (1, -1)])),
    p.atanh_p: _atanh,
}.items():
    elementwise_jvp(jvp, primitive, derivative)


@jvp.rule(p.integer_pow_p)
@symbolic_zeros
def _integer_pow(primals: Values, tangents: tuple[Value | Zero, ...], *, y: int) -> tuple[Value, Value | Zero]:
    (x,), (tangent,) = primals, tangents
    answer = p.integer_pow_p.bind(x, y=y)
    if y == 0:
        return answer, Zero.of(answer)
    if y == 1:
        return answer, tangent
    rest = x if y == 2 else p.integer_pow_p.bind(x, y=y - 1)
    return answer, mul(tangent, scaled(y, rest))


# --- complex parts ---

linear_jvp(jvp, p.real_p, p.imag_p, p.conj_p)
elementwise_jvp(
    jvp,
    p.complex_p,
    lambda t, ans, x, y: p.complex_p.bind(t, number(0, t)),
    lambda t, ans, x, y: p.complex_p.bind(number(0, t), t),
)

# --- arithmetic ---

elementwise_jvp(jvp, p.add_p, lambda t, ans, x, y: t, lambda t, ans, x, y: t)
elementwise_jvp(jvp, p.sub_p, lambda t, ans, x, y: t, lambda t, ans, x, y: neg(t))
elementwise_jvp(jvp, p.mul_p, lambda t, ans, x, y: mul(t, y), lambda t, ans, x, y: mul(x, t))
elementwise_jvp(jvp, p.div_p, lambda t, ans, x, y: div(t, y), lambda t, ans, x, y: mul(t, neg(div(ans, y))))
elementwise_jvp(jvp, p.rem_p, lambda t, ans, x, y: t, lambda t, ans, x, y: mul(t, _minus_quotient(x, y)))
zero_jvp(jvp, p.mulhi_p)
jvp.not_applicable("a step to the neighbouring number has no derivative of use", p.nextafter_p)


def _minus_quotient(x: Value, y: Value) -> Value:
    quotient = div(x, y)
    return neg(mul(p.sign_p.bind(quotient), p.floor_p.bind(p.abs_p.bind(quotient))))


def _share(x: Value, answer: Value, other: Value) -> Array:
    """How much of a maximum or minimum is owed to x: 1, or 0, or a half where both are equal."""
    tied = where(p.eq_p.bind(other, answer), number(0.5, answer), number(1, answer))
    return where(p.eq_p.bind(x, answer), tied, 0)


for primitive in (p.max_p, p.min_p):
    elementwise_jvp(
        jvp,
        primitive,
        lambda t, ans, x, y: mul(t, _share(x, ans, y)),
        lambda t, ans, x, y: mul(t, _share(y, ans, x)),
    )


def _over_square(x: Value, y: Value) -> Array:
    """x / (x² + y²), by quotients with the greater of both: no square overflows or underflows; 0 at 0, 0."""
    size, other = p.abs_p.bind(x), p.abs_p.bind(y)
    x_greater = p.gt_p.bind(size, other)
    one = number(1, x)
    # What stands in the branch that is not taken is 0 / 1, as at 0, 0: nothing there may be infinite.
    by_x = where(x_greater, x, 1)
    by_y = where(p.or_p.bind(x_greater, p.eq_p.bind(other, number(0, other))), 1, y)
    flat, steep = div(where(x_greater, y, 0), by_x), div(where(x_greater, 0, x), by_y)
    result = div(div(one, plus(1, square(flat))), by_x)
    return where(x_greater, result, div(div(steep, plus(1, square(steep))), by_y))


elementwise_jvp(
    jvp,
    p.atan2_p,
    lambda t, ans, x, y: mul(t, _over_square(y, x)),
    lambda t, ans, x, y: mul(t, neg(_over_square(x, y))),
)


def _pow_by_base(tangent: object, answer: object, x: Value, y: Value) -> Array:
    factor = power = y
    if is_kind(y.aval.dtype, (INTEGER,)):
        # As a float: the least integer minus 1 would wrap.
        factor = _as_weak(y, x.aval.dtype)
        power = _as_weak(y, dtypes.promote_types(dtypes.to_floating_dtype(x.aval.dtype), FLOAT32))
    zero_exponent = p.eq_p.bind(power, number(0, power))
    exponent = _as_weak(sub(where(zero_exponent, 1, power), number(1, power)), x.aval.dtype)
    usual = mul(factor, p.pow_p.bind(x, exponent))
    return mul(tangent, where(zero_exponent, _slope_at_zero_exponent(factor, x, zero_exponent), usual))


def _slope_at_zero_exponent(factor: object, x: Value, chosen: Value) -> Array:
    """y xʸ⁻¹ at y = 0, as (y / x) (1 + y log|x|): 0, of 0 and NaN as well, with the derivatives by y.

    Where it is not chosen, its derivatives are finite, or they would make NaN of the others. So it has no power in it.
    """
    absolute = p.abs_p.bind(x)
    usable = p.and_p.bind(chosen, p.gt_p.bind(absolute, number(0, absolute)))
    known = where(usable, x, 1)
    size = known
    if not is_kind(x.aval.dtype, (COMPLEX,)):  # finite: 0 · log ∞ would be NaN
        size = p.min_p.bind(p.abs_p.bind(known), number(dtypes.finfo(x.aval.dtype).max, x))
    return mul(div(factor, known), plus(1, mul(factor, p.log_p.bind(size))))


def _as_weak(x: Value, dtype: DType) -> Value:
    if x.aval.dtype is dtype:
        return x
    return p.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=True)


def _pow_by_exponent(tangent: Value, answer: Value, x: Value, y: Value) -> Array:
    # At x = 0 the power is constant in y > 0, so the logarithm must not turn it into NaN; for y < 0 both are infinite.
    real = p.real_p.bind(y) if is_kind(y.aval.dtype, (COMPLEX,)) else y
    constant = p.and_p.bind(p.eq_p.bind(x, number(0, x)), p.ge_p.bind(real, number(0, real)))
    return mul(tangent, mul(p.log_p.bind(where(constant, 1, x)), answer))


elementwise_jvp(jvp, p.pow_p, _pow_by_base, _pow_by_exponent)

# --- bits and comparisons ---

zero_jvp(jvp, p.not_p, p.and_p, p.or_p, p.xor_p, p.population_count_p, p.clz_p)
zero_jvp(jvp, p.shift_left_p, p.shift_right_logical_p, p.shift_right_arithmetic_p)
zero_jvp(jvp, p.eq_p, p.ne_p, p.lt_p, p.le_p, p.gt_p, p.ge_p, p.eq_to_p, p.lt_to_p, p.le_to_p)

# --- selection ---


@jvp.rule(p.select_n_p)
@symbolic_zeros
def _select_n(primals: Values, tangents: tuple[Value | Zero, ...]) -> tuple[Value, Value | Zero]:
    which, *cases = primals
    answer = p.select_n_p.bind(which, *cases)
    if not has_tangent(answer.aval.dtype):
        return answer, Zero.of(answer)
    parts = [number(0, case) if type(t) is Zero else t for case, t in zip(cases, tangents[1:], strict=True)]
    if all(type(t) is Zero for t in tangents[1:]):
        return answer, Zero.of(answer)
    tangent = p.select_n_p.bind(which, *parts)
    if tangent.aval.shape != answer.aval.shape:  # only scalar cases have tangents
        tangent = p.select_n_p.bind(which, *[instantiate(t) for t in tangents[1:]])
    return answer, tangent


def _above(x: Value, y: Value) -> Array:
    """Whether x > y; of complex numbers, by their real parts, as `clamp` compares them."""
    if x.aval.dtype.kind == "c":
        x, y = p.real_p.bind(x), p.real_p.bind(y)
    return p.gt_p.bind(x, y)


elementwise_jvp(
    jvp,
    p.clamp_p,
    lambda t, ans, low, x, high: where(p.and_p.bind(_above(low, x), _above(high, low)), t, 0),
    lambda t, ans, low, x, high: where(p.and_p.bind(_above(x, low), _above(high, x)), t, 0),
    lambda t, ans, low, x, high: where(_above(x, high), t, 0),
)

# --- conversions ---

zero_jvp(jvp, p.bitcast_convert_type_p)
linear_jvp(jvp, p.reduce_precision_p)


@jvp.rule(p.convert_element_type_p)
@symbolic_zeros
def _convert_element_type(
    primals: Values, tangents: tuple[Value | Zero, ...], *, new_dtype: DType, weak_type: bool
) -> tuple[Value, Value | Zero]:
    answer = p.convert_element_type_p.bind(primals[0], new_dtype=new_dtype, weak_type=weak_type)
    if type(tangents[0]) is Zero or not has_tangent(new_dtype):
        return answer, Zero.of(answer)
    return answer, p.convert_element_type_p.bind(tangents[0], new_dtype=new_dtype, weak_type=weak_type)


# --- cotangents ---

transpose = RuleSet("transpose", api=1)


def _zero(like: Value) -> Value:
    return literal(0, like.aval.dtype, True)


def _back(ct: Value, aval: ShapedArray) -> Value:
    """`unbroadcast`, which is asked only where there is something to sum."""
    return ct if ct.aval.shape == aval.shape else unbroadcast(ct, aval)


# --- one operand ---

linear_transpose_rule(transpose, p.neg_p, lambda ct, x: p.neg_p.bind(ct))
linear_transpose_rule(transpose, p.real_p, lambda ct, x: p.complex_p.bind(ct, _zero(ct)))
linear_transpose_rule(transpose, p.imag_p, lambda ct, x: p.complex_p.bind(_zero(ct), p.neg_p.bind(ct)))
linear_transpose_rule(
    transpose, p.conj_p, lambda ct, x: p.conj_p.bind(ct) if is_kind(x.dtype, (COMPLEX,)) else p.real_p.bind(ct)
)
linear_transpose_rule(
    transpose,
    p.convert_element_type_p,
    lambda ct, x, **_: p.convert_element_type_p.bind(ct, new_dtype=x.dtype, weak_type=x.weak_type),
)
linear_transpose_rule(transpose, p.reduce_precision_p, lambda ct, x, **params: p.reduce_precision_p.bind(ct, **params))

# --- two operands ---


@transpose.rule(p.add_p)
def _add(ct: Value, x: Value | Linear, y: Value | Linear) -> tuple[Value | None, ...]:
    return unbroadcast(ct, x.aval) if is_linear(x) else None, unbroadcast(ct, y.aval) if is_linear(y) else None


@transpose.rule(p.sub_p)
def _sub(ct: Value, x: Value | Linear, y: Value | Linear) -> tuple[Value | None, ...]:
    return (
        unbroadcast(ct, x.aval) if is_linear(x) else None,
        p.neg_p.bind(unbroadcast(ct, y.aval)) if is_linear(y) else None,
    )


@transpose.rule(p.mul_p)
def _mul(ct: Value, x: Value | Linear, y: Value | Linear) -> tuple[Value | None, ...]:
    if type(x) is Linear:
        if type(y) is Linear:
            raise TypeError("mul: a product of two arguments is not linear in both, so it cannot be transposed")
        return _back(p.mul_p.bind(ct, y), x.aval), None
    return None, _back(p.mul_p.bind(x, ct), y.aval)


@transpose.rule(p.div_p)
def _div(ct: Value, x: Value | Linear, y: Value | Linear) -> tuple[Value | None, ...]:
    if is_linear(y):
        raise TypeError("div: a quotient is not linear in its denominator, so it cannot be transposed by it")
    return unbroadcast(p.div_p.bind(ct, y), x.aval), None


@transpose.rule(p.complex_p)
def _complex(ct: Value, x: Value | Linear, y: Value | Linear) -> tuple[Value | None, ...]:
    return (
        unbroadcast(p.real_p.bind(ct), x.aval) if is_linear(x) else None,
        unbroadcast(p.neg_p.bind(p.imag_p.bind(ct)), y.aval) if is_linear(y) else None,
    )


# --- selection ---


@transpose.rule(p.select_n_p)
def _select_n_transposed(ct: Value, which: Value | Linear, *cases: Value | Linear) -> tuple[Value | None, ...]:
    zero = _zero(ct)

    def part(position: int, case: Value | Linear) -> Value | None:
        if not is_linear(case):
            return None
        chosen = [ct if i == position else zero for i in range(len(cases))]
        if len(cases) == 1:
            return unbroadcast(ct, case.aval)
        return unbroadcast(p.select_n_p.bind(which, *chosen), case.aval)

    return (None, *[part(position, case) for position, case in enumerate(cases)])


transpose.not_applicable(
    "it is not linear", *[each for each in p.elementwise.primitives.values() if each not in transpose.rules]
)
