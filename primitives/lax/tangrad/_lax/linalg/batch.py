"""How factorisations and solutions act on mapped axes: as one more dimension of the batch, or more right-hand sides."""

from __future__ import annotations

from typing import Any

from tangrad._lax.linalg.primitives import cholesky_p, cholesky_update_p, triangular_solve_p
from tangrad._lax.structure.primitives import reshape_p
from tangrad.batching import front_batch, move_axis, place_axis
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)

front_batch(batch, cholesky_p, cholesky_p.bind)
front_batch(batch, cholesky_update_p, cholesky_update_p.bind)


@batch.rule(triangular_solve_p)
def _triangular_solve(args: Any, dims: Any, *, axis_info: Any, **params: Any) -> Any:
    (a, b), (a_dim, b_dim) = args, dims
    if a_dim is not None:
        a, b = place_axis(a, a_dim, 0, axis_info.size), place_axis(b, b_dim, 0, axis_info.size)
        return triangular_solve_p.bind(a, b, **params), 0
    # One matrix for all: their right-hand sides stand side by side.
    rank = b.aval.ndim
    position = rank - 1 if params["left_side"] else rank - 2
    b = move_axis(b, b_dim, position)
    shape = b.aval.shape
    joined = (*shape[: position - 1], shape[position - 1] * shape[position], *shape[position + 1 :])
    out = triangular_solve_p.bind(a, reshape_p.bind(b, new_sizes=joined, dimensions=None), **params)
    return reshape_p.bind(out, new_sizes=shape, dimensions=None), position
