"""The mapped axis: of arguments and results, its size and devices; in scope while a function is traced for examples."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tangrad import devices as devices_named
from tangrad import tree
from tangrad._sharding.shard_map.scope import is_within_map
from tangrad.core import (
    ClosedJaxpr,
    Device,
    ShapedArray,
    closed_over_as_arguments,
    holding,
    thread,
    trace_to_jaxpr,
)
from tangrad.tree_util import PyTreeDef, flatten_axes, keystr

if TYPE_CHECKING:
    from tangrad.typing import Dimensions, Value


def checked_axes(axes: object, what: str) -> None:
    """Raise TypeError unless `axes` is an integer, None, or a tree of them."""
    for leaf in tree.leaves(axes):
        if isinstance(leaf, bool) or not hasattr(type(leaf), "__index__"):
            raise TypeError(f"pmap: {what} must be integers, None, or trees of them, got {leaf!r} in {axes!r}")


def check_arrays(values: Sequence[Value], where: str) -> None:
    """Raise TypeError for a reference: what the last device wrote would be lost, or be the value of all."""
    for value in values:
        aval: Any = value.aval
        if not isinstance(aval, ShapedArray):
            raise TypeError(
                f"pmap takes arrays, got a reference of type {aval.str_short()} {where}: pass its value, ref[...], and "
                "write what the function returns; shard_map takes references"
            )


def axes_of_arguments(
    in_axes: object, args: tuple[object, ...], kwargs: dict[str, object], values: Sequence[Value]
) -> list[int | None]:
    """The mapped axis of each leaf, counted from the front, or None; keyword arguments are mapped along the first."""
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            f"pmap: in_axes has {len(in_axes)} entries, but the function was called with {len(args)} positional "
            f"arguments"
        )
    found = flatten_axes("pmap in_axes", tree.structure(args), in_axes) + [0] * tree.structure(kwargs).num_leaves
    axes: list[int | None] = []
    for position, (axis, value) in enumerate(zip(found, values, strict=True)):
        if axis is None:
            axes.append(None)
            continue
        number, ndim = operator.index(axis), len(value.aval.shape)
        if not -ndim <= number < ndim:
            raise ValueError(
                f"pmap: {path(position, args, kwargs)} has shape {value.aval.shape}, so it cannot be mapped over axis "
                f"{number}"
            )
        axes.append(number % ndim)
    return axes


def axes_of_results(out_axes: object, out_tree: PyTreeDef, shapes: Sequence[Dimensions]) -> list[int | None]:
    """Where the mapped axis is to be in each result, from the front, or None; `shapes`: those of one example."""
    found: list[int | None] = []
    for position, (axis, shape) in enumerate(
        zip(flatten_axes("pmap out_axes", out_tree, out_axes), shapes, strict=True)
    ):
        if axis is None:
            found.append(None)
            continue
        ndim = len(shape) + 1
        if not -ndim <= axis < ndim:
            raise ValueError(
                f"pmap: out_axes is {axis} for result {position}, which with its mapped axis has rank {ndim}"
            )
        found.append(axis % ndim)
    return found


def path(position: int, args: tuple[object, ...], kwargs: dict[str, object]) -> str:
    """Where a leaf is among the arguments, for messages."""
    keys = tree.leaves_with_path((args, kwargs))[position][0]
    return ("args" if keys[0].idx == 0 else "kwargs") + keystr(keys[1:])


def mapped_size(
    values: Sequence[Value],
    axes: Sequence[int | None],
    axis_size: int | None,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> int:
    """The size of the mapped axes. Raises ValueError where they differ, listing them, or where there are none."""
    sizes = {position: values[position].aval.shape[axis] for position, axis in enumerate(axes) if axis is not None}
    found = set(sizes.values()) | ({axis_size} if axis_size is not None else set())
    if len(found) == 1:
        return int(found.pop())
    if not found:
        raise ValueError(
            "pmap: no argument is mapped (all of in_axes is None, or there are no arrays); state axis_size"
        )
    lines = [
        f"  * {path(position, args, kwargs)}, axis {axes[position]}: size {size}" for position, size in sizes.items()
    ]
    if axis_size is not None:
        lines.append(f"  * axis_size is {axis_size}")
    raise ValueError("pmap: the sizes of the mapped axes disagree:\n" + "\n".join(lines))


def devices_for(size: int, devices: Sequence[Device] | None, backend: str | None) -> list[Device] | None:
    """As many devices as examples, the first ones of those given, or there are; None where there are too few."""
    there = list(devices_named(backend)) if devices is None else list(devices)
    return there[:size] if size <= len(there) else None


def too_few(size: int, devices: Sequence[Device] | None, backend: str | None) -> ValueError:
    """The error for more examples than devices, with both counts."""
    if devices is not None:
        return ValueError(f"pmap: the mapped axis has size {size}, and devices has {len(devices)}")
    count = len(devices_named(backend))
    return ValueError(
        f"pmap: the mapped axis has size {size}, and there are {count} devices: each example needs one of its own. "
        f"Use vmap for more examples than devices, or simulate them: TANGRAD_NUM_CPU_DEVICES={size}"
    )


def checked_size(axis_size: int | None) -> int | None:
    """A given size of the mapped axis. Raises TypeError for what is no integer, ValueError for a negative one."""
    if axis_size is None:
        return None
    if isinstance(axis_size, bool) or not hasattr(type(axis_size), "__index__"):
        raise TypeError(f"pmap: axis_size must be an integer or None, got {axis_size!r}")
    if axis_size < 0:
        raise ValueError(f"pmap: axis_size must not be negative, got {axis_size}")
    return operator.index(axis_size)


class _Depth(threading.local):
    """How many parallel maps a thread is tracing within."""

    count = 0


_depth = _Depth()


@contextmanager
def inside_pmap() -> Iterator[None]:
    """Have maps within know that there is one around them."""
    _depth.count += 1
    try:
        yield
    finally:
        _depth.count -= 1


def runs_nowhere() -> bool:
    """Whether a function is being traced for its program alone, as by `xla_computation`: devices need not be there."""
    return ("devices", "none") in thread.overrides


def is_inside() -> bool:
    """Whether there is one, or a sharded map: the devices are taken, so examples are computed together on each."""
    return _depth.count > 0 or is_within_map()


def trace_of_one(
    of_one: Callable[..., Sequence[Value]],
    values: Sequence[Value],
    axes: Sequence[int | None],
    axis: tuple[object, int],
    name: str,
) -> tuple[ClosedJaxpr, list[Value]]:
    """The program of one example of values that are mapped along `axes`, and what it closed over: its first arguments.

    `axis`: the name of the mapped axis, and its size.
    """
    examples = [
        value.aval if dim is None else value.aval.update(shape=(*value.aval.shape[:dim], *value.aval.shape[dim + 1 :]))
        for value, dim in zip(values, axes, strict=True)
    ]
    with holding(axis_environment=(*thread.axis_environment, axis)):
        jaxpr, consts = trace_to_jaxpr(of_one, examples, name)
    return ClosedJaxpr(closed_over_as_arguments(jaxpr)), list(consts)
