"""silu, gelu and mish, which are x times a gate, and their derivatives.

A gate is 0 far below 0 and 1 far above, so a product with the infinite x, or with a derivative that overflows, would be
0 · ∞. The other factor is therefore held between the numbers beyond which the gate is 0 or 1 in every dtype. The gate
has the same operands in the derivative as in the function: where both are computed, compilers find it once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tangrad.core import Array, literal
from tangrad.extend import lax
from tangrad.extend.lax import erfc_p

if TYPE_CHECKING:
    from tangrad.typing import Value

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


# --- silu ----------------------------------------------------------------------------------------------------------


def silu(x: Any) -> Value:
    """x · logistic(x)."""
    return _product(x, lax.logistic(x), REACH_OF_EXPONENTIAL)


def silu_slope(x: Any) -> Value:
    """g + x g (1 - g)."""
    gate = lax.logistic(x)
    return lax.add(gate, lax.mul(_held(x, REACH_OF_EXPONENTIAL), lax.mul(gate, _rest(gate))))


# --- mish ----------------------------------------------------------------------------------------------------------


def mish(x: Any, softplus: Any) -> Value:
    """x · tanh(softplus(x)), given the second factor's argument."""
    return _product(x, lax.tanh(softplus), REACH_OF_EXPONENTIAL)


def mish_slope(x: Any, softplus: Any) -> Value:
    """g + x (1 - g²) logistic(x)."""
    gate = lax.tanh(softplus)
    steepness = lax.mul(_rest(lax.mul(gate, gate)), lax.logistic(x))
    return lax.add(gate, lax.mul(_held(x, REACH_OF_EXPONENTIAL), steepness))


# --- gelu ----------------------------------------------------------------------------------------------------------


def _logistic_gate(inner: Value, square: Value) -> Value:
    return lax.logistic(lax.mul(inner, _plus(_times(square, CUBIC), LINEAR)))


def gelu_tanh(x: Value) -> Value:
    """x times the approximation of Φ(x) by a tanh."""
    inner = _held(x, REACH_OF_NORMAL)
    return _product(x, _logistic_gate(inner, lax.mul(inner, inner)), REACH_OF_NORMAL)


def gelu_tanh_slope(x: Value) -> Value:
    """g + x g (1 - g) v', where v is what the gate is the logistic function of."""
    inner = _held(x, REACH_OF_NORMAL)
    square = lax.mul(inner, inner)
    gate = _logistic_gate(inner, square)
    rise = lax.mul(inner, _plus(_times(square, 3 * CUBIC), LINEAR))
    return lax.add(gate, lax.mul(rise, lax.mul(gate, _rest(gate))))


def _normal_gate(inner: Value) -> Value:
    return erfc_p.bind(_times(inner, -math.sqrt(0.5)))


def gelu(x: Value) -> Value:
    """x · Φ(x), with erfc(-x / √2) / 2 for Φ(x)."""
    gate = _normal_gate(_held(x, REACH_OF_NORMAL))
    return _product(x, _times(gate, 0.5), REACH_OF_NORMAL)


def gelu_slope(x: Value) -> Value:
    """Φ(x) + x φ(x)."""
    inner = _held(x, REACH_OF_NORMAL)
    gate = _times(_normal_gate(inner), 0.5)
    density = _times(lax.exp(_times(lax.mul(inner, inner), -0.5)), 1 / math.sqrt(2 * math.pi))
    return lax.add(gate, lax.mul(inner, density))
