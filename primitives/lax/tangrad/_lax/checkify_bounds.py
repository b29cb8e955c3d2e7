"""Checks whether indices are within bounds, for slices, gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._lax.elementwise.primitives import convert_element_type_p, gt_p, lt_p, or_p
from tangrad._lax.structure.primitives import (
    broadcast_in_dim_p,
    concatenate_p,
    dynamic_slice_p,
    reshape_p,
)
from tangrad.core import as_operand, current_source, literal
from tangrad.core.arguments import is_symbolic, product
from tangrad.extend.checkify import Checks, OOBError, any_true, first_true
from tangrad.typing import Dimensions, Value

INT32 = np.dtype("int32")


def check_starts(checks: Checks, shape: Sequence[Any], windows: Sequence[Any], starts: Sequence[Any]) -> None:
    """Note a slice that begins below 0, or so late that it ends beyond its array.

    Args:
        shape: of the array.
        windows: the sizes of the slice.
        starts: scalars, one for each dimension.
    """
    if OOBError in checks.enabled and starts:
        row = concatenate_p.bind(*[_reshaped(_int32(start), (1,)) for start in starts], dimension=0)
        _check(checks, shape, windows, range(len(shape)), _reshaped(row, (1, len(starts))))


def check_indices(
    checks: Checks, shape: Sequence[Any], windows: Sequence[Any], axes: Sequence[int], rows: Value
) -> None:
    """Note an index that is out of bounds.

    Args:
        shape: of the array that is indexed.
        windows: in each of its dimensions the size of what is read or written at an index.
        axes: the dimensions that the components of an index are along.
        rows: the indices, an array whose last dimension has their components.
    """
    if OOBError in checks.enabled and axes:
        _check(checks, shape, windows, axes, _reshaped(_int32(rows), (product(rows.aval.shape[:-1]), len(axes))))


def _check(checks: Checks, shape: Any, windows: Any, axes: Sequence[int], rows: Value) -> None:
    sizes = [shape[axis] for axis in axes]
    if any([is_symbolic(size) for size in (*sizes, *rows.aval.shape)]):
        raise NotImplementedError(f"checkify: indices into an array of shape {tuple(shape)}, with sizes that vary")
    if rows.aval.shape[0] == 0:
        return
    last = as_operand(np.array([size - windows[axis] for size, axis in zip(sizes, axes, strict=True)], np.int32))
    limits = broadcast_in_dim_p.bind(last, shape=rows.aval.shape, broadcast_dimensions=(1,))
    zeros = broadcast_in_dim_p.bind(literal(0, INT32), shape=rows.aval.shape, broadcast_dimensions=())
    outside = or_p.bind(lt_p.bind(rows, zeros), gt_p.bind(rows, limits))
    described = np.array([(axis, size) for axis, size in zip(axes, sizes, strict=True)], np.int32)
    count = rows.aval.shape[0]
    flat = (count * len(axes),)
    position = first_true(_reshaped(outside, flat))
    payload = concatenate_p.bind(
        _row(_reshaped(rows, (*flat, 1)), position),
        _row(as_operand(np.tile(described, (count, 1))), position),
        dimension=0,
    )
    checks.check(any_true(outside), OOBError(tuple(shape), current_source()), [payload])


def _row(table: Value, position: Value) -> Value:
    width = table.aval.shape[1]
    part = dynamic_slice_p.bind(table, position, literal(0, INT32), slice_sizes=(1, width))
    return _reshaped(part, (width,))


def _int32(value: Value) -> Value:
    if value.aval.dtype == INT32:
        return value
    return convert_element_type_p.bind(value, new_dtype=INT32, weak_type=False)


def _reshaped(value: Value, shape: Dimensions) -> Value:
    return value if value.aval.shape == shape else reshape_p.bind(value, new_sizes=shape, dimensions=None)
