"""Shardings of results of contractions: batch dimensions as both operands, others as their operand."""

from __future__ import annotations

from tangrad._lax.contractions.primitives import dot_general_p, free_axes
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.sharding import Axes, Operand, Unclear, joined
from tangrad.typing import Params

sharding = RuleSet("sharding", api=1)


@sharding.rule(dot_general_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    lhs, rhs = operands[0].axes, operands[1].axes
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = params["dimension_numbers"]
    for left, right in zip(lhs_contract, rhs_contract, strict=True):
        if lhs[left] and rhs[right]:
            how = f"along {lhs[left]}" if lhs[left] == rhs[right] else f"along {lhs[left]} and along {rhs[right]}"
            raise Unclear(f"the contracting dimensions {left} of lhs and {right} of rhs are cut {how}")
    batch = joined([tuple([lhs[axis] for axis in lhs_batch]), tuple([rhs[axis] for axis in rhs_batch])])
    left_free = [lhs[axis] for axis in free_axes(len(lhs), lhs_contract, lhs_batch)]
    right_free = [rhs[axis] for axis in free_axes(len(rhs), rhs_contract, rhs_batch)]
    return ((*batch, *left_free, *right_free),)
