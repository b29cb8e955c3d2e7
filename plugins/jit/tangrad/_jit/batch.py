"""How a call of a jitted function is mapped: its program is."""

from __future__ import annotations

from typing import Any

from tangrad._jit.primitives import jit_p
from tangrad.batching import batch_jaxpr, to_front
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)


@batch.rule(jit_p)
def _(args: Any, dims: Any, *, axis_info: Any, jaxpr: Any, name: str) -> Any:
    mapped = tuple([dim is not None for dim in dims])
    program, out_mapped = batch_jaxpr(jaxpr, mapped, axis_info)
    outs = jit_p.bind(*[to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)], jaxpr=program, name=name)
    return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])
