"""Sparse arrays in other shapes and orders, parts of them, and several joined."""

from __future__ import annotations

from typing import Any

from tangrad._sparse import parts, shapes
from tangrad._sparse.base import as_coordinates
from tangrad._sparse.conversions import all_sparse
from tangrad._sparse.rule_helpers import of_values
from tangrad.core import RuleSet
from tangrad.extend import lax as p

sparse: RuleSet[Any] = RuleSet("sparse", api=1)

of_values(sparse, p.copy_p, p.stop_gradient_p)


@sparse.rule(p.broadcast_in_dim_p)
def _(x: Any, *, shape: Any, broadcast_dimensions: Any) -> Any:
    return x.to_bcoo().broadcast_in_dim(shape, broadcast_dimensions)


@sparse.rule(p.reshape_p)
def _(x: Any, *, new_sizes: Any, dimensions: Any) -> Any:
    x = x.to_bcoo()
    return shapes.reshaped(x if dimensions is None else x.transpose(dimensions), new_sizes)


@sparse.rule(p.transpose_p)
def _(x: Any, *, permutation: Any) -> Any:
    return x.transpose(permutation)


@sparse.rule(p.squeeze_p)
def _(x: Any, *, dimensions: Any) -> Any:
    return parts.squeezed(x.to_bcoo(), dimensions)


@sparse.rule(p.rev_p)
def _(x: Any, *, dimensions: Any) -> Any:
    return parts.reversed_along(x.to_bcoo(), dimensions)


@sparse.rule(p.slice_p)
def _(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    return parts.sliced(x.to_bcoo(), start_indices, limit_indices, strides or (1,) * x.ndim)


@sparse.rule(p.dynamic_slice_p)
def _(x: Any, *starts: Any, slice_sizes: Any) -> Any:
    return parts.dynamically_sliced(x.to_bcoo(), starts, slice_sizes)


@sparse.rule(p.concatenate_p)
def _(*operands: Any, dimension: int) -> Any:
    return shapes.joined(all_sparse("concatenate", [as_coordinates(one) for one in operands]), dimension)
