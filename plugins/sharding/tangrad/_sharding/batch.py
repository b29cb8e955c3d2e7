"""How constraints are mapped: the mapped dimension lies along the mesh axes that `spmd_axis_name` says, or is free.

Where types tell, it stays as it lies.
"""

from __future__ import annotations

from typing import Any

from tangrad._sharding.primitives import auto_axes_p, sharding_constraint_p
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)


@batch.rule(sharding_constraint_p)
def _(args: Any, dims: Any, *, axis_info: Any, sharding: Any) -> Any:
    (x,), (dim,) = args, dims
    axes = axis_info.spmd_name
    if axes is None and x.aval.finer is not None and x.aval.axes[dim]:
        axes = x.aval.axes[dim]
    wider = sharding.with_dimension(dim, len(x.aval.shape) - 1, axes)
    return sharding_constraint_p.bind(x, sharding=wider), dim


@batch.rule(auto_axes_p)
def _(args: Any, dims: Any, *, axis_info: Any, axes: Any) -> Any:
    return auto_axes_p.bind(args[0], axes=axes), dims[0]
