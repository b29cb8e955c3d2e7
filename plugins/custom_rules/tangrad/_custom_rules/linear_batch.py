"""How linear calls are mapped: both of their programs are."""

from __future__ import annotations

from typing import Any

from tangrad._custom_rules.linear import Later, linear_call_p, made
from tangrad.batching import batch_jaxpr, place_axis, to_front
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)


@batch.rule(linear_call_p)
def _batch(args: Any, dims: Any, *, axis_info: Any, jaxpr: Any, transposed: Any, num_res: int) -> Any:
    residuals = [to_front(arg, dim) for arg, dim in zip(args[:num_res], dims[:num_res], strict=True)]
    linear = [place_axis(arg, dim, 0, axis_info.size) for arg, dim in zip(args[num_res:], dims[num_res:], strict=True)]
    mapped = [dim is not None for dim in dims[:num_res]]
    forward, _ = batch_jaxpr(jaxpr, [*mapped, *[True] * len(linear)], axis_info, instantiate=True)
    given = [*mapped, *[True] * len(jaxpr.out_avals)]
    batched = lambda: batch_jaxpr(made(transposed), given, axis_info, instantiate=True)[0]
    backward: Any = Later(batched) if type(transposed) is Later else batched()
    outs = linear_call_p.bind(*residuals, *linear, jaxpr=forward, transposed=backward, num_res=num_res)
    return outs, (0,) * len(outs)
