"""Batch rules of constraints: the mapped dimension is sharded along `spmd_axis_name`, or unconstrained.

Where types have shardings, it keeps its own.
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
    if axes is None and x.aval.infer_types is not None and x.aval.axes[dim]:
        axes = x.aval.axes[dim]
    wider = sharding.with_dimension(dim, len(x.aval.shape) - 1, axes)
    return sharding_constraint_p.bind(x, sharding=wider), dim


@batch.rule(auto_axes_p)
def _(args: Any, dims: Any, *, axis_info: Any, axes: Any) -> Any:
    return auto_axes_p.bind(args[0], axes=axes), dims[0]
