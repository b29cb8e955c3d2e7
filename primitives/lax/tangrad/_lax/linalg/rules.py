"""The rules of factors and triangular systems, but for derivatives and shardings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._lax.linalg.primitives import cholesky_p, cholesky_update_p, triangular_solve_p
from tangrad._lax.structure.primitives import reshape_p
from tangrad.core import RuleSet
from tangrad.typing import Dims, Value, Values

if TYPE_CHECKING:
    from tangrad.batching import AxisInfo

# Each matrix by itself; its own size must not be masked.
mask = RuleSet("mask", api=1)
mask.form("stacked", cholesky_p, triangular_solve_p, using=[2])
mask.form("stacked", cholesky_update_p, using=[(2, 1)])

# A mapped axis is one more dimension of the batch, or more right-hand sides.
batch = RuleSet("batch", api=1)
batch.form("front", cholesky_p, cholesky_update_p)


@batch.rule(triangular_solve_p)
def _triangular_solve(args: Values, dims: Dims, *, axis_info: AxisInfo, **params: object) -> tuple[Value, int | None]:
    (a, b), (a_dim, b_dim) = args, dims
    if a_dim is not None:
        a, b = axis_info.place(a, a_dim, 0), axis_info.place(b, b_dim, 0)
        return triangular_solve_p.bind(a, b, **params), 0
    # One matrix for all: their right-hand sides stand side by side.
    rank = b.aval.ndim
    position = rank - 1 if params["left_side"] else rank - 2
    b = axis_info.place(b, b_dim, position)
    shape = b.aval.shape
    joined = (*shape[: position - 1], shape[position - 1] * shape[position], *shape[position + 1 :])
    out = triangular_solve_p.bind(a, reshape_p.bind(b, new_sizes=joined, dimensions=None), **params)
    return reshape_p.bind(out, new_sizes=shape, dimensions=None), position
