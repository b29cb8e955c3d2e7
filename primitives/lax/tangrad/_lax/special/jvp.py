"""How the special functions act on tangents: one line each.

Where a derivative with respect to some parameter is not known in closed form, asking for it is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import NoReturn

from tangrad._lax.elementwise import primitives as e
from tangrad._lax.elementwise.primitives import RoundingMethod
from tangrad._lax.special import primitives as p
from tangrad.autodiff import elementwise_jvp
from tangrad.core import Array, RuleSet, dtypes, literal
from tangrad.typing import ArrayLike, Value

jvp = RuleSet("jvp", api=1)

add, sub, mul, div, neg = e.add_p.bind, e.sub_p.bind, e.mul_p.bind, e.div_p.bind, e.neg_p.bind
exp, log, square = e.exp_p.bind, e.log_p.bind, e.square_p.bind


def number(value: float, like: Value) -> Value:
    """A constant of the dtype of `like`, weakly typed."""
    return literal(value, like.aval.dtype, True)


def scaled(value: float, x: Value) -> Array:
    """A constant times x."""
    return mul(number(value, x), x)


def select(condition: Value, x: Value, y: ArrayLike) -> Array:
    """x where the condition holds, else y, which may be a number."""
    return e.select_n_p.bind(condition, number(y, x) if isinstance(y, (int, float)) else y, x)


def select_not(condition: Value, x: Value, safe: float = 1) -> Array:
    """x where the condition does not hold, elsewhere a number, of which nothing is infinite."""
    return e.select_n_p.bind(condition, x, number(safe, x))


def product(*terms: Value) -> Value:
    return reduce(mul, terms)


def unknown(name: str, argument: str) -> Callable[..., NoReturn]:
    """The derivative that is not implemented: an error."""

    def derivative(*_: object) -> NoReturn:
        raise NotImplementedError(f"{name} has no derivative with respect to {argument}; stop_gradient holds it fixed")

    return derivative


# --- error functions ---

_DENSITY = 2 / math.sqrt(math.pi)


def _bell(x: Value) -> Array:
    """exp(-x²), whose derivatives stay 0 where it is: far out x counts no more, else they had an infinite factor."""
    return exp(neg(square(e.clamp_p.bind(number(-40, x), x, number(40, x)))))


elementwise_jvp(jvp, p.erf_p, lambda t, ans, x: mul(t, scaled(_DENSITY, _bell(x))))
elementwise_jvp(jvp, p.erfc_p, lambda t, ans, x: mul(t, scaled(-_DENSITY, _bell(x))))
elementwise_jvp(jvp, p.erf_inv_p, lambda t, ans, x: mul(t, scaled(1 / _DENSITY, exp(square(ans)))))

# --- the gamma family ---


def _next(x: Value) -> Array:
    return add(x, number(1, x))


def _digamma(x: Value) -> Array:
    """The derivative of log Γ, with its pole at ±0, where the primitive has NaN."""
    at_zero = e.eq_p.bind(x, number(0, x))
    return select(at_zero, neg(div(number(1, x), select(at_zero, x, 1))), p.digamma_p.bind(select_not(at_zero, x)))


elementwise_jvp(jvp, p.lgamma_p, lambda t, ans, x: mul(t, _digamma(x)))


def _polygamma(order: Value, x: Value) -> Array:
    """A derivative of ψ, with the limit 0 at infinity, where the primitive has NaN."""
    endless = e.eq_p.bind(x, number(math.inf, x))
    return select_not(endless, p.polygamma_p.bind(order, select_not(endless, x)), 0)


def _trigamma(x: Value) -> Array:
    """The derivative of ψ: below 0 by its reflection (DLMF 5.15.6), and by 1 / x + 1 / 2x² where that is all."""
    enough = number(1e4 if x.aval.dtype.itemsize == 2 else 1e8, x)
    large, below = e.gt_p.bind(x, enough), e.lt_p.bind(x, number(0, x))
    one = number(1, x)
    outer, left = div(one, select(large, x, 1)), select(below, x, 0.5)
    whole = e.round_p.bind(left, rounding_method=RoundingMethod.TO_NEAREST_EVEN)
    sine = e.sin_p.bind(scaled(math.pi, sub(left, whole)))
    inner = p.polygamma_p.bind(one, select(below, sub(one, left), select_not(large, x)))
    reflected = sub(square(div(number(math.pi, x), sine)), inner)
    far = mul(outer, add(one, scaled(0.5, outer)))
    return select(large, far, select(below, reflected, inner))


elementwise_jvp(jvp, p.digamma_p, lambda t, ans, x: mul(t, _trigamma(x)))
elementwise_jvp(jvp, p.polygamma_p, unknown("polygamma", "m"), lambda t, ans, m, x: mul(t, _polygamma(_next(m), x)))
elementwise_jvp(
    jvp, p.zeta_p, unknown("zeta", "x"), lambda t, ans, x, q: mul(t, neg(mul(x, p.zeta_p.bind(_next(x), q))))
)


def _gamma_density(a: Value, x: Value) -> Array:
    """The derivative of igamma with respect to x: exp(-x) xᵃ⁻¹ / Γ(a); 0 at infinity."""
    power, at_zero, endless = sub(a, number(1, a)), e.eq_p.bind(x, number(0, x)), e.eq_p.bind(x, number(math.inf, x))
    inner = select_not(e.or_p.bind(at_zero, endless), x)
    density = exp(sub(sub(mul(power, log(inner)), inner), p.lgamma_p.bind(a)))
    # At 0 as a power, which is finite there with all derivatives that are.
    edge = select(at_zero, x, 1)
    at_edge = product(e.pow_p.bind(edge, power), exp(neg(edge)), exp(neg(p.lgamma_p.bind(a))))
    return select_not(endless, select(at_zero, at_edge, density), 0)


def _log_ratio(a: Value, x: Value) -> Array:
    """The derivative of the logarithm of the density with respect to a: log x - ψ(a)."""
    return sub(log(x), p.digamma_p.bind(a))


def _cross_density(a: Value, x: Value) -> Array:
    """The derivative of the density with respect to a, 0 where that is."""
    density = _gamma_density(a, x)
    none = e.eq_p.bind(density, number(0, density))
    return mul(density, _log_ratio(a, select_not(none, x)))


elementwise_jvp(
    jvp,
    p.igamma_p,
    lambda t, ans, a, x: mul(t, p.igamma_grad_a_p.bind(a, x)),
    lambda t, ans, a, x: mul(t, _gamma_density(a, x)),
)
elementwise_jvp(
    jvp,
    p.igammac_p,
    lambda t, ans, a, x: mul(t, neg(p.igamma_grad_a_p.bind(a, x))),
    lambda t, ans, a, x: mul(t, neg(_gamma_density(a, x))),
)
elementwise_jvp(
    jvp,
    p.igamma_grad_a_p,
    unknown("igamma_grad_a", "a"),
    lambda t, ans, a, x: mul(t, _cross_density(a, x)),
)


def _sample_gradient_by_sample(tangent: Value, answer: Value, a: Value, x: Value) -> Array:
    # r = -P_a / p gives r_x = -(p_a + r p_x) / p, and p_x / p = (a - 1) / x - 1.
    slope = sub(div(sub(a, number(1, a)), x), number(1, x))
    return mul(tangent, neg(add(_log_ratio(a, x), mul(answer, slope))))


elementwise_jvp(jvp, p.random_gamma_grad_p, unknown("random_gamma_grad", "a"), _sample_gradient_by_sample)


def _beta_density(tangent: Value, answer: Value, a: Value, b: Value, x: Value) -> Array:
    one = number(1, x)
    log_beta = sub(add(p.lgamma_p.bind(a), p.lgamma_p.bind(b)), p.lgamma_p.bind(add(a, b)))
    ordinary = e.is_finite_p.bind(log_beta)  # else all of the mass is at an end
    a, b, log_beta = select(ordinary, a, 1), select(ordinary, b, 1), select(ordinary, log_beta, 0)
    power, other = sub(a, one), sub(b, one)
    at_edge = e.or_p.bind(e.eq_p.bind(x, number(0, x)), e.eq_p.bind(x, one))
    inner, edge = select_not(at_edge, x, 0.5), select(at_edge, e.abs_p.bind(x), 0.5)
    powers = add(mul(other, e.log1p_p.bind(neg(inner))), mul(power, log(inner)))
    # At 0 and 1 as powers, which are finite there with all derivatives that are.
    at_ends = product(e.pow_p.bind(edge, power), e.pow_p.bind(sub(one, edge), other), exp(neg(log_beta)))
    density = select(at_edge, at_ends, exp(sub(powers, log_beta)))
    return mul(tangent, select(ordinary, density, 0))


elementwise_jvp(jvp, p.regularized_incomplete_beta_p, unknown("betainc", "a"), unknown("betainc", "b"), _beta_density)

# --- Bessel functions ---

# From here on by the series in 1 / |x| (DLMF 10.40.1), in which nothing cancels: both functions differ by little.
_FAR = 25.0
_TERMS = 22


def _far_coefficients(order: int) -> list[float]:
    """Those of √(2π|x|) exp(-|x|) I(|x|) in powers of 1 / |x|."""
    found = [1.0]
    for k in range(1, _TERMS + 1):
        found.append(found[-1] * ((2 * k - 1) ** 2 - 4 * order * order) / (8 * k))
    return found


def _far_slopes() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of the derivatives of both for x > 0, without the factor 1 / (√(2π) x √x): I₁ - I₀, and I₀ - I₁ - I₁ / x."""
    zeroth, first = _far_coefficients(0), _far_coefficients(1)
    of_zeroth = tuple([first[k] - zeroth[k] for k in range(1, _TERMS + 1)])
    return of_zeroth, tuple([-slope - first[k] for k, slope in enumerate(of_zeroth)])


