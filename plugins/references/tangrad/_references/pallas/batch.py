"""Kernels under `vmap`: the rows are one more dimension of the grid, the first; the kernel does not see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._references.pallas.functions import INDEX
from tangrad._references.pallas.interpretation import Layout, interpreted, pallas_call_p
from tangrad.batching import batch_jaxpr, to_front, vmap
from tangrad.core import Array, ClosedJaxpr, RuleSet, Var, as_operand, eval_jaxpr, trace_to_closed_jaxpr
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.extend.lax import broadcast_in_dim, index_in_dim

if TYPE_CHECKING:
    from tangrad._references.pallas.grids import Block
    from tangrad.batching import AxisInfo
    from tangrad.typing import Dims, Value, Values

batch = RuleSet("batch", api=1)
_kernels, _index_maps = JaxprCache(), JaxprCache()
register_cache(_kernels.clear)
register_cache(_index_maps.clear)


@batch.rule(pallas_call_p)
def _batch(
    args: Values,
    dims: Dims,
    *,
    axis_info: AxisInfo,
    grid: tuple[int | None, ...],
    layout: Layout,
    blocks: tuple[Block, ...],
    **params: Any,
) -> tuple[Sequence[Value], Sequence[int | None]]:
    first = len(args) - layout.inputs
    if any([dim is not None for dim in dims[:first]]):  # all rows at once, each as the loop that it is
        run = lambda *operands: interpreted(*operands, grid=grid, layout=layout, blocks=blocks, **params)
        return vmap(run, in_axes=tuple(dims), axis_size=axis_info.size)(*args), (0,) * len(params["out_types"])
    out_types = tuple([aval.update(shape=(axis_info.size, *aval.shape)) for aval in params["out_types"]])
    aliased = {operand + first - layout.prefetched for operand, _ in params["aliases"]}
    operands, mapped = list(args), [False] * layout.inputs + [True] * len(out_types)
    for place in range(first, len(args)):
        if dims[place] is not None:
            operands[place], mapped[place - first] = to_front(args[place], dims[place]), True
        elif place in aliased:
            operands[place], mapped[place - first] = _repeated(args[place], axis_info.size), True
    flags = tuple(mapped)
    whole: dict[str, object] = {
        "grid": (axis_info.size, *grid),
        "layout": layout,
        "blocks": tuple(
            [block.mapped() if is_mapped else block for block, is_mapped in zip(blocks, flags, strict=True)]
        ),
        "jaxpr": _with_row(params["jaxpr"], layout.captured),
        "index_map": _with_row_starts(params["index_map"], len(grid), [len(block.sizes) for block in blocks], flags),
        "out_types": out_types,
    }
    outs = pallas_call_p.bind(*operands, **{**params, **whole})
    differ = _which_differ(params["jaxpr"], params["aliases"], layout, flags, axis_info)
    rows = [out if differs else index_in_dim(out, 0, keepdims=False) for out, differs in zip(outs, differ, strict=True)]
    return rows, tuple([0 if differs else None for differs in differ])


def _which_differ(
    closed: ClosedJaxpr,
    aliases: Sequence[tuple[int, int]],
    layout: Layout,
    mapped: tuple[bool, ...],
    axis_info: AxisInfo,
) -> list[bool]:
    """Which results differ between rows: all where all inputs have rows, else those that depend on one that has.

    A derivative in several directions has values once: `jacfwd` asks for them.
    """
    count = len(mapped) - layout.inputs
    inputs = mapped[: layout.inputs]
    if axis_info.size == 0 or all(inputs):
        return [True] * count
    first = len(closed.in_avals) - len(mapped) - layout.scratch
    flags = [*inputs, *[False] * (count + layout.scratch)]
    for operand, result in aliases:
        flags[layout.inputs + result] = inputs[operand - layout.prefetched]
    while True:  # what one run writes the next one reads
        _, found = batch_jaxpr(closed, (*[False] * first, *flags), axis_info)
        behind = [a or b for a, b in zip(flags, found[layout.prefetched :], strict=True)]
        if behind == flags:
            return flags[layout.inputs : layout.inputs + count]
        flags = behind


def _repeated(value: Value, size: int) -> Array:
    value = as_operand(value)
    return broadcast_in_dim(value, (size, *value.aval.shape), tuple(range(1, value.aval.ndim + 1)))


def _with_row(closed: ClosedJaxpr, captured: int) -> ClosedJaxpr:
    """The program of a kernel with one more program id, which it does not look at."""
    jaxpr = closed.jaxpr

    def make() -> ClosedJaxpr:
        invars = [*jaxpr.invars[:captured], Var(INDEX), *jaxpr.invars[captured:]]
        return ClosedJaxpr(jaxpr.replace(invars=invars), closed.consts)

    return _kernels.get(closed, captured, make)


def _with_row_starts(closed: ClosedJaxpr, ids: int, ranks: list[int], mapped: tuple[bool, ...]) -> ClosedJaxpr:
    """The index maps with one more program id, where blocks of arrays with rows start."""

    def starts(row: object, *values: object) -> list[Any]:
        found = iter(eval_jaxpr(closed.jaxpr, closed.consts, *values))
        made: list[Any] = []
        for rank, is_mapped in zip(ranks, mapped, strict=True):
            made += [row] * is_mapped + [next(found) for _ in range(rank)]
        return made

    make = lambda: trace_to_closed_jaxpr(starts, [INDEX, *closed.in_avals], "index maps")
    return _index_maps.get(closed, (ids, tuple(ranks), mapped), make)
