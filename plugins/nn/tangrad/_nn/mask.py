"""Activations of padded arrays: each position by itself, but for softmax."""

from __future__ import annotations

from typing import Any

from tangrad._nn.primitives import GATED, log1mexp_p, relu6_p, relu_p, softmax_p, softplus_p
from tangrad.core import RuleSet
from tangrad.extend.lax import least
from tangrad.extend.masking import Sizes, positionwise

mask = RuleSet("mask", api=1)
positionwise(mask, relu_p, relu6_p, softplus_p, log1mexp_p, *GATED)


@mask.rule(softmax_p)
def _(args: Any, shapes: Any, *, sizes: Sizes, axes: Any) -> Any:
    (x,), (shape,) = args, shapes
    # -inf adds nothing to the sum; rows that do not count must not be all of it, or they would be NaN.
    rows = [d for d in range(len(shape)) if d not in axes]
    x = sizes.fill(sizes.fill(x, shape, least(x.aval.dtype), axes), shape, 0, rows)
    return sizes.fill(softmax_p.bind(x, axes=axes), shape, 0)
