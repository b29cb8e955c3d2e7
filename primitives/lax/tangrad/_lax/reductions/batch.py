"""How reductions and running totals act on mapped axes: these stay where they are, theirs are counted around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._lax.reductions import primitives as p
from tangrad.batching import AxisInfo, batch_flat, place_axis, reduction_batch
from tangrad.core import Array, ClosedJaxpr, Primitive, RuleSet
from tangrad.typing import Dims, Value, Values

if TYPE_CHECKING:
    pass

batch = RuleSet("batch", api=1)

reduction_batch(batch, p.reduce_sum_p, p.reduce_prod_p, p.reduce_max_p, p.reduce_min_p)
reduction_batch(batch, p.reduce_and_p, p.reduce_or_p, p.reduce_xor_p, p.argmax_p, p.argmin_p)


def _running(primitive: Primitive) -> Callable[..., tuple[Array, int]]:
    def rule(
        args: Values, dims: tuple[int, ...], *, axis_info: AxisInfo, axis: int, reverse: bool
    ) -> tuple[Array, int]:
        (operand,), (dim,) = args, dims
        return primitive.bind(operand, axis=axis + (dim <= axis), reverse=reverse), dim

    return rule


batch.table({each: _running(each) for each in (p.cumsum_p, p.cumprod_p, p.cummax_p, p.cummin_p, p.cumlogsumexp_p)})


@batch.rule(p.reduce_p)
def _reduce(
    args: Values, dims: Dims, *, axis_info: AxisInfo, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]
) -> tuple[Sequence[Value], Sequence[int | None]]:
    count = len(args) // 2
    if any([dim is not None for dim in dims[count:]]):
        # One initial value for each example: no single reduction has that, but the tree has.
        decompose: Any = p.reduce_p.decompose

        def tree(*values: object) -> Any:
            return decompose(*values, jaxpr=jaxpr, dimensions=dimensions)

        reduced, out_dims = batch_flat(tree, args, dims, axis_info)
        return tuple(reduced), tuple(out_dims)
    operands = [place_axis(arg, dim, 0, axis_info.size) for arg, dim in zip(args[:count], dims)]
    outs = p.reduce_p.bind(*operands, *args[count:], jaxpr=jaxpr, dimensions=tuple([d + 1 for d in dimensions]))
    return outs, (0,) * count
