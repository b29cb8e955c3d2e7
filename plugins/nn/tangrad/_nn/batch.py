"""How the activations are mapped."""

from __future__ import annotations

from typing import Any

from tangrad._nn.primitives import GATED, log1mexp_p, relu6_p, relu_p, softmax_p, softplus_p
from tangrad.batching import elementwise_batch
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)
elementwise_batch(batch, relu_p, relu6_p, softplus_p, log1mexp_p, *GATED)


@batch.rule(softmax_p)
def _softmax(args: Any, dims: Any, *, axis_info: Any, axes: tuple[int, ...]) -> Any:
    (x,), (dim,) = args, dims
    return softmax_p.bind(x, axes=tuple([axis + (axis >= dim) for axis in axes])), dim
