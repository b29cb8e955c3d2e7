"""How results of the structural primitives are sharded: dimension by dimension as what they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.structure import primitives as p
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.sharding import Axes, Operand, Unclear, dropping, joined, positionwise
from tangrad.typing import Params

sharding = RuleSet("sharding", api=1)
positionwise(sharding, p.copy_p, p.stop_gradient_p, p.rev_p)
dropping("dimensions", sharding, p.squeeze_p)


@sharding.rule(p.optimization_barrier_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return tuple([operand.axes for operand in operands])


@sharding.rule(p.slice_p, p.dynamic_slice_p, p.pad_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """A part is sharded as the whole, if its sizes divide: that is checked for every result."""
    return (operands[0].axes,)


@sharding.rule(p.split_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (operands[0].axes,) * len(results)


@sharding.rule(p.concatenate_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (joined([operand.axes for operand in operands]),)


@sharding.rule(p.dynamic_update_slice_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """The part that is written is sharded as what it is written over."""
    return (joined([operand.axes for operand in operands[:2]]),)


@sharding.rule(p.transpose_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (tuple([operands[0].axes[dimension] for dimension in params["permutation"]]),)


@sharding.rule(p.broadcast_in_dim_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """A dimension of size 1 that is repeated is whole."""
    axes: list[tuple[Any, ...]] = [()] * results[0].ndim
    for dimension, place in enumerate(params["broadcast_dimensions"]):
        if operands[0].aval.shape[dimension] == results[0].shape[place]:
            axes[place] = operands[0].axes[dimension]
    return (tuple(axes),)


@sharding.rule(p.reshape_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    operand, shape = operands[0], results[0].shape
    order = params["dimensions"] or range(operand.aval.ndim)
    if list(order) != list(range(operand.aval.ndim)):
        raise Unclear("the dimensions are taken in another order; transpose first")
    return (reshaped(operand.aval.shape, operand.axes, shape),)


def reshaped(old: Sequence[int], axes: Axes, new: Sequence[int]) -> Axes:
    """How an array of shape `old`, cut by `axes`, is sharded when it has shape `new`.

    Shapes fall into the shortest runs of dimensions with equal products. A dimension that stays keeps its axes. Where
    one is divided into several, the foremost of these gets them; where several join in one, that gets the axes of all,
    of which the foremost must be cut before others are. Raises Unclear for any other that is cut.
    """
    found: list[tuple[Any, ...]] = []
    for before, after in _runs(old, new):
        wide = [at for at in before if old[at] != 1 or axes[at]]
        cut = [at for at in wide if axes[at]]
        whole: list[tuple[Any, ...]] = [()] * len(after)
        if cut:
            places = [number for number, at in enumerate(after) if new[at] != 1] or list(range(len(after)))
            if not places or cut != wide[: len(cut)] or len(cut) > 1 < len(places):
                raise Unclear(
                    f"dimension {cut[-1]}, which is cut along {axes[cut[-1]]}, is joined with others before it"
                )
            whole[places[0]] = tuple([axis for at in cut for axis in axes[at]])
        found.extend(whole)
    return tuple(found)


def _runs(old: Sequence[int], new: Sequence[int]) -> list[tuple[range, range]]:
    """Dimensions of two shapes of one size, in runs of equal products."""
    if 0 in old:
        return [(range(len(old)), range(len(new)))]
    runs, start, other_start = [], 0, 0
    while start < len(old) or other_start < len(new):
        end, other_end = min(start + 1, len(old)), min(other_start + 1, len(new))
        left, right = _product(old[start:end]), _product(new[other_start:other_end])
        while left != right:
            if left < right:
                left *= old[end]
                end += 1
            else:
                right *= new[other_end]
                other_end += 1
        runs.append((range(start, end), range(other_start, other_end)))
        start, other_start = end, other_end
    return runs


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total
