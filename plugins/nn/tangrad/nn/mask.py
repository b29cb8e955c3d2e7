"""Activations of padded arrays: each position by itself, but for softmax."""

from __future__ import annotations

from typing import Any

from tangrad.core import RuleSet
from tangrad.lax.reductions.primitives import least
from tangrad.masking import Sizes, positionwise
from tangrad.nn.primitives import log1mexp_p, relu6_p, relu_p, softmax_p, softplus_p

mask = RuleSet("mask", api=1)
positionwise(mask, relu_p, relu6_p, softplus_p, log1mexp_p)


@mask.rule(softmax_p)
def _(args: Any, shapes: Any, *, sizes: Sizes, axes: Any) -> Any:
    (x,), (shape,) = args, shapes
    # -inf adds nothing to the sum; rows that do not count must not be all of it, or they would be NaN.
    along = tuple([size if d in axes else 1 for d, size in enumerate(shape)])
    return sizes.fill(softmax_p.bind(_filled_along(x, shape, along, sizes), axes=axes), shape, 0)


def _filled_along(x: Any, shape: Any, along: Any, sizes: Sizes) -> Any:
    rows = tuple([1 if size != 1 else own for size, own in zip(along, shape)])
    return sizes.fill(sizes.fill(x, along, least(x.aval.dtype)), rows, 0)
