"""Reductions over windows by any operation, said with slices: how `reduce_window` is differentiated.

One dimension after the other is reduced, the last first, so that elements are combined in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._lax.elementwise.primitives import convert_element_type_p
from tangrad._lax.reductions.tree import apply_to_arrays
from tangrad._lax.structure.primitives import broadcast_in_dim_p, pad_p, slice_p
from tangrad._lax.windows.shapes import dilated, reduce_window_shape_tuple, strided
from tangrad.core import ClosedJaxpr

Arrays = tuple[Any, ...]
Combine = Callable[[Arrays, Arrays], Arrays]

MANY = 8  # elements of a window from which on partial results are shared between windows


def reduce_window_by_dimensions(
    *args: Any,
    jaxpr: ClosedJaxpr,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: tuple[tuple[Any, Any], ...],
    base_dilation: tuple[int, ...],
    window_dilation: tuple[int, ...],
) -> Arrays:
    """The decomposition of `reduce_window`: slices of the padded operands, combined in pairs."""
    operands, initial = args[: len(args) // 2], args[len(args) // 2 :]
    params = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    shape = reduce_window_shape_tuple(operands[0].aval.shape, *params)
    starts = tuple([broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=()) for x in initial])
    if 0 in shape:
        return _strong(starts)
    config = tuple([(low, high, dilation - 1) for (low, high), dilation in zip(padding, base_dilation)])
    arrays = tuple([pad_p.bind(x, start, padding_config=config) for x, start in zip(operands, initial)])

    def combine(xs: Arrays, ys: Arrays) -> Arrays:
        return apply_to_arrays(jaxpr, (*xs, *ys))

    sizes = list(zip(window_dimensions, window_strides, window_dilation))
    for axis in reversed(range(len(sizes))):
        arrays = _along(combine, arrays, axis, *sizes[axis])
    return _strong(combine(starts, arrays))


def _strong(arrays: Arrays) -> Arrays:
    return tuple(
        [
            convert_element_type_p.bind(x, new_dtype=x.aval.dtype, weak_type=False) if x.aval.weak_type else x
            for x in arrays
        ]
    )


def _along(combine: Combine, arrays: Arrays, axis: int, window: int, stride: int, dilation: int) -> Arrays:
    """Windows along one dimension reduced."""
    count = strided(arrays[0].aval.shape[axis], dilated(window, dilation), stride)
    if window > MANY and (window - 1) * count > 2 * window.bit_length() * arrays[0].aval.shape[axis]:
        arrays = _by_doubling(combine, arrays, axis, window, dilation)
        return _rows(arrays, axis, 0, count, stride)
    parts = [_rows(arrays, axis, i * dilation, count, stride) for i in range(window)]
    while len(parts) > 1:
        pairs = [combine(*parts[i : i + 2]) for i in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[len(pairs) * 2 :]
    return parts[0]


def _by_doubling(combine: Combine, arrays: Arrays, axis: int, window: int, dilation: int) -> Arrays:
    """Windows of step 1: those of 2, 4, 8, … elements, joined to windows of the size wanted."""
    total: Arrays | None = None
    reach, length = 0, 1  # elements in `total`, and in each window of `arrays`
    while True:
        if window & length:
            total = arrays if total is None else _joined(combine, total, arrays, axis, reach * dilation)
            reach += length
        if reach == window:
            assert total is not None
            return total
        arrays = _joined(combine, arrays, arrays, axis, length * dilation)
        length *= 2


def _joined(combine: Combine, xs: Arrays, ys: Arrays, axis: int, distance: int) -> Arrays:
    """Each element of the first arrays combined with the one of the second that is so far behind it."""
    count = min(xs[0].aval.shape[axis], ys[0].aval.shape[axis] - distance)
    return combine(_rows(xs, axis, 0, count), _rows(ys, axis, distance, count))


def _rows(arrays: Arrays, axis: int, start: int, count: int, stride: int = 1) -> Arrays:
    """The same elements of each array: `count` of them along an axis."""
    shape: Sequence[Any] = arrays[0].aval.shape
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, start + (count - 1) * stride + 1, stride
    params = {
        "start_indices": tuple(starts),
        "limit_indices": tuple(limits),
        "strides": None if stride == 1 else tuple(strides),
    }
    return tuple([slice_p.bind(x, **params) for x in arrays])
