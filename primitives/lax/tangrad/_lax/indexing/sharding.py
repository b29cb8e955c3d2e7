"""How results of gather and scatter are sharded: slices as the operand, what is gathered as the indices."""

from __future__ import annotations

from tangrad._lax.indexing import primitives as p
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.sharding import Axes, Operand, uncut_along
from tangrad.typing import Params

sharding = RuleSet("sharding", api=1)


@sharding.rule(p.gather_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Dimensions of the operand of which a slice is taken must be whole."""
    operand, indices = operands
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    batching = numbers.operand_batching_dims
    sliced = [
        dim for dim, (size, whole) in enumerate(zip(sizes, operand.aval.shape, strict=True))
        if size != whole and dim not in batching
    ]  # fmt: skip
    uncut_along(operand, sliced, "a gather from it")
    uncut_along(indices, (len(indices.axes) - 1,), "an index")
    dropped = (*numbers.collapsed_slice_dims, *batching)
    window = iter([cut for dim, cut in enumerate(operand.axes) if dim not in dropped])
    batch = list(indices.axes[:-1])
    for dim, place in zip(batching, numbers.start_indices_batching_dims, strict=True):
        batch[place] = batch[place] or operand.axes[dim]
    rest = iter(batch)
    return (tuple([next(window if dim in numbers.offset_dims else rest) for dim in range(results[0].ndim)]),)


@sharding.rule(p.scatter_p, p.scatter_add_p, p.scatter_sub_p, p.scatter_mul_p, p.scatter_min_p, p.scatter_max_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """The operand stays where it is; updates are brought to it."""
    return (operands[0].axes,)
