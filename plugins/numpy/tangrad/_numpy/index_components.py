"""Indices as operands: counted from the front, side by side for a gather, and where their dimensions go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy.index_parsing import ARRAY, INSIDE, INT, NEW, SCALAR, SLICE, Entry
from tangrad._numpy.operands import INT32, common_shape
from tangrad.core import Array, ShapedArray, dtypes, literal, put
from tangrad.extend.lax import (
    add_p,
    broadcast_in_dim_p,
    concatenate_p,
    convert_element_type_p,
    lt_p,
    rem_p,
    select_n_p,
    size_operand,
)

if TYPE_CHECKING:
    from tangrad.typing import Dimensions, DType, Value

_INT32_MAX = (1 << 31) - 1
_INT64_MAX = (1 << 63) - 1
_POSITIONS = (ARRAY, SCALAR, INSIDE, INT)


# --- indices -------------------------------------------------------------------------------------------------------


def as_dtype(x: Value, dtype: DType) -> Value:
    return x if x.aval.dtype is dtype else convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def index_dtype(dtype: DType) -> DType:
    """int32 for the indices that fit; 64-bit ones, and 32-bit ones without sign where there are such, stay wide."""
    wide = dtype.itemsize == 8 or (dtype.itemsize == 4 and dtype.kind == "u")
    return dtypes.canonicalize_dtype("int64") if wide else INT32


def position_dtype(size: Any) -> DType:
    """That of positions along a dimension: int32, but in the longest ones, which only 64 bits count through."""
    return dtypes.canonicalize_dtype("int64") if type(size) is int and size > _INT32_MAX else INT32


def from_front(value: Any, size: Any, wrap_negative: bool = True) -> Value:
    """Traced or device-side indices as int32 (or int64) counted from the front."""
    signed = value.aval.dtype.kind != "u"
    wide = position_dtype(size)
    made = as_dtype(value, index_dtype(value.aval.dtype) if wide is INT32 else wide)
    if not signed or not wrap_negative:
        return made
    dtype = made.aval.dtype
    negative = lt_p.bind(made, literal(0, dtype))
    return select_n_p.bind(negative, made, add_p.bind(made, size_operand(size, dtype)))


def host_indices(value: np.ndarray, size: Any) -> Value:
    """A NumPy array of indices on the device, in the dtype of positions: what is beyond is beyond the array."""
    dtype = position_dtype(size)
    most = _INT32_MAX if dtype is INT32 else _INT64_MAX
    small = np.clip(value, -most, most).astype(dtype)
    aval = ShapedArray(small.shape, dtype)
    return put(small, aval)


def index_component(entry: Entry, size: Any, wrap_negative: bool = True, modulo: bool = False) -> Value:
    """The positions that an entry other than a slice selects, counted from the front.

    `modulo`: they count modulo the size: those of unsigned integers that no int32 holds, too.
    """
    kind, _, value = entry
    if kind == INT:
        dtype = position_dtype(size)
        most = _INT32_MAX if dtype is INT32 else _INT64_MAX
        return literal(max(min(value, most), -most), dtype)
    if kind == INSIDE:
        return value
    dtype = value.aval.dtype
    if modulo and dtype.kind == "u" and dtype.itemsize >= INT32.itemsize:
        value = rem_p.bind(value, size_operand(size, dtype))
    return from_front(value, size, wrap_negative)


def index_vectors(components: Sequence[Any], shape: Dimensions) -> Array:
    """Index components broadcast to `shape` and concatenated along a new last dimension."""
    dtype = next((c.aval.dtype for c in components if c.aval.dtype.itemsize > 4), INT32)
    columns = [_column(as_dtype(component, dtype), shape) for component in components]
    return columns[0] if len(columns) == 1 else concatenate_p.bind(*columns, dimension=len(shape))


def _column(component: Value, shape: Dimensions) -> Array:
    rank = len(shape)
    dimensions = tuple(range(rank - component.aval.ndim, rank))
    return broadcast_in_dim_p.bind(component, shape=(*shape, 1), broadcast_dimensions=dimensions)


def wrapped(component: Value, size: Any) -> Array:
    """Indices modulo the size, for the mode "wrap"."""
    dtype = component.aval.dtype
    whole = size_operand(size, dtype)
    remainder = rem_p.bind(component, whole)
    return select_n_p.bind(lt_p.bind(remainder, literal(0, dtype)), remainder, add_p.bind(remainder, whole))


# --- where the dimensions of index arrays go -----------------------------------------------------------------------


def advanced_position(entries: Sequence[Entry]) -> int:
    """Before how many of the result's dimensions those of the index arrays stand, as in NumPy.

    At the place of the index arrays if these (and integers) stand side by side, else in front.
    """
    places = [position for position, (kind, _, _) in enumerate(entries) if kind in _POSITIONS]
    if places[-1] - places[0] + 1 != len(places):
        return 0
    return sum([kind in (SLICE, NEW) for kind, _, _ in entries[: places[0]]])


def result_layout(entries: Sequence[Entry], batch_rank: int) -> list[Any]:
    """The dimensions of x[index], in order: NEW, "batch", or the axis of the array that runs there."""
    kept = kept_dimensions(entries)
    before = advanced_position(entries)
    return [*kept[:before], *["batch"] * batch_rank, *kept[before:]]


def kept_dimensions(entries: Sequence[Entry]) -> list[Any]:
    """What an index leaves besides the dimensions of index arrays: NEW, or the axis of the array that runs there."""
    return [NEW if kind == NEW else axis for kind, axis, _ in entries if kind in (NEW, SLICE)]


def batch_shape(components: Sequence[Value]) -> tuple[Any, ...]:
    """The common shape of index arrays. Raises IndexError where they do not broadcast together."""
    return common_batch(tuple([component.aval.shape for component in components]))


def common_batch(shapes: tuple[tuple[Any, ...], ...]) -> tuple[Any, ...]:
    try:
        return common_shape(shapes)
    except ValueError:
        listed = ", ".join([str(shape) for shape in shapes])
        raise IndexError(f"index arrays of shapes {listed} do not broadcast together") from None


def axes_before(items: Sequence[Any], position: Any, rank: int, mask_rank: int) -> int | None:
    """How many of the array's dimensions stand before those of the mask; None if the index does not fit."""
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    explicit = len(items) - 1 - len(places) + mask_rank
    if len(places) > 1 or explicit > rank:
        return None
    skipped = rank - explicit if places and places[0] < position else 0
    return int(position) - (1 if places and places[0] < position else 0) + skipped
