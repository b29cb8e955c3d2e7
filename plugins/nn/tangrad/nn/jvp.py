"""Derivatives of the activations."""

from __future__ import annotations

import math
from typing import Any

from tangrad.autodiff import elementwise_jvp
from tangrad.core import RuleSet
from tangrad.lax.elementwise.functions import bitwise_and, div, eq, exp, expm1, gt, lt, mul, select, sub
from tangrad.lax.reductions.functions import reduce_sum
from tangrad.lax.structure.functions import full_like
from tangrad.nn import primitives as p

jvp = RuleSet("jvp", api=1)


def _where(mask: Any, tangent: Any) -> Any:
    return select(mask, tangent, full_like(tangent, 0))


def _softmax(tangent: Any, answer: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    mean = reduce_sum(mul(answer, tangent), axes)
    return mul(answer, sub(tangent, p.repeated(mean, axes, x.aval.shape)))


elementwise_jvp(jvp, p.relu_p, lambda t, answer, x: _where(gt(x, p.number_like(x, 0)), t))
elementwise_jvp(
    jvp,
    p.relu6_p,
    lambda t, answer, x: _where(bitwise_and(gt(x, p.number_like(x, 0)), lt(x, p.number_like(x, 6))), t),
)


def _finite(x: Any) -> Any:
    """`x` with 0 in place of infinity: the difference of two infinities counts as 0."""
    return select(eq(x, p.number_like(x, math.inf)), full_like(x, 0), x)


elementwise_jvp(jvp, p.softplus_p, lambda t, answer, x: mul(t, exp(sub(_finite(x), _finite(answer)))))
elementwise_jvp(jvp, p.log1mexp_p, lambda t, answer, x: div(t, expm1(x)))
elementwise_jvp(jvp, p.softmax_p, _softmax)
