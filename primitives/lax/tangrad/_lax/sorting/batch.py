"""How sorting acts on mapped axes: the first operand's stays where it is."""

from __future__ import annotations

from typing import Any

from tangrad._lax.sorting.approximate import approx_top_k_p
from tangrad._lax.sorting.primitives import sort_p, top_k_p
from tangrad.batching import place_axis
from tangrad.core import Primitive, RuleSet

batch = RuleSet("batch", api=1)


@batch.rule(sort_p)
def _sort(args: Any, dims: Any, *, axis_info: Any, dimension: int, **params: Any) -> Any:
    place = next(dim for dim in dims if dim is not None)
    operands = [place_axis(arg, dim, place, axis_info.size) for arg, dim in zip(args, dims)]
    outs = sort_p.bind(*operands, dimension=dimension + (place <= dimension), **params)
    return outs, (place,) * len(outs)


def _selection(primitive: Primitive) -> None:
    """Register the rule of a primitive that gives elements along `axis`, and where they were."""

    @batch.rule(primitive)
    def _(args: Any, dims: Any, *, axis_info: Any, axis: int, **params: Any) -> Any:
        (operand,), (dim,) = args, dims
        return primitive.bind(operand, axis=axis + (dim <= axis), **params), (dim, dim)


_selection(top_k_p)
_selection(approx_top_k_p)
