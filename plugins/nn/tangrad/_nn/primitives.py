"""The family `activations`: functions whose derivatives are not those of their formulas, the gated among them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING

from tangrad.core import Array, PrimitiveSet, ShapedArray, dtypes, literal
from tangrad.extend import lax
from tangrad.extend.lax import (
    FLOATING,
    INEXACT,
    broadcast_in_dim_p,
    check_axes,
    check_dtype,
    convert_element_type_p,
    erfc_p,
    reduce_max,
    reduce_sum,
    unary,
)

if TYPE_CHECKING:
    from tangrad.typing import Dimensions, DType, Value


# --- silu, gelu and mish, which are x times a gate, and their derivatives ---
# A gate is 0 far below 0 and 1 far above, so a product with the infinite x, or with a derivative that overflows, would
# be 0 · ∞. The other factor is therefore held between the numbers beyond which the gate is 0 or 1 in every dtype. The
# gate has the same operands in the derivative as in the function: where both are computed, compilers find it once, in
# 32 bits and wider.


# Where exp(-x), and where exp(-x²/2), is 0 in double precision.
REACH_OF_EXPONENTIAL, REACH_OF_NORMAL = 800.0, 40.0
# The normal distribution's Φ(x) is nearly the logistic function of 2 √(2/π) (x + 0.044715 x³), which is as
# (1 + tanh) / 2 of half that, but for digits that cancel below 0.
LINEAR = 2 * math.sqrt(2 / math.pi)
CUBIC = 0.044715 * LINEAR


def number_like(x: Value, value: float) -> Value:
    """A literal of the dtype and weak type of `x`."""
    return literal(value, x.aval.dtype, x.aval.weak_type)


def _times(x: Value, value: float) -> Value:
    return lax.mul(x, number_like(x, value))


def _plus(x: Value, value: float) -> Value:
    return lax.add(x, number_like(x, value))


def _rest(gate: Value) -> Value:
    return lax.sub(number_like(gate, 1), gate)


def _held(x: Value, reach: float) -> Array:
    return lax.clamp(number_like(x, -reach), x, number_like(x, reach))


def _product(x: Value, gate: Value, reach: float) -> Value:
    return lax.mul(lax.max(x, number_like(x, -reach)), gate)


def _in_32_bits(formula: Callable[..., Value], apart: bool = False) -> Callable[..., Value]:
    """A formula in float32 where floats are narrower: rounded at each step, they lose digits, and CPUs time.

    With `apart` it is one of finite operands, so that compilers find nothing in it that another formula has, too: kept
    from one to the other, a gate is twice as wide as its operand, and computing it again is as quick.
    """

    @wraps(formula)
    def computed(x: Value, *others: Value) -> Value:
        dtype = x.aval.dtype
        if dtypes.bit_width(dtype) >= 32:
            return formula(x, *others)
        if apart:
            x = lax.min(x, number_like(x, float(dtypes.finfo(dtype).max)))
        wide = [_converted(operand, dtypes.as_dtype("float32")) for operand in (x, *others)]
        return _converted(formula(*wide), dtype)

    return computed


def _converted(x: Value, dtype: DType) -> Array:
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=x.aval.weak_type)


# --- silu ---


@_in_32_bits
def silu(x: Value) -> Value:
    """x · logistic(x)."""
    return _product(x, lax.logistic(x), REACH_OF_EXPONENTIAL)


@partial(_in_32_bits, apart=True)
def silu_slope(x: Value) -> Value:
    """g + x g (1 - g)."""
    gate = lax.logistic(x)
    return lax.add(gate, lax.mul(_held(x, REACH_OF_EXPONENTIAL), lax.mul(gate, _rest(gate))))


# --- mish ---


@_in_32_bits
def mish(x: Value) -> Value:
    """x · tanh(softplus(x))."""
    return _product(x, lax.tanh(softplus_p.bind(x)), REACH_OF_EXPONENTIAL)


@partial(_in_32_bits, apart=True)
def mish_slope(x: Value) -> Value:
    """g + x (1 - g²) logistic(x)."""
    gate = lax.tanh(softplus_p.bind(x))
    steepness = lax.mul(_rest(lax.mul(gate, gate)), lax.logistic(x))
    return lax.add(gate, lax.mul(_held(x, REACH_OF_EXPONENTIAL), steepness))


# --- gelu ---


def _logistic_gate(inner: Value, square: Value) -> Value:
    return lax.logistic(lax.mul(inner, _plus(_times(square, CUBIC), LINEAR)))


@_in_32_bits
def gelu_tanh(x: Value) -> Value:
    """x times the approximation of Φ(x) by a tanh."""
    inner = _held(x, REACH_OF_NORMAL)
    return _product(x, _logistic_gate(inner, lax.mul(inner, inner)), REACH_OF_NORMAL)


@partial(_in_32_bits, apart=True)
def gelu_tanh_slope(x: Value) -> Value:
    """g + x g (1 - g) v', where v is what the gate is the logistic function of."""
    inner = _held(x, REACH_OF_NORMAL)
    square = lax.mul(inner, inner)
    gate = _logistic_gate(inner, square)
    rise = lax.mul(inner, _plus(_times(square, 3 * CUBIC), LINEAR))
    return lax.add(gate, lax.mul(rise, lax.mul(gate, _rest(gate))))


def _normal_gate(inner: Value) -> Value:
    return erfc_p.bind(_times(inner, -math.sqrt(0.5)))


@_in_32_bits
def gelu(x: Value) -> Value:
    """x · Φ(x), with erfc(-x / √2) / 2 for Φ(x)."""
    gate = _normal_gate(_held(x, REACH_OF_NORMAL))
    return _product(x, _times(gate, 0.5), REACH_OF_NORMAL)


@partial(_in_32_bits, apart=True)
def gelu_slope(x: Value) -> Value:
    """Φ(x) + x φ(x)."""
    inner = _held(x, REACH_OF_NORMAL)
    gate = _times(_normal_gate(inner), 0.5)
    density = _times(lax.exp(_times(lax.mul(inner, inner), -0.5)), 1 / math.sqrt(2 * math.pi))
    return lax.add(gate, lax.mul(inner, density))


# --- The family `activations`: functions whose derivatives are not those of their formulas ---
# At 0 the derivative of relu is 0, where that of a maximum would be ½; those of softmax and softplus are in terms of
# the functions themselves, which is cheaper, and finite, as are those of what has a gate. Everything else here is a
# formula in functions of `tangrad.numpy`.


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
silu_p = unary(activations, "silu", (FLOATING,), "x logistic(x).", decompose=silu)
mish_p = unary(activations, "mish", (FLOATING,), "x tanh(softplus(x)).", decompose=mish)
gelu_p = unary(activations, "gelu", (FLOATING,), "x times the normal distribution function.", decompose=gelu)
gelu_tanh_p = unary(
    activations, "gelu_tanh", (FLOATING,), "gelu with a tanh for the distribution.", decompose=gelu_tanh
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
