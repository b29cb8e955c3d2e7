"""How special functions become StableHLO: by CHLO's operations, or by algorithms of our own in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla.arithmetic import DOUBLE, Arithmetic, Real
from tangrad._backend_xla.helpers import broadcast_operands, convert, elementwise
from tangrad.core import RuleSet
from tangrad.extend import lax
from tangrad.extend.lax import BESSEL_I0_FAR, BESSEL_I0_NEAR

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)


def in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule that computes `function(arithmetic, *terms)` in double precision."""

    def rule(ctx: FunctionContext, *operands: IrValue) -> IrValue:
        out = ctx.out_aval
        wide = out.update(dtype=DOUBLE)
        operands = tuple(broadcast_operands(ctx, operands, out.shape))
        if out.dtype is not DOUBLE:
            operands = tuple([convert(ctx, operand, out, wide) for operand in operands])
        arithmetic = Arithmetic(ctx, out.shape)
        result = function(arithmetic, *[Real(arithmetic, operand) for operand in operands]).value
        return result if out.dtype is DOUBLE else convert(ctx, result, wide, out)

    return rule


def _bessel_i0e(m: Arithmetic, x: Real) -> Real:
    size = m.abs(x)
    near = size <= 8
    inside = m.where(near, size, 8.0)
    outside = m.where(near, 8.0, size)
    far = _chebyshev(m, 16 / outside - 1, BESSEL_I0_FAR) / m.sqrt(outside)
    return m.where(near, _chebyshev(m, inside / 4 - 1, BESSEL_I0_NEAR), far)


def _chebyshev(m: Arithmetic, x: Real, coefficients: tuple[float, ...]) -> Real:
    twice = 2 * x
    later = m.like(x, 0.0)
    latest = later
    for coefficient in reversed(coefficients[1:]):
        later, latest = latest, twice * latest - later + coefficient
    return x * latest - later + coefficients[0]


lower.table(
    {
        lax.erf_p: elementwise("chlo.erf"),
        lax.erfc_p: elementwise("chlo.erfc"),
        lax.erf_inv_p: elementwise("chlo.erf_inv"),
        lax.lgamma_p: elementwise("chlo.lgamma"),
        lax.digamma_p: elementwise("chlo.digamma"),
        lax.polygamma_p: elementwise("chlo.polygamma"),
        lax.zeta_p: elementwise("chlo.zeta"),
        lax.bessel_i0e_p: in_double(_bessel_i0e),
        lax.bessel_i1e_p: elementwise("chlo.bessel_i1e"),
        lax.igamma_p: in_double(lax.igamma),
        lax.igammac_p: in_double(lax.igammac),
        lax.igamma_grad_a_p: in_double(lax.igamma_grad_a),
        lax.random_gamma_grad_p: in_double(lax.gamma_sample_gradient),
        lax.regularized_incomplete_beta_p: in_double(lax.betainc),
    }
)
