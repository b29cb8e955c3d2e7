"""The rules of reductions that take a line or a few; those of mapped and padded arrays have files of their own."""

from __future__ import annotations

from tangrad._lax.reductions import primitives as p
from tangrad._lax.structure.primitives import broadcast_in_dim_p
from tangrad.core import Array, RuleSet, ShapedArray
from tangrad.typing import Value

# Those that choose an element hand NaN on, but make none.
checkify = RuleSet("checkify", api=1)
checkify.form("handed on", p.reduce_max_p, p.reduce_min_p, p.cummax_p, p.cummin_p)

# `reduce` is transposed through its decomposition.
transpose = RuleSet("transpose", api=1)


def _reduce_sum(ct: Value, operand: ShapedArray, *, axes: tuple[int, ...]) -> Array:
    kept = tuple([axis for axis in range(operand.ndim) if axis not in axes])
    return broadcast_in_dim_p.bind(ct, shape=operand.shape, broadcast_dimensions=kept)


def _cumsum(ct: Value, operand: ShapedArray, *, axis: int, reverse: bool) -> Array:
    return p.cumsum_p.bind(ct, axis=axis, reverse=not reverse)


transpose.form("linear", p.reduce_sum_p, using=[_reduce_sum])
transpose.form("linear", p.cumsum_p, using=[_cumsum])
transpose.not_applicable(
    "it is not linear",
    *[each for each in p.reductions.primitives.values() if each not in transpose.rules and each is not p.reduce_p],
)
