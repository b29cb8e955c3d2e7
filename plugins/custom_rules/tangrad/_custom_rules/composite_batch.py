"""How composites are mapped: they stay one operation, whose definition is mapped."""

from __future__ import annotations

from typing import Any

from tangrad._custom_rules.composites import composite_p
from tangrad.batching import batch_jaxpr, to_front
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)


@batch.rule(composite_p)
def _batch(args: Any, dims: Any, *, axis_info: Any, jaxpr: Any, **params: Any) -> Any:
    program, out_mapped = batch_jaxpr(jaxpr, tuple([dim is not None for dim in dims]), axis_info)
    operands = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
    outs = composite_p.bind(*operands, jaxpr=program, **params)
    return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])
