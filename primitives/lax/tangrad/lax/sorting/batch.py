"""How sorting acts on mapped axes: the first operand's stays where it is."""

from __future__ import annotations

from typing import Any

from tangrad.batching import place_axis
from tangrad.core import RuleSet
from tangrad.lax.sorting.primitives import sort_p, top_k_p

batch = RuleSet("batch", api=1)


@batch.rule(sort_p)
def _sort(args: Any, dims: Any, *, axis_info: Any, dimension: int, **params: Any) -> Any:
    place = next(dim for dim in dims if dim is not None)
    operands = [place_axis(arg, dim, place, axis_info.size) for arg, dim in zip(args, dims)]
    outs = sort_p.bind(*operands, dimension=dimension + (place <= dimension), **params)
    return outs, (place,) * len(outs)


@batch.rule(top_k_p)
def _top_k(args: Any, dims: Any, *, axis_info: Any, k: Any, axis: int) -> Any:
    (operand,), (dim,) = args, dims
    return top_k_p.bind(operand, k=k, axis=axis + (dim <= axis)), (dim, dim)
