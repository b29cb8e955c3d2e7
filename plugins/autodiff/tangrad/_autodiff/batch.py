"""The batch rules of autodiff's own family."""

from __future__ import annotations

from typing import Any

from tangrad._autodiff.primitives import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p, zeros_p
from tangrad.batching import elementwise_batch, move_axis, place_axis
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)
elementwise_batch(batch, set_weak_type_p)
batch.not_applicable("it has no arguments", zeros_p)


@batch.rule(add_any_p)
def _(args: Any, dims: Any, *, axis_info: Any) -> Any:
    # Both have one type: a scalar that is not mapped must not be left beside one that is.
    dim = dims[0] if dims[0] is not None else dims[1]
    return add_any_p.bind(*[_at(arg, d, dim, axis_info.size) for arg, d in zip(args, dims, strict=True)]), dim


def _at(value: Any, source: int | None, dim: int, size: Any) -> Any:
    return value if source == dim else place_axis(value, source, dim, size)


@batch.rule(append_dims_p)
def _(args: Any, dims: Any, *, axis_info: Any, sizes: Any) -> Any:
    return append_dims_p.bind(args[0], sizes=sizes), dims[0]


@batch.rule(sum_trailing_p)
def _(args: Any, dims: Any, *, axis_info: Any, count: int) -> Any:
    return sum_trailing_p.bind(move_axis(args[0], dims[0], 0), count=count), 0
