"""The rules of the activations: each position by itself, but for softmax; none is linear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._nn import primitives
from tangrad._nn import primitives as p
from tangrad._nn.primitives import number_like
from tangrad.core import Array, RuleSet
from tangrad.extend.lax import (
    bitwise_and,
    div,
    exp,
    expm1,
    full_like,
    gt,
    least,
    logistic,
    lt,
    mul,
    neg,
    reduce_sum,
    select,
    sub,
)

if TYPE_CHECKING:
    from tangrad.batching import AxisInfo
    from tangrad.extend.masking import Sizes
    from tangrad.typing import Dimensions, Value, Values

_BY_POSITION = (p.relu_p, p.relu6_p, p.softplus_p, p.log1mexp_p, *p.GATED)

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("not linear", *p.activations.primitives.values())

# --- tangents ---

jvp = RuleSet("jvp", api=1)


def _where(mask: Value, tangent: Value) -> Array:
    return select(mask, tangent, full_like(tangent, 0))


def _inverse_of_expm1(x: Value) -> Value:
    """1 / (exp(x) - 1) as a quotient of what is small for large x, where its derivative would be 0 times infinity."""
    power = exp(neg(x))
    return div(power, neg(expm1(neg(x))))


def _softmax(tangent: Value, answer: Value, x: Value, *, axes: tuple[int, ...]) -> Value:
    mean = reduce_sum(mul(answer, tangent), axes)
    return mul(answer, sub(tangent, p.repeated(mean, axes, x.aval.shape)))


for _primitive, _derivative in {
    p.relu_p: lambda t, answer, x: _where(gt(x, number_like(x, 0)), t),
    p.relu6_p: lambda t, answer, x: _where(bitwise_and(gt(x, number_like(x, 0)), lt(x, number_like(x, 6))), t),
    p.softplus_p: lambda t, answer, x: mul(t, logistic(x)),
    p.log1mexp_p: lambda t, answer, x: mul(t, _inverse_of_expm1(x)),
    p.softmax_p: _softmax,
    p.silu_p: lambda t, answer, x: mul(t, primitives.silu_slope(x)),
    p.mish_p: lambda t, answer, x: mul(t, primitives.mish_slope(x)),
    p.gelu_p: lambda t, answer, x: mul(t, primitives.gelu_slope(x)),
    p.gelu_tanh_p: lambda t, answer, x: mul(t, primitives.gelu_tanh_slope(x)),
}.items():
    jvp.form("elementwise", _primitive, using=[_derivative])

# --- mapped axes ---

batch = RuleSet("batch", api=1)
batch.form("elementwise", *_BY_POSITION)


@batch.rule(p.softmax_p)
def _(args: tuple[Array, ...], dims: Any, *, axis_info: AxisInfo, axes: tuple[int, ...]) -> Any:
    (x,), (dim,) = args, dims
    return p.softmax_p.bind(x, axes=tuple([axis + (axis >= dim) for axis in axes])), dim


# --- padded arrays ---

mask = RuleSet("mask", api=1)
mask.form("positionwise", *_BY_POSITION)


@mask.rule(p.softmax_p)
def _(args: Values, shapes: Sequence[Dimensions], *, sizes: Sizes, axes: tuple[int, ...]) -> Array:
    (x,), (shape,) = args, shapes
    # -inf adds nothing to the sum; rows that do not count must not be all of it, or they would be NaN.
    rows = [d for d in range(len(shape)) if d not in axes]
    x = sizes.fill(sizes.fill(x, shape, least(x.aval.dtype), axes), shape, 0, rows)
    return sizes.fill(p.softmax_p.bind(x, axes=axes), shape, 0)
