"""How the special functions act on tangents: one line each.

Where a derivative with respect to some parameter is not known in closed form, asking for it is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tangrad.autodiff import elementwise_jvp
from tangrad.core import RuleSet, literal
from tangrad.lax.elementwise.primitives import (
    add_p,
    div_p,
    eq_p,
    exp_p,
    log1p_p,
    log_p,
    mul_p,
    neg_p,
    select_n_p,
    sign_p,
    square_p,
    sub_p,
)
from tangrad.lax.special.primitives import (
    bessel_i0e_p,
    bessel_i1e_p,
    digamma_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    lgamma_p,
    polygamma_p,
    random_gamma_grad_p,
    regularized_incomplete_beta_p,
    zeta_p,
)

jvp = RuleSet("jvp", api=1)

add, sub, mul, div, neg = add_p.bind, sub_p.bind, mul_p.bind, div_p.bind, neg_p.bind
exp, log, square = exp_p.bind, log_p.bind, square_p.bind


def number(value: float, like: Any) -> Any:
    """A constant of the dtype of `like`, weakly typed."""
    return literal(value, like.aval.dtype, True)


def scaled(value: float, x: Any) -> Any:
    """A constant times x."""
    return mul(number(value, x), x)


def unknown(name: str, argument: str) -> Callable[..., Any]:
    """The derivative that nobody has: an error."""

    def derivative(*_: Any) -> Any:
        raise NotImplementedError(f"{name} has no derivative with respect to {argument}; stop_gradient holds it fixed")

    return derivative


# --- error functions -----------------------------------------------------------------------------------------------

_DENSITY = 2 / math.sqrt(math.pi)

elementwise_jvp(jvp, erf_p, lambda t, ans, x: mul(t, scaled(_DENSITY, exp(neg(square(x))))))
elementwise_jvp(jvp, erfc_p, lambda t, ans, x: mul(t, scaled(-_DENSITY, exp(neg(square(x))))))
elementwise_jvp(jvp, erf_inv_p, lambda t, ans, x: mul(t, scaled(1 / _DENSITY, exp(square(ans)))))

# --- the gamma family ----------------------------------------------------------------------------------------------


def _next(x: Any) -> Any:
    return add(x, number(1, x))


elementwise_jvp(jvp, lgamma_p, lambda t, ans, x: mul(t, digamma_p.bind(x)))
elementwise_jvp(jvp, digamma_p, lambda t, ans, x: mul(t, polygamma_p.bind(number(1, x), x)))
elementwise_jvp(jvp, polygamma_p, unknown("polygamma", "m"), lambda t, ans, m, x: mul(t, polygamma_p.bind(_next(m), x)))
elementwise_jvp(jvp, zeta_p, unknown("zeta", "x"), lambda t, ans, x, q: mul(t, neg(mul(x, zeta_p.bind(_next(x), q)))))


def _gamma_density(a: Any, x: Any) -> Any:
    """The derivative of igamma with respect to x: exp(-x) xᵃ⁻¹ / Γ(a)."""
    return exp(sub(sub(mul(sub(a, number(1, a)), log(x)), x), lgamma_p.bind(a)))


def _log_ratio(a: Any, x: Any) -> Any:
    """The derivative of the logarithm of the density with respect to a: log x - ψ(a)."""
    return sub(log(x), digamma_p.bind(a))


elementwise_jvp(
    jvp,
    igamma_p,
    lambda t, ans, a, x: mul(t, igamma_grad_a_p.bind(a, x)),
    lambda t, ans, a, x: mul(t, _gamma_density(a, x)),
)
elementwise_jvp(
    jvp,
    igammac_p,
    lambda t, ans, a, x: mul(t, neg(igamma_grad_a_p.bind(a, x))),
    lambda t, ans, a, x: mul(t, neg(_gamma_density(a, x))),
)
elementwise_jvp(
    jvp,
    igamma_grad_a_p,
    unknown("igamma_grad_a", "a"),
    lambda t, ans, a, x: mul(t, mul(_gamma_density(a, x), _log_ratio(a, x))),
)


def _sample_gradient_by_sample(tangent: Any, answer: Any, a: Any, x: Any) -> Any:
    # r = -P_a / p gives r_x = -(p_a + r p_x) / p, and p_x / p = (a - 1) / x - 1.
    slope = sub(div(sub(a, number(1, a)), x), number(1, x))
    return mul(tangent, neg(add(_log_ratio(a, x), mul(answer, slope))))


elementwise_jvp(jvp, random_gamma_grad_p, unknown("random_gamma_grad", "a"), _sample_gradient_by_sample)


def _beta_density(tangent: Any, answer: Any, a: Any, b: Any, x: Any) -> Any:
    one = number(1, x)
    log_beta = sub(add(lgamma_p.bind(a), lgamma_p.bind(b)), lgamma_p.bind(add(a, b)))
    powers = add(mul(sub(b, one), log1p_p.bind(neg(x))), mul(sub(a, one), log(x)))
    return mul(tangent, exp(sub(powers, log_beta)))


elementwise_jvp(jvp, regularized_incomplete_beta_p, unknown("betainc", "a"), unknown("betainc", "b"), _beta_density)

# --- Bessel functions ----------------------------------------------------------------------------------------------

elementwise_jvp(
    jvp,
    bessel_i0e_p,
    lambda t, ans, x: mul(t, sub(bessel_i1e_p.bind(x), mul(sign_p.bind(x), ans))),
)


def _bessel_i1e(tangent: Any, answer: Any, x: Any) -> Any:
    # I₁'(x) = I₀(x) - I₁(x) / x, whose limit at 0 is a half. Near 0 the quotient loses nothing: answer ≈ x / 2.
    at_zero = eq_p.bind(x, number(0, x))
    safe = select_n_p.bind(at_zero, x, number(1, x))
    slope = sub(bessel_i0e_p.bind(x), mul(answer, add(sign_p.bind(safe), div(number(1, x), safe))))
    return mul(tangent, select_n_p.bind(at_zero, slope, number(0.5, x)))


elementwise_jvp(jvp, bessel_i1e_p, _bessel_i1e)
