"""How a constraint is mapped: the mapped dimension lies along the mesh axes that `spmd_axis_name` says, or is free."""

from __future__ import annotations

from typing import Any

from tangrad.core import RuleSet
from tangrad.shardings.primitives import sharding_constraint_p

batch = RuleSet("batch", api=1)


@batch.rule(sharding_constraint_p)
def _(args: Any, dims: Any, *, axis_info: Any, sharding: Any) -> Any:
    (x,), (dim,) = args, dims
    wider = sharding.with_dimension(dim, len(x.aval.shape) - 1, axis_info.spmd_name)
    return sharding_constraint_p.bind(x, sharding=wider), dim
