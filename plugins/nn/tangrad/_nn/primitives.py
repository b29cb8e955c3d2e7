"""The family `activations`: functions whose derivatives are not those of their formulas.

At 0 the derivative of relu is 0, where that of a maximum would be ½; those of softmax and softplus are in terms of the
functions themselves, which is cheaper, and finite, as are those of what has a gate. Everything else here is a formula
in functions of `tangrad.numpy`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tangrad._nn import gated
from tangrad._nn.gated import number_like
from tangrad.core import PrimitiveSet, ShapedArray
from tangrad.extend import lax
from tangrad.extend.lax import (
    FLOATING,
    INEXACT,
    broadcast_in_dim_p,
    check_axes,
    check_dtype,
    reduce_max,
    reduce_sum,
    unary,
)

if TYPE_CHECKING:
    from tangrad.typing import Dimensions, Value

activations = PrimitiveSet("activations", api=1)


def _relu6(x: Value) -> Value:
    return lax.min(lax.max(x, number_like(x, 0)), number_like(x, 6))


def _softplus(x: Value) -> Value:
    return lax.add(lax.max(x, number_like(x, 0)), lax.log1p(lax.exp(lax.neg(lax.abs(x)))))


def _log1mexp(x: Value) -> Value:
    # Mächler, Accurately computing log(1 − exp(−|a|)), 2012.
    near_0 = lax.log(lax.neg(lax.expm1(lax.neg(x))))
    far = lax.log1p(lax.neg(lax.exp(lax.neg(x))))
    return lax.select(lax.lt(x, number_like(x, math.log(2))), near_0, far)


relu_p = unary(activations, "relu", (FLOATING,), "max(x, 0).", decompose=lambda x: lax.max(x, number_like(x, 0)))
relu6_p = unary(activations, "relu6", (FLOATING,), "min(max(x, 0), 6).", decompose=_relu6)
softplus_p = unary(activations, "softplus", (FLOATING,), "log(1 + exp(x)).", decompose=_softplus)
log1mexp_p = unary(activations, "log1mexp", (FLOATING,), "log(1 - exp(-x)) for x > 0.", decompose=_log1mexp)
silu_p = unary(activations, "silu", (FLOATING,), "x logistic(x).", decompose=gated.silu)
mish_p = unary(
    activations, "mish", (FLOATING,), "x tanh(softplus(x)).", decompose=lambda x: gated.mish(x, softplus_p.bind(x))
)
gelu_p = unary(activations, "gelu", (FLOATING,), "x times the normal distribution function.", decompose=gated.gelu)
gelu_tanh_p = unary(
    activations, "gelu_tanh", (FLOATING,), "gelu with a tanh for the distribution.", decompose=gated.gelu_tanh
)
GATED = (silu_p, mish_p, gelu_p, gelu_tanh_p)


def repeated(x: Value, axes: tuple[int, ...], shape: Dimensions) -> Value:
    """A result of a reduction over `axes`, repeated along them."""
    kept = tuple([axis for axis in range(len(shape)) if axis not in axes])
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=kept)


def _softmax(x: Value, *, axes: tuple[int, ...]) -> Value:
    shape = x.aval.shape
    powers = lax.exp(lax.sub(x, repeated(reduce_max(x, axes), axes, shape)))
    return lax.div(powers, repeated(reduce_sum(powers, axes), axes, shape))


@activations.primitive(name="softmax", decompose=_softmax)
def softmax_p(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
    """exp(x) / sum(exp(x)) over `axes`."""
    check_dtype("softmax", x, INEXACT, "x")
    check_axes("softmax", axes, x.ndim, "axes")
    return x
