"""How the special functions become NumPy: by `tangrad._backend_numpy.special`, in double precision.

Narrower dtypes are computed in double precision and rounded once. The error function of float32, which stands in every
gelu, has a shorter approximation, and its inverse, which makes normal samples, the one that XLA has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy import special
from tangrad._backend_numpy.functions import ELEMENTWISE
from tangrad._backend_numpy.kernels import composed
from tangrad.core import Primitive, RuleSet, dtypes
from tangrad.extend import lax

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)

DOUBLE = dtypes.as_dtype("float64")
SINGLE = dtypes.as_dtype("float32")


def in_double(function: Callable[..., np.ndarray], dtype: np.dtype) -> Callable[..., np.ndarray]:
    """A function of flat arrays of float64 as one of arrays of any shapes, which broadcast, and of dtype `dtype`."""

    def compute(*operands: np.ndarray) -> np.ndarray:
        if len(operands) > 1:
            operands = np.broadcast_arrays(*operands)
        flat = [operand.astype(DOUBLE).ravel() for operand in operands]
        return function(*flat).reshape(operands[0].shape).astype(dtype, copy=False)

    return compute


def _register(primitive: Primitive, function: Callable[..., np.ndarray]) -> None:
    @composed(lower, primitive)
    def _(ctx: Lowering, *values: Value) -> Value:
        return ctx.call(in_double(function, ctx.out_aval.dtype), *values, nature=ELEMENTWISE)


_ARITHMETIC: Any = special  # a module has no type by which its functions take and give NumPy's arrays
_FUNCTIONS: dict[Primitive, Callable[..., Any]] = {
    lax.erfc_p: special.erfc,
    lax.lgamma_p: special.lgamma,
    lax.digamma_p: special.digamma,
    lax.polygamma_p: special.polygamma,
    lax.zeta_p: special.zeta,
    lax.bessel_i0e_p: special.bessel_i0e,
    lax.bessel_i1e_p: special.bessel_i1e,
    lax.igamma_p: partial(lax.igamma, _ARITHMETIC),
    lax.igammac_p: partial(lax.igammac, _ARITHMETIC),
    lax.igamma_grad_a_p: partial(lax.igamma_grad_a, _ARITHMETIC),
    lax.random_gamma_grad_p: partial(lax.gamma_sample_gradient, _ARITHMETIC),
    lax.regularized_incomplete_beta_p: partial(lax.betainc, _ARITHMETIC),
}
for _primitive, _function in _FUNCTIONS.items():
    _register(_primitive, _function)

# erf x = x P(x²) / Q(x²) within one unit in the last place of float32; ±1 from the limit on. The highest power first.
# In single precision the result would be off by five units, and beyond 1; double precision costs next to nothing more.
# The coefficients are those of erf in XLA, which has them from Eigen (see NOTICE), so that float32 agrees.
_ERF_LIMIT = 3.85
_ERF_P = (0.00022905065861350646, 0.0034082910107109506, 0.050955695062380861, 0.18520832239976145, 1.128379143519084)
_ERF_Q = (
    -1.1791602954361697e-7,
    0.000023547966471313185,
    0.0010179625278914885,
    0.014070470171167667,
    0.11098505178285362,
    0.49746925110067538,
    1.0,
)


@composed(lower, lax.erf_p)
def _erf(ctx: Lowering, x: Value) -> Value:
    dtype = x.dtype
    if dtype == DOUBLE:
        return ctx.call(in_double(special.erf, dtype), x, nature=ELEMENTWISE)
    x = ctx.minimum(ctx.maximum(ctx.cast(x, DOUBLE), -_ERF_LIMIT), _ERF_LIMIT)
    square = ctx.multiply(x, x)
    ratio = ctx.divide(ctx.multiply(x, _polynomial(ctx, square, _ERF_P)), _polynomial(ctx, square, _ERF_Q))
    return ctx.cast(ratio, dtype)


def _polynomial(ctx: Lowering, x: Value, coefficients: tuple[float, ...]) -> Value:
    total: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        total = ctx.add(ctx.multiply(x, total), coefficient)
    return total


@composed(lower, lax.erf_inv_p)
def _erf_inv(ctx: Lowering, x: Value) -> Value:
    dtype = x.dtype
    if dtype == DOUBLE:
        return ctx.call(in_double(special.erf_inv, dtype), x, nature=ELEMENTWISE)

    def compute(x: np.ndarray) -> np.ndarray:
        flat = x.astype(SINGLE, copy=False).ravel()
        return special.erf_inv_single(flat).reshape(x.shape).astype(dtype, copy=False)

    return ctx.call(compute, x, nature=ELEMENTWISE)
