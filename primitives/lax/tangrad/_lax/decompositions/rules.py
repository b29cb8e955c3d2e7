"""The rules of decompositions and systems of mapped and padded arrays of matrices: each matrix by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._lax.decompositions import primitives as p
from tangrad._lax.decompositions import systems as q
from tangrad._lax.structure.primitives import reshape_p
from tangrad.core import RuleSet
from tangrad.typing import Dims, Value, Values

if TYPE_CHECKING:
    from tangrad.batching import AxisInfo

_OF_ONE_MATRIX = (p.lu_p, p.geqrf_p, p.geqp3_p, p.svd_p, p.eigh_p, p.eig_p, p.schur_p, p.hessenberg_p, p.tridiagonal_p)

# The size of a matrix itself must not be masked.
mask = RuleSet("mask", api=1)
mask.form("stacked", *_OF_ONE_MATRIX, using=[2])
mask.form("stacked", p.lu_pivots_to_permutation_p, using=[1])

systems_mask = RuleSet("mask", api=1)
systems_mask.form("stacked", q.tridiagonal_solve_p, using=[(1, 1, 1, 2)])

# A mapped axis is one more dimension of the batch, or more right-hand sides.
batch = RuleSet("batch", api=1)
batch.form("front", *p.decompositions.primitives.values())

systems_batch = RuleSet("batch", api=1)
systems_batch.form(
    "front", q.determinant_p, q.log_determinant_p, q.adjugate_p, q.pseudoinverse_p, q.tridiagonal_solve_p
)


@systems_batch.rule(q.solve_p)
def _solve(args: Values, dims: Dims, *, axis_info: AxisInfo) -> tuple[Value, int | None]:
    (a, b), (a_dim, b_dim) = args, dims
    if a_dim is not None:
        return q.solve_p.bind(axis_info.place(a, a_dim, 0), axis_info.place(b, b_dim, 0)), 0
    # One matrix for all: their right-hand sides stand side by side, and it is factored once.
    last = b.aval.ndim - 1
    b = axis_info.place(b, b_dim, last)
    shape = b.aval.shape
    joined = (*shape[: last - 1], shape[last - 1] * shape[last])
    out = q.solve_p.bind(a, reshape_p.bind(b, new_sizes=joined, dimensions=None))
    return reshape_p.bind(out, new_sizes=shape, dimensions=None), last
