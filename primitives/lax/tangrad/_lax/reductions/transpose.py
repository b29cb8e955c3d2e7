"""How the reductions that are linear map cotangents back. `reduce` is transposed through its decomposition."""

from __future__ import annotations

from typing import Any

from tangrad._lax.reductions.primitives import cumsum_p, reduce_p, reduce_sum_p, reductions
from tangrad._lax.structure.primitives import broadcast_in_dim_p
from tangrad.autodiff import linear_transpose_rule
from tangrad.core import RuleSet

transpose = RuleSet("transpose", api=1)


def _reduce_sum(ct: Any, operand: Any, *, axes: tuple[int, ...]) -> Any:
    kept = tuple([axis for axis in range(operand.ndim) if axis not in axes])
    return broadcast_in_dim_p.bind(ct, shape=operand.shape, broadcast_dimensions=kept)


def _cumsum(ct: Any, operand: Any, *, axis: int, reverse: bool) -> Any:
    return cumsum_p.bind(ct, axis=axis, reverse=not reverse)


linear_transpose_rule(transpose, reduce_sum_p, _reduce_sum)
linear_transpose_rule(transpose, cumsum_p, _cumsum)
transpose.not_applicable(
    "it is not linear",
    *[p for p in reductions.primitives.values() if p not in transpose.rules and p is not reduce_p],
)
