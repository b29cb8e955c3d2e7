"""How a checkpointed call is mapped: its program is."""

from __future__ import annotations

from typing import Any

from tangrad._custom_rules.checkpoint.primitives import name_p, remat_p
from tangrad.batching import batch_jaxpr, elementwise_batch, to_front
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)
elementwise_batch(batch, name_p)


@batch.rule(remat_p)
def _(args: Any, dims: Any, *, axis_info: Any, jaxpr: Any, **params: Any) -> Any:
    program, out_mapped = batch_jaxpr(jaxpr, tuple([dim is not None for dim in dims]), axis_info)
    outs = remat_p.bind(*[to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)], jaxpr=program, **params)
    return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])