_I0_SLOPE, _I1_SLOPE = _far_slopes()
# 2 I₁(x) / x in powers of x² / 4 (DLMF 10.25.2).
_I1_QUOTIENT = tuple([1 / (math.factorial(k) * math.factorial(k + 1)) for k in range(5, -1, -1)])


def _polynomial(x: Value, coefficients: tuple[float, ...]) -> Value:
    """By Horner's rule, the highest power first."""
    total = number(coefficients[0], x)
    for coefficient in coefficients[1:]:
        total = add(mul(total, x), number(coefficient, x))
    return total


# Of short floats a few terms have all digits, and the later coefficients are beyond their range.
_COUNTS = {2: 4, 4: 9}


def _far_slope(size: Value, coefficients: tuple[float, ...]) -> Array:
    coefficients = coefficients[: _COUNTS.get(size.aval.dtype.itemsize, _TERMS)]
    inverse = div(number(1, size), size)
    scale = scaled(1 / math.sqrt(2 * math.pi), mul(inverse, e.sqrt_p.bind(inverse)))
    return mul(scale, _polynomial(inverse, coefficients[::-1]))


def _split(x: Value) -> tuple[Array, Array, Array]:
    """Where |x| is large, |x| there, and x elsewhere, with safe numbers in their places."""
    size = e.abs_p.bind(x)
    large = e.gt_p.bind(size, number(_FAR, size))
    # A quarter of the greatest number has an inverse that is no subnormal one.
    greatest = number(0.25 * float(dtypes.finfo(x.aval.dtype).max), size)
    return large, e.min_p.bind(select(large, size, _FAR), greatest), select_not(large, x)


