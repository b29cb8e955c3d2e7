"""How results of convolutions and of reductions over windows are sharded: as the operands, where sizes divide."""

from __future__ import annotations

from typing import Any

from tangrad._lax.windows import primitives as p
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.sharding import Axes, Operand, Unclear, joined, uncut_along
from tangrad.typing import Params

sharding = RuleSet("sharding", api=1)


@sharding.rule(p.conv_general_dilated_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Examples and places are sharded as those of lhs, features as the kernel says, whose windows must be whole."""
    lhs, rhs = operands
    numbers = params["dimension_numbers"]
    if params["feature_group_count"] != 1 or params["batch_group_count"] != 1:
        raise Unclear("it has groups")
    (batch, feature, *places), (out, inner, *window) = numbers.lhs_spec, numbers.rhs_spec
    uncut_along(rhs, window, "a convolution")
    if lhs.axes[feature] and rhs.axes[inner]:
        raise Unclear(f"the features that it sums over are cut along {lhs.axes[feature]} and {rhs.axes[inner]}")
    axes: list[tuple[Any, ...]] = [()] * len(lhs.axes)
    cuts = [lhs.axes[batch], rhs.axes[out], *[lhs.axes[place] for place in places]]
    for dimension, cut in zip(numbers.out_spec, cuts, strict=True):
        axes[dimension] = cut
    return (tuple(axes),)


@sharding.rule(p.reduce_window_sum_p, p.reduce_window_max_p, p.reduce_window_min_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Windows are sharded as the operand is; that their number divides is checked for every result."""
    return (operands[0].axes,)


@sharding.rule(p.reduce_window_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (joined([operand.axes for operand in operands[: len(results)]]),) * len(results)


@sharding.rule(p.select_and_gather_add_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (joined([operand.axes for operand in operands]),)


@sharding.rule(p.select_and_scatter_add_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """What is scattered over the operand is sharded as it is."""
    return (joined([operands[1].axes, operands[0].axes]),)
