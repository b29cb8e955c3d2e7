"""The special functions and the types of their results. All work on real floating numbers, element by element."""

from __future__ import annotations

from tangrad._lax.checks import FLOATING, nary, unary
from tangrad.core import PrimitiveSet

special = PrimitiveSet("special", api=1)

_REAL = (FLOATING,)

erf_p = unary(special, "erf", _REAL, "The error function, 2/√π ∫₀ˣ exp(-t²) dt.")
erfc_p = unary(special, "erfc", _REAL, "The complementary error function, 1 - erf(x), accurate for large x.")
erf_inv_p = unary(special, "erf_inv", _REAL, "The inverse of erf; ±inf at ±1, NaN beyond.")
lgamma_p = unary(special, "lgamma", _REAL, "log |Γ(x)|; inf at 0, -1, -2, …")
digamma_p = unary(special, "digamma", _REAL, "The derivative of log Γ; NaN at -1, -2, …")
bessel_i0e_p = unary(special, "bessel_i0e", _REAL, "exp(-|x|) I₀(x), the scaled modified Bessel function of order 0.")
bessel_i1e_p = unary(special, "bessel_i1e", _REAL, "exp(-|x|) I₁(x), the scaled modified Bessel function of order 1.")

polygamma_p = nary(special, "polygamma", _REAL, "The m-th derivative of digamma at x.", ("m", "x"))
zeta_p = nary(special, "zeta", _REAL, "The Hurwitz zeta function, Σₖ (k + q)⁻ˣ.", ("x", "q"))
igamma_p = nary(special, "igamma", _REAL, "The regularised lower incomplete gamma function P(a, x).", ("a", "x"))
igammac_p = nary(special, "igammac", _REAL, "The regularised upper incomplete gamma function, 1 - P(a, x).", ("a", "x"))
igamma_grad_a_p = nary(special, "igamma_grad_a", _REAL, "The derivative of igamma(a, x) with respect to a.", ("a", "x"))
random_gamma_grad_p = nary(
    special,
    "random_gamma_grad",
    _REAL,
    "How a sample x of the gamma distribution of shape a moves with a, its rank held fixed: -(∂P/∂a) / (∂P/∂x).",
    ("a", "x"),
)
regularized_incomplete_beta_p = nary(
    special, "regularized_incomplete_beta", _REAL, "The regularised incomplete beta function Iₓ(a, b).", ("a", "b", "x")
)
