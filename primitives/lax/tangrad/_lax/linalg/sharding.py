"""Shardings of factors and solutions of triangular systems: batches as the operands', whose matrices must be whole."""

from __future__ import annotations

from tangrad._lax.linalg.primitives import cholesky_p, cholesky_update_p, triangular_solve_p
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.sharding import Axes, Operand, joined, stacked, uncut_along
from tangrad.typing import Params

sharding = RuleSet("sharding", api=1)
stacked(sharding, {cholesky_p: 2, cholesky_update_p: (2, 1)})


@sharding.rule(triangular_solve_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Right-hand sides are solved one by one: the dimension that numbers them may be cut."""
    a, b = operands
    rank = len(a.axes)
    side, number = (rank - 2, rank - 1) if params["left_side"] else (rank - 1, rank - 2)
    uncut_along(a, (rank - 2, rank - 1), "a triangular system")
    uncut_along(b, (side,), "a triangular system")
    axes = [*joined([a.axes[:-2], b.axes[:-2]]), (), ()]
    axes[number] = b.axes[number]
    return (tuple(axes),)
