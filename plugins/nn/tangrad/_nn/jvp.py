"""Derivatives of the activations."""

from __future__ import annotations

from typing import Any

from tangrad._nn import gated
from tangrad._nn import primitives as p
from tangrad._nn.gated import number_like
from tangrad.autodiff import elementwise_jvp
from tangrad.core import RuleSet
from tangrad.extend.lax import (
    bitwise_and,
    div,
    exp,
    expm1,
    full_like,
    gt,
    logistic,
    lt,
    mul,
    neg,
    reduce_sum,
    select,
    sub,
)

jvp = RuleSet("jvp", api=1)


def _where(mask: Any, tangent: Any) -> Any:
    return select(mask, tangent, full_like(tangent, 0))


def _softmax(tangent: Any, answer: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    mean = reduce_sum(mul(answer, tangent), axes)
    return mul(answer, sub(tangent, p.repeated(mean, axes, x.aval.shape)))


elementwise_jvp(jvp, p.relu_p, lambda t, answer, x: _where(gt(x, number_like(x, 0)), t))
elementwise_jvp(
    jvp,
    p.relu6_p,
    lambda t, answer, x: _where(bitwise_and(gt(x, number_like(x, 0)), lt(x, number_like(x, 6))), t),
)


def _inverse_of_expm1(x: Any) -> Any:
    """1 / (exp(x) - 1) as a quotient of what is small for large x, where its derivative would be 0 times infinity."""
    power = exp(neg(x))
    return div(power, neg(expm1(neg(x))))


elementwise_jvp(jvp, p.softplus_p, lambda t, answer, x: mul(t, logistic(x)))
elementwise_jvp(jvp, p.log1mexp_p, lambda t, answer, x: mul(t, _inverse_of_expm1(x)))
elementwise_jvp(jvp, p.softmax_p, _softmax)
elementwise_jvp(jvp, p.silu_p, lambda t, answer, x: mul(t, gated.silu_slope(x)))
elementwise_jvp(jvp, p.mish_p, lambda t, answer, x: mul(t, gated.mish_slope(x, p.softplus_p.bind(x))))
elementwise_jvp(jvp, p.gelu_p, lambda t, answer, x: mul(t, gated.gelu_slope(x)))
elementwise_jvp(jvp, p.gelu_tanh_p, lambda t, answer, x: mul(t, gated.gelu_tanh_slope(x)))