def _bessel_i0e(tangent: Value, answer: Value, x: Value) -> Array:
    large, size, near = _split(x)
    sign = e.sign_p.bind(x)
    slope = sub(p.bessel_i1e_p.bind(near), mul(e.sign_p.bind(near), p.bessel_i0e_p.bind(near)))
    return mul(tangent, select(large, mul(sign, _far_slope(size, _I0_SLOPE)), slope))


def _quotient(x: Value) -> Array:
    """exp(-|x|) I₁(x) / x, by its series near 0."""
    small = e.lt_p.bind(e.abs_p.bind(x), number(0.5, x))
    inner, outer = select(small, x, 0), select_not(small, x)
    series = mul(exp(neg(e.abs_p.bind(inner))), scaled(0.5, _polynomial(scaled(0.25, square(inner)), _I1_QUOTIENT)))
    return select(small, series, div(p.bessel_i1e_p.bind(outer), outer))


def _bessel_i1e(tangent: Value, answer: Value, x: Value) -> Array:
    large, size, near = _split(x)
    slope = sub(sub(p.bessel_i0e_p.bind(near), mul(e.sign_p.bind(near), p.bessel_i1e_p.bind(near))), _quotient(near))
    return mul(tangent, select(large, _far_slope(size, _I1_SLOPE), slope))


elementwise_jvp(jvp, p.bessel_i0e_p, _bessel_i0e)
elementwise_jvp(jvp, p.bessel_i1e_p, _bessel_i1e)
