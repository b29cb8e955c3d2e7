"""How decompositions and systems act on mapped axes: as one more dimension of the batch, or more right-hand sides."""

from __future__ import annotations

from typing import Any

from tangrad._lax.decompositions import primitives as p
from tangrad._lax.decompositions import systems as q
from tangrad._lax.structure.primitives import reshape_p
from tangrad.batching import front_batch, move_axis, place_axis
from tangrad.core import RuleSet

decompositions = RuleSet("batch", api=1)
for _primitive in p.decompositions.primitives.values():
    front_batch(decompositions, _primitive, _primitive.bind)

systems = RuleSet("batch", api=1)
for _primitive in (q.determinant_p, q.adjugate_p, q.pseudoinverse_p, q.tridiagonal_solve_p):
    front_batch(systems, _primitive, _primitive.bind)


@systems.rule(q.solve_p)
def _solve(args: Any, dims: Any, *, axis_info: Any) -> Any:
    (a, b), (a_dim, b_dim) = args, dims
    if a_dim is not None:
        return q.solve_p.bind(place_axis(a, a_dim, 0, axis_info.size), place_axis(b, b_dim, 0, axis_info.size)), 0
    # One matrix for all: their right-hand sides stand side by side, and it is factored once.
    last = b.aval.ndim - 1
    b = move_axis(b, b_dim, last)
    shape = b.aval.shape
    joined = (*shape[: last - 1], shape[last - 1] * shape[last])
    out = q.solve_p.bind(a, reshape_p.bind(b, new_sizes=joined, dimensions=None))
    return reshape_p.bind(out, new_sizes=shape, dimensions=None), last
