"""What `checkify` checks of elementwise primitives, of indexing and of structure: divisors, and indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad._lax.elementwise.primitives import (
    abs_p,
    bitcast_convert_type_p,
    ceil_p,
    clamp_p,
    complex_p,
    conj_p,
    convert_element_type_p,
    div_p,
    eq_p,
    floor_p,
    gt_p,
    imag_p,
    lt_p,
    max_p,
    min_p,
    neg_p,
    nextafter_p,
    or_p,
    real_p,
    reduce_precision_p,
    round_p,
    select_n_p,
    sign_p,
)
from tangrad._lax.indexing.primitives import (
    SCATTERS,
    GatherDimensionNumbers,
    ScatterDimensionNumbers,
    gather_p,
    scatter_p,
    window_sizes,
)
from tangrad._lax.structure.primitives import (
    broadcast_in_dim_p,
    concatenate_p,
    dynamic_slice_p,
    dynamic_update_slice_p,
    reshape_p,
    structure,
)
from tangrad.core import Array, Primitive, RuleSet, as_operand, current_source, literal
from tangrad.core.arguments import is_symbolic, product
from tangrad.extend.checkify import Checks, DivisionByZeroError, OOBError, any_true, first_true, handed_on
from tangrad.typing import Dimensions, Value, Values

INT32 = np.dtype("int32")


def check_starts(checks: Checks, shape: Dimensions, windows: Dimensions, starts: Sequence[Value]) -> None:
    """Note a slice that begins below 0, or so late that it ends beyond its array.

    Args:
        shape: of the array.
        windows: the sizes of the slice.
        starts: scalars, one for each dimension.
    """
    if OOBError in checks.enabled and starts:
        row = concatenate_p.bind(*[_reshaped(_int32(start), (1,)) for start in starts], dimension=0)
        _check(checks, shape, windows, range(len(shape)), _reshaped(row, (1, len(starts))))


def check_indices(checks: Checks, shape: Dimensions, windows: Dimensions, axes: Sequence[int], rows: Value) -> None:
    """Note an index that is out of bounds.

    Args:
        shape: of the array that is indexed.
        windows: in each of its dimensions the size of what is read or written at an index.
        axes: the dimensions that the components of an index are along.
        rows: the indices, an array whose last dimension has their components.
    """
    if OOBError in checks.enabled and axes:
        _check(checks, shape, windows, axes, _reshaped(_int32(rows), (product(rows.aval.shape[:-1]), len(axes))))


def _check(checks: Checks, shape: Dimensions, windows: Dimensions, axes: Sequence[int], rows: Value) -> None:
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


of_elementwise = RuleSet("checkify", api=1)
handed_on(
    of_elementwise,
    *(neg_p, sign_p, abs_p, floor_p, ceil_p, round_p, max_p, min_p, clamp_p, select_n_p, nextafter_p),
    *(real_p, imag_p, conj_p, complex_p, convert_element_type_p, bitcast_convert_type_p, reduce_precision_p),
)


@of_elementwise.rule(div_p)
def _(args: Values, *, checks: Checks) -> Value:
    out = div_p.bind(*args)
    if DivisionByZeroError in checks.enabled:
        divisor = args[1]
        zero, shape = literal(0, divisor.aval.dtype), divisor.aval.shape
        zeros = broadcast_in_dim_p.bind(zero, shape=shape, broadcast_dimensions=()) if shape else zero
        checks.check(any_true(eq_p.bind(divisor, zeros)), DivisionByZeroError(current_source()))
    checks.check_nan(div_p, (out,))
    return out


of_indexing = RuleSet("checkify", api=1)


@of_indexing.rule(gather_p)
def _(
    args: Values, *, checks: Checks, dimension_numbers: GatherDimensionNumbers, slice_sizes: Dimensions, **params: Any
) -> Value:
    operand, indices = args
    check_indices(checks, operand.aval.shape, slice_sizes, dimension_numbers.start_index_map, indices)
    return gather_p.bind(*args, dimension_numbers=dimension_numbers, slice_sizes=slice_sizes, **params)


def _scatter(primitive: Primitive) -> Callable[..., Array]:
    def rule(
        args: tuple[Array, ...], *, checks: Checks, dimension_numbers: ScatterDimensionNumbers, **params: object
    ) -> Array:
        operand, indices, updates = args
        shape = operand.aval.shape
        windows = window_sizes(dimension_numbers, shape, updates.aval.shape)
        check_indices(checks, shape, windows, dimension_numbers.scatter_dims_to_operand_dims, indices)
        out = primitive.bind(*args, dimension_numbers=dimension_numbers, **params)
        if primitive is not scatter_p:  # that one only puts values elsewhere
            checks.check_nan(primitive, (out,))
        return out

    return rule


of_indexing.table({primitive: _scatter(primitive) for primitive in SCATTERS})


of_structure = RuleSet("checkify", api=1)
AT_RUN_TIME = (dynamic_slice_p, dynamic_update_slice_p)
handed_on(of_structure, *[one for one in structure.primitives.values() if one not in AT_RUN_TIME])


@of_structure.rule(dynamic_slice_p)
def _(args: Values, *, checks: Checks, slice_sizes: Dimensions) -> Value:
    operand, *starts = args
    check_starts(checks, operand.aval.shape, slice_sizes, starts)
    return dynamic_slice_p.bind(*args, slice_sizes=slice_sizes)


@of_structure.rule(dynamic_update_slice_p)
def _(args: Values, *, checks: Checks) -> Value:
    operand, update, *starts = args
    check_starts(checks, operand.aval.shape, update.aval.shape, starts)
    return dynamic_update_slice_p.bind(*args)
