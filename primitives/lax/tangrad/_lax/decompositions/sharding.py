"""How results of decompositions and systems are sharded: batches as the operands', whose matrices must be whole."""

from __future__ import annotations

from tangrad._lax.decompositions import primitives as p
from tangrad._lax.decompositions.systems import adjugate_p, determinant_p, pseudoinverse_p, solve_p, tridiagonal_solve_p
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.sharding import Axes, Operand, joined, stacked, uncut_along
from tangrad.typing import Params

decompositions = RuleSet("sharding", api=1)
systems = RuleSet("sharding", api=1)

_OF_ONE_MATRIX = (
    p.lu_p,
    p.geqrf_p,
    p.geqp3_p,
    p.qr_p,
    p.svd_p,
    p.eigh_p,
    p.eig_p,
    p.schur_p,
    p.hessenberg_p,
    p.tridiagonal_p,
)
stacked(
    decompositions,
    {**dict.fromkeys(_OF_ONE_MATRIX, 2), p.lu_pivots_to_permutation_p: 1, p.householder_product_p: (2, 1)},
)
stacked(systems, {determinant_p: 2, adjugate_p: 2, pseudoinverse_p: (2, 0), tridiagonal_solve_p: (1, 1, 1, 2)})


@systems.rule(solve_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Columns of the right-hand sides are solved one by one: they may be sharded."""
    a, b = operands
    rank = len(a.axes)
    uncut_along(a, (rank - 2, rank - 1), "a linear system")
    uncut_along(b, (rank - 2,), "a linear system")
    return ((*joined([a.axes[:-2], b.axes[:-2]]), (), b.axes[-1]),)
