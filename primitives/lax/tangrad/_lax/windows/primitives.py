"""The convolution, the reductions over windows, what their derivatives need, and the types of the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tangrad._lax.checks import ANY, COMPLEX, FLOATING, INTEGER, NUMERIC, SIGNED, check_dtype, check_same_dtype, is_kind
from tangrad._lax.elementwise.primitives import convert_element_type_p, ge_p, le_p
from tangrad._lax.reductions.decompositions import apply_to_arrays
from tangrad._lax.structure.primitives import broadcast_in_dim_p, pad_p, slice_p
from tangrad._lax.windows.dimensions import (
    ConvDimensionNumbers,
    conv_shape_tuple,
    dilated,
    dilated_shape,
    permuted,
    reduce_window_shape_tuple,
    strided,
    unpermuted,
)
from tangrad.core import ClosedJaxpr, Primitive, PrimitiveSet, ShapedArray, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.typing import Dimensions, DType, Params, Value

Arrays = tuple[Value, ...]
Combine = Callable[[Arrays, Arrays], Arrays]

MANY = 8  # elements of a window from which on partial results are shared between windows


# --- reductions over windows by any operation, computed from slices: how `reduce_window` is differentiated ---
# One dimension after the other is reduced, the last first, so that elements are combined in their order.


def reduce_window_by_dimensions(
    *args: Value,
    jaxpr: ClosedJaxpr,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: Pads,
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
    arrays: Arrays = tuple([pad_p.bind(x, start, padding_config=config) for x, start in zip(operands, initial)])

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
    shape = arrays[0].aval.shape
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, start + (count - 1) * stride + 1, stride
    params = {
        "start_indices": tuple(starts),
        "limit_indices": tuple(limits),
        "strides": None if stride == 1 else tuple(strides),
    }
    return tuple([slice_p.bind(x, **params) for x in arrays])


# --- the primitives ---

windows = PrimitiveSet("windows", api=1)

Pads = tuple[tuple[int, int], ...]


# --- convolution ---


@windows.primitive(name="conv_general_dilated")
def conv_general_dilated_p(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    window_strides: tuple[int, ...],
    padding: Pads,
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: object,
    preferred_element_type: DType | None,
) -> ShapedArray:
    """The products of a kernel with each window of an input, summed over the window and the input's features.

    The input is dilated, then padded, and the windows, dilated themselves, move over it in strides.
    """
    name = "conv_general_dilated"
    check_dtype(name, lhs, ANY, "lhs")
    check_dtype(name, rhs, ANY, "rhs")
    check_same_dtype(name, (lhs, rhs))
    if lhs.ndim != rhs.ndim or lhs.ndim != len(dimension_numbers.lhs_spec):
        raise ValueError(
            f"{name} requires lhs and rhs of equal rank, as in dimension_numbers {tuple(dimension_numbers)}, "
            f"got shapes {lhs.shape} and {rhs.shape}"
        )
    for value, argument in ((window_strides, "window_strides"), (padding, "padding")):
        _check_spatial(name, value, lhs.ndim - 2, argument)
    for dilation, argument in ((lhs_dilation, "lhs_dilation"), (rhs_dilation, "rhs_dilation")):
        _check_spatial(name, dilation, lhs.ndim - 2, argument)
        _check_positive(name, dilation, argument)
    _check_positive(name, window_strides, "window_strides")
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    left, right = permuted(lhs.shape, lhs_spec), permuted(rhs.shape, rhs_spec)
    _check_groups(left, right, feature_group_count, batch_group_count)
    left = (*left[:2], *dilated_shape(left[2:], lhs_dilation))
    right = (*right[:2], *dilated_shape(right[2:], rhs_dilation))
    out = conv_shape_tuple(left, right, window_strides, padding, batch_group_count)
    return ShapedArray(unpermuted(out, out_spec), _result_dtype(lhs.dtype, preferred_element_type))


def _check_spatial(name: str, value: Sequence[object], count: int, argument: str) -> None:
    if len(value) != count:
        raise ValueError(
            f"{name}: {argument} must have an entry for each of {count} spatial dimensions, got {tuple(value)}"
        )


def _check_positive(name: str, value: Sequence[int], argument: str) -> None:
    if any([not is_symbolic(item) and item < 1 for item in value]):
        raise ValueError(f"{name}: {argument} must be at least 1, got {tuple(value)}")


def _check_groups(left: Sequence[int], right: Sequence[int], features: int, batches: int) -> None:
    """Shapes are in the order (batch, feature, …) and (output feature, input feature, …)."""
    name = "conv_general_dilated"
    for count, argument in ((features, "feature_group_count"), (batches, "batch_group_count")):
        if not count > 0:
            raise ValueError(f"{name}: {argument} must be positive, got {count}")
        if right[0] % count:
            raise ValueError(f"{name}: {argument} {count} must divide the output features of rhs, which are {right[0]}")
    if features > 1 and batches > 1:
        raise ValueError(
            f"{name}: feature_group_count and batch_group_count must not both be greater than 1, "
            f"got {features} and {batches}"
        )
    if left[0] % batches:
        raise ValueError(f"{name}: batch_group_count {batches} must divide the batch size of lhs, which is {left[0]}")
    if left[1] % features:
        raise ValueError(f"{name}: feature_group_count {features} must divide the features of lhs, which are {left[1]}")
    if left[1] // features != right[1]:
        raise ValueError(
            f"{name}: the features of lhs, {left[1]}, divided by feature_group_count, {features}, must equal the input "
            f"features of rhs, {right[1]}"
        )


def _result_dtype(dtype: DType, preferred: DType | None) -> DType:
    if preferred is None or preferred is dtype or preferred == dtype:
        return dtype
    found, wanted = dtypes.dtype_name(dtype), dtypes.dtype_name(preferred)
    accepted = {INTEGER: (INTEGER, FLOATING), FLOATING: (FLOATING,), COMPLEX: (COMPLEX,)}
    fits = all([not is_kind(dtype, (kind,)) or is_kind(preferred, kinds) for kind, kinds in accepted.items()])
    changes_sign = is_kind(preferred, (INTEGER,)) and is_kind(dtype, (SIGNED,)) and not is_kind(preferred, (SIGNED,))
    if not fits or changes_sign:
        raise TypeError(f"conv_general_dilated: preferred_element_type {wanted} does not hold products of {found}")
    if dtypes.bit_width(preferred) < dtypes.bit_width(dtype):
        raise TypeError(
            f"conv_general_dilated: preferred_element_type must not be narrower than {found}, the dtype of the "
            f"operands, got {wanted}"
        )
    return preferred


# --- reductions over windows ---


def window_shape(name: str, operand: ShapedArray, params: Params) -> Dimensions:
    """The shape of a reduction over windows. Raises ValueError for parameters that do not fit the operand."""
    for argument, value in params.items():
        if len(value) != operand.ndim:
            raise ValueError(
                f"{name}: {argument} must have an entry for each dimension of the operand, of shape {operand.shape}, "
                f"got {tuple(value)}"
            )
        if argument != "padding":
            _check_positive(name, value, argument)
    return reduce_window_shape_tuple(operand.shape, **params)


def _reduce_window(name: str, accepted: tuple[str, ...], documentation: str) -> Primitive:
    def abstract_eval(
        operand: ShapedArray,
        *,
        window_dimensions: tuple[int, ...],
        window_strides: tuple[int, ...],
        padding: Pads,
        base_dilation: tuple[int, ...],
        window_dilation: tuple[int, ...],
    ) -> ShapedArray:
        check_dtype(name, operand, accepted, "operand")
        params = {
            "window_dimensions": window_dimensions,
            "window_strides": window_strides,
            "padding": padding,
            "base_dilation": base_dilation,
            "window_dilation": window_dilation,
        }
        return ShapedArray(window_shape(name, operand, params), operand.dtype)

    abstract_eval.__doc__ = documentation
    return windows.primitive(abstract_eval, name=name)


reduce_window_sum_p = _reduce_window("reduce_window_sum", NUMERIC, "The sum of each window; padding counts as 0.")
reduce_window_max_p = _reduce_window("reduce_window_max", ANY, "The greatest element of each window.")
reduce_window_min_p = _reduce_window("reduce_window_min", ANY, "The least element of each window.")


@windows.primitive(
    name="reduce_window", multiple_results=True, weak_type="never", decompose=reduce_window_by_dimensions
)
def reduce_window_p(*args: ShapedArray, jaxpr: ClosedJaxpr, **params: object) -> tuple[ShapedArray, ...]:
    """Several operands reduced together over windows, by a program of scalars.

    The first half of the arguments are the operands, the second their initial values, which stand for padding too.
    `jaxpr` takes as many scalars of each of two partial results and combines them; it must be associative, and the
    initial values its identity.
    """
    operands, initial = args[: len(args) // 2], args[len(args) // 2 :]
    if not operands or len(operands) != len(initial):
        raise TypeError(f"reduce_window takes operands and as many initial values, got {len(args)} arguments")
    for position, (operand, start) in enumerate(zip(operands, initial)):
        if operand.shape != operands[0].shape:
            shapes = ", ".join([str(aval.shape) for aval in operands])
            raise ValueError(f"reduce_window: operands must have one shape, got {shapes}")
        if start.shape:
            raise ValueError(f"reduce_window: init_value {position} must be a scalar, got shape {start.shape}")
        if start.dtype != operand.dtype:
            found, expected = dtypes.dtype_name(start.dtype), dtypes.dtype_name(operand.dtype)
            raise TypeError(
                f"reduce_window: init_value {position} must have the operand's dtype {expected}, got {found}"
            )
    expected_avals = [ShapedArray((), aval.dtype) for aval in initial]
    found_avals = [aval.strip_weak_type() for aval in jaxpr.out_avals]
    if found_avals != expected_avals:
        raise TypeError(
            "reduce_window: computation must return scalars of the types of init_value, "
            f"{[aval.str_short() for aval in expected_avals]}, got {[aval.str_short() for aval in found_avals]}"
        )
    shape = window_shape("reduce_window", operands[0], params)
    return tuple([ShapedArray(shape, operand.dtype) for operand in operands])


# --- the derivative of the greatest and least elements ---


def _check_selection(name: str, operand: ShapedArray, select_prim: Primitive) -> None:
    check_dtype(name, operand, (FLOATING,), "operand")
    if select_prim is not ge_p and select_prim is not le_p:
        raise TypeError(f"{name}: select_prim must be the primitive ge or le, got {select_prim!r}")


@windows.primitive(name="select_and_gather_add")
def select_and_gather_add_p(
    tangents: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **params: object
) -> ShapedArray:
    """In each window of `operand` an element is selected, the first that compares so to the rest; its tangent."""
    name = "select_and_gather_add"
    _check_selection(name, operand, select_prim)
    check_same_dtype(name, (tangents, operand))
    if tangents.shape != operand.shape:
        raise ValueError(f"{name}: tangents and operand must have one shape, got {tangents.shape} and {operand.shape}")
    return ShapedArray(window_shape(name, operand, params), tangents.dtype)


@windows.primitive(name="select_and_scatter_add")
def select_and_scatter_add_p(
    source: ShapedArray,
    operand: ShapedArray,
    *,
    select_prim: Primitive,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: Pads,
) -> ShapedArray:
    """In each window of `operand` an element is selected; the elements of `source`, added up where they belong."""
    name = "select_and_scatter_add"
    _check_selection(name, operand, select_prim)
    check_same_dtype(name, (source, operand))
    params = {"window_dimensions": window_dimensions, "window_strides": window_strides, "padding": padding}
    expected = window_shape(name, operand, params)
    if source.shape != expected:
        raise ValueError(
            f"{name}: source must have an element for each window of the operand, shape {expected}, got {source.shape}"
        )
    return ShapedArray(operand.shape, source.dtype)


# What each reduction to one element selects by.
SELECTIONS: dict[Primitive, Primitive] = {reduce_window_max_p: ge_p, reduce_window_min_p: le_p}
