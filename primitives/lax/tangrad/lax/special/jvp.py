"""How the special functions act on tangents: one line each.

Where a derivative with respect to some parameter is not known in closed form, asking for it is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tangrad.autodiff import elementwise_jvp
from tangrad.core import RuleSet, literal
from tangrad.lax.elementwise import primitives as e
from tangrad.lax.special import primitives as p

jvp = RuleSet("jvp", api=1)

add, sub, mul, div, neg = e.add_p.bind, e.sub_p.bind, e.mul_p.bind, e.div_p.bind, e.neg_p.bind
exp, log, square = e.exp_p.bind, e.log_p.bind, e.square_p.bind


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

elementwise_jvp(jvp, p.erf_p, lambda t, ans, x: mul(t, scaled(_DENSITY, exp(neg(square(x))))))
elementwise_jvp(jvp, p.erfc_p, lambda t, ans, x: mul(t, scaled(-_DENSITY, exp(neg(square(x))))))
elementwise_jvp(jvp, p.erf_inv_p, lambda t, ans, x: mul(t, scaled(1 / _DENSITY, exp(square(ans)))))

# --- the gamma family ----------------------------------------------------------------------------------------------


def _next(x: Any) -> Any:
    return add(x, number(1, x))


elementwise_jvp(jvp, p.lgamma_p, lambda t, ans, x: mul(t, p.digamma_p.bind(x)))
elementwise_jvp(jvp, p.digamma_p, lambda t, ans, x: mul(t, p.polygamma_p.bind(number(1, x), x)))
elementwise_jvp(
    jvp, p.polygamma_p, unknown("polygamma", "m"), lambda t, ans, m, x: mul(t, p.polygamma_p.bind(_next(m), x))
)
elementwise_jvp(
    jvp, p.zeta_p, unknown("zeta", "x"), lambda t, ans, x, q: mul(t, neg(mul(x, p.zeta_p.bind(_next(x), q))))
)


def _gamma_density(a: Any, x: Any) -> Any:
    """The derivative of igamma with respect to x: exp(-x) xᵃ⁻¹ / Γ(a)."""
    return exp(sub(sub(mul(sub(a, number(1, a)), log(x)), x), p.lgamma_p.bind(a)))


def _log_ratio(a: Any, x: Any) -> Any:
    """The derivative of the logarithm of the density with respect to a: log x - ψ(a)."""
    return sub(log(x), p.digamma_p.bind(a))


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
    lambda t, ans, a, x: mul(t, mul(_gamma_density(a, x), _log_ratio(a, x))),
)


def _sample_gradient_by_sample(tangent: Any, answer: Any, a: Any, x: Any) -> Any:
    # r = -P_a / p gives r_x = -(p_a + r p_x) / p, and p_x / p = (a - 1) / x - 1.
    slope = sub(div(sub(a, number(1, a)), x), number(1, x))
    return mul(tangent, neg(add(_log_ratio(a, x), mul(answer, slope))))


elementwise_jvp(jvp, p.random_gamma_grad_p, unknown("random_gamma_grad", "a"), _sample_gradient_by_sample)


def _beta_density(tangent: Any, answer: Any, a: Any, b: Any, x: Any) -> Any:
    one = number(1, x)
    log_beta = sub(add(p.lgamma_p.bind(a), p.lgamma_p.bind(b)), p.lgamma_p.bind(add(a, b)))
    powers = add(mul(sub(b, one), e.log1p_p.bind(neg(x))), mul(sub(a, one), log(x)))
    return mul(tangent, exp(sub(powers, log_beta)))


elementwise_jvp(jvp, p.regularized_incomplete_beta_p, unknown("betainc", "a"), unknown("betainc", "b"), _beta_density)

# --- Bessel functions ----------------------------------------------------------------------------------------------

elementwise_jvp(
    jvp,
    p.bessel_i0e_p,
    lambda t, ans, x: mul(t, sub(p.bessel_i1e_p.bind(x), mul(e.sign_p.bind(x), ans))),
)


def _bessel_i1e(tangent: Any, answer: Any, x: Any) -> Any:
    # I₁'(x) = I₀(x) - I₁(x) / x, whose limit at 0 is a half. Near 0 the quotient loses nothing: answer ≈ x / 2.
    at_zero = e.eq_p.bind(x, number(0, x))
    safe = e.select_n_p.bind(at_zero, x, number(1, x))
    slope = sub(p.bessel_i0e_p.bind(x), mul(answer, add(e.sign_p.bind(safe), div(number(1, x), safe))))
    return mul(tangent, e.select_n_p.bind(at_zero, slope, number(0.5, x)))


elementwise_jvp(jvp, p.bessel_i1e_p, _bessel_i1e)
