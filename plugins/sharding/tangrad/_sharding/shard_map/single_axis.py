"""`smap`: a sharded map over one axis of the mesh, which says by numbers along which dimensions arrays are cut."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ParamSpec, TypeVar, overload

from tangrad import tree
from tangrad._sharding.shard_map.functions import shard_map
from tangrad.sharding import PartitionSpec

P = ParamSpec("P")
R = TypeVar("R")
_MISSING = object()


@overload
def smap(f: Callable[P, R], /, *, in_axes: Any = ..., out_axes: Any, axis_name: Hashable) -> Callable[P, R]: ...
@overload
def smap(
    f: None = None, /, *, in_axes: Any = ..., out_axes: Any, axis_name: Hashable
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def smap(f: Any = None, /, *, in_axes: Any = _MISSING, out_axes: Any, axis_name: Hashable) -> Any:
    """Map a function over one axis of the mesh in use: each device runs it on its parts of the arguments.

    Along the other axes of the mesh it may be mapped by another `smap` within, or be partitioned by the compiler.

    Args:
        f: a function of parts of arrays, in which collectives over the axis may be used; without it a decorator is
            returned.
        in_axes: the dimension along which all arguments are cut, or None for not at all; or a tuple with an entry for
            each argument, each of them a dimension, None, or a tree of such. Without it arguments are cut as their
            types say, where the axis is Explicit.
        out_axes: the dimension along which parts of results are put together, None for those that are the same
            everywhere, or a tree of such.
        axis_name: the axis of the mesh.

    Returns:
        a function of whole arrays.

    Raises:
        TypeError: for axes that are no integers or None, several names of axes. ValueError: for negative
            axes, and as `shard_map` does.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> sum_of = lambda part: tangrad.lax.psum(tangrad.lax.reduce_sum(part, (0,)), "x")
    >>> total = tangrad.smap(sum_of, in_axes=0, out_axes=None, axis_name="x")
    >>> with tangrad.make_mesh((1,), ("x",)):
    ...     total(np.arange(4.0))
    Array(6., dtype=float32)
    """
    if f is None:
        return lambda function: smap(function, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    if isinstance(axis_name, (list, tuple)):
        raise TypeError(f"smap: axis_name must be the name of one axis of the mesh, got {axis_name!r}")
    results = _specs("out_axes", out_axes, axis_name)
    if in_axes is _MISSING:
        return shard_map(f, out_specs=results, axis_names={axis_name})
    if in_axes is not None and not isinstance(in_axes, (int, tuple)):
        raise TypeError(
            f"smap: in_axes must be an integer, None, or a tuple with an entry for each argument, got {in_axes!r}"
        )
    arguments = _specs("in_axes", in_axes, axis_name)
    return shard_map(f, in_specs=arguments, out_specs=results, axis_names={axis_name})


def _specs(argument: str, axes: Any, name: Hashable) -> Any:
    """A partition spec for each dimension that is named."""

    def spec(axis: Any) -> PartitionSpec:
        if axis is None:
            return PartitionSpec()
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise TypeError(f"smap: {argument} must be integers, None, or trees of them, got {axis!r}")
        if axis < 0:
            raise ValueError(f"smap: {argument} must count dimensions from the front, 0 or more, got {axis}")
        return PartitionSpec(*[None] * axis, name)

    return tree.map(spec, axes, is_leaf=lambda axis: axis is None)
