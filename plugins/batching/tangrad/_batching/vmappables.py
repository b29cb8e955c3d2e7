"""Classes of values that say for themselves how `vmap` maps them: which of their arrays have the mapped axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tangrad._batching.axes import AxisInfo, place_axis
from tangrad._batching.trace import BatchTracer
from tangrad.core import as_array, as_operand, current_trace


class Vmappable(NamedTuple):
    """What is known of a class.

    Attributes:
        spec_type: the type of its axes in `in_axes` and `out_axes`.
        axis_size_type: the type of the size of such an axis.
        to_elt: `(cont, get_index, value, spec) -> value` of one example; `cont(part, axis)` maps a part of it.
        from_elt: `(cont, axis_size, example, spec) -> value` of all; `cont(axis_size, part, axis)` places the axis.
        make_iota: `axis_size -> positions` along the axis, or None: 0, 1, 2, ...
    """

    spec_type: type
    axis_size_type: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]
    make_iota: Callable[[Any], Any] | None


vmappables: dict[type, Vmappable] = {}
spec_types: set[type] = set()


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[[Any], Any] | None = None,
) -> None:
    """Say how `vmap` maps values of a class, which then are leaves of its arguments and results.

    Args:
        data_type: the class. Its values have a `shape`, of which `shape[spec]` is the size of the mapped axis.
        spec_type: the type of what stands for them in `in_axes` and `out_axes`.
        axis_size_type: the type of the size of the axis.
        to_elt: `(cont, get_index, value, spec)` returns the value of one example: `cont(part, axis)` is a part with its
            axis mapped, `get_index()` the position along the axis.
        from_elt: `(cont, axis_size, example, spec)` returns the value of all: `cont(axis_size, part, axis)` is a part
            with the mapped axis at a place.
        make_iota: the positions along an axis, of its size; None: 0, 1, 2, ...

    >>> import tangrad
    >>> from tangrad.batching import register_vmappable
    >>> class Columns:
    ...     def __init__(self, x):
    ...         self.x, self.shape = x, x.shape[::-1]
    >>> register_vmappable(
    ...     Columns,
    ...     int,
    ...     int,
    ...     lambda cont, get_index, value, spec: cont(value.x, 1),
    ...     lambda cont, size, example, spec: example,
    ... )
    >>> tangrad.vmap(lambda column: column.sum())(Columns(tangrad.numpy.ones((2, 3))))
    Array([2., 2., 2.], dtype=float32)
    """
    if not isinstance(data_type, type):
        raise TypeError(f"register_vmappable: data_type must be a class, got {data_type!r}")
    vmappables[data_type] = Vmappable(spec_type, axis_size_type, to_elt, from_elt, make_iota)
    spec_types.add(spec_type)


def is_vmappable(value: Any) -> bool:
    """Whether values of this class are leaves."""
    return type(value) in vmappables


def to_example(value: Any, spec: Any, axis: AxisInfo) -> Any:
    """The value that the mapped function sees: within the trace of the axis."""
    trace: Any = current_trace()

    def cont(part: Any, spec: Any) -> Any:
        known = vmappables.get(type(part))
        if known is not None:
            return known.to_elt(cont, get_index, part, spec)
        if spec is None:
            return part
        operand = as_operand(part)
        return trace.tracer(operand, spec % operand.aval.ndim)

    @cache
    def get_index() -> Any:
        makers = [known.make_iota for known in vmappables.values() if known.axis_size_type is type(axis.size)]
        make = next((make for make in makers if make is not None), lambda size: np.arange(size, dtype=np.int32))
        return trace.tracer(as_operand(make(axis.size)), 0)

    return cont(value, spec)


def from_example(example: Any, spec: Any, axis: AxisInfo) -> Any:
    """What the mapped function returned, as a value of all examples."""

    def cont(size: Any, part: Any, spec: Any) -> Any:
        known = vmappables.get(type(part))
        if known is not None:
            return known.from_elt(cont, size, part, spec)
        is_mapped = type(part) is BatchTracer and part._trace.axis is axis  # type: ignore[attr-defined]
        value, dim = (part.value, part.dim) if is_mapped else (as_operand(part), None)
        if spec is None:
            if is_mapped:
                raise ValueError("vmap: a part of a result has no axis in out_axes, but depends on a mapped argument")
            return as_array(value)
        return as_array(place_axis(value, dim, spec % (value.aval.ndim + (dim is None)), size))

    return cont(axis.size, example, spec)
