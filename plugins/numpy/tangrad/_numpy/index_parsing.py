"""Indices: what stands between the brackets of x[...], read, and as operands."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np

from tangrad import errors
from tangrad._numpy.conversion import asarray
from tangrad._numpy.operands import INT32, common_shape
from tangrad.core import Array, Literal, ShapedArray, Tracer, concrete_or_error, dtypes, literal, put
from tangrad.core.arguments import as_size, is_symbolic, max_size, min_size
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
    from tangrad.typing import ArrayLike, Dimensions, DType, Value


# --- What stands between the brackets of x[...], read into one entry for each dimension ---
# An entry is a tuple `(kind, axis, value)`: NEW (a new dimension), SLICE (value: start, stop, step, as Python's `range`
# takes them), INT (a Python integer, counted from the front where it is within), SCALAR (an integer array without
# dimensions), ARRAY (an integer array).


NEW: str = "new"
SLICE: str = "slice"
INT: str = "int"
SCALAR: str = "scalar"
ARRAY: str = "array"
# A SCALAR that is known to be within the array: what integers become where programs should not be made for each.
INSIDE = "inside"
# A SLICE whose start is an operand; its value is then a Window.
WINDOW = "window"
Entry = tuple[str, int, Any]

FULL = slice(None)


class Window(NamedTuple):
    """A slice that starts at an operand.

    Attributes:
        start: a scalar array. size: the number of elements. step: from one to the next.
    """

    start: Any
    size: int
    step: int


def is_full(entry: Entry, shape: Sequence[object]) -> bool:
    """Whether a slice selects the whole dimension."""
    _, axis, value = entry
    return type(value) is not Window and bool(value == (0, shape[axis], 1))


def parse(shape: Sequence[int], index: object) -> list[Entry]:
    """The entries of an index into an array of that shape, one at least for each dimension.

    Raises TypeError for what is no index, IndexError for too many, boolean indices of the wrong shape, and an integer
    index into a dimension of size 0.
    """
    items = _with_masks(_items(index), shape)
    consumed = sum([item is not None and item is not Ellipsis for item in items])
    rank = len(shape)
    if consumed > rank:
        raise IndexError(f"too many indices: the array has {rank} dimensions, but {consumed} were indexed")
    filler = [FULL] * (rank - consumed)
    places = [position for position, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can have a single ellipsis ('...')")
    if places:
        items[places[0] : places[0] + 1] = filler
    else:
        items += filler
    entries: list[Entry] = []
    axis = 0
    for item in items:
        if item is None:
            entries.append((NEW, axis, None))
        else:
            entries.append(_entry(axis, item, shape[axis]))
            axis += 1
    return entries


def _items(index: object) -> list[Any]:
    if type(index) is tuple:
        return list(index)
    if isinstance(index, list):
        raise TypeError(
            "a list is no index: write x[asarray(indices)] to select several elements, or x[tuple(indices)]"
        )
    return list(index) if isinstance(index, tuple) else [index]


def _entry(axis: int, item: Any, size: int) -> Entry:
    kind = type(item)
    if kind is int:
        return INT, axis, static_position(item, size, axis)
    if kind is slice:
        return SLICE, axis, slice_bounds(item, size)
    if isinstance(item, (Array, Literal)):
        _check_integers(item.aval.dtype)
        if item.aval.shape:
            return ARRAY, axis, item
        static_position(0, size, axis)  # wherever it is, the dimension must not be empty
        return SCALAR, axis, item
    if isinstance(item, (np.ndarray, np.generic)):
        _check_integers(item.dtype)
        if not item.shape:
            return INT, axis, static_position(int(item), size, axis)
        return ARRAY, axis, item
    if isinstance(item, (list, tuple)):
        made = _sequence(item)
        _check_integers(made.dtype)
        return ARRAY, axis, made
    return INT, axis, static_position(_integer(item), size, axis)


def _integer(item: SupportsIndex) -> int:
    if isinstance(item, str):
        raise TypeError(f"arrays cannot be indexed by strings, got {item!r}")
    try:
        return operator.index(item)
    except TypeError:
        kind = type(item).__name__
        raise TypeError(
            f"an index must be an integer, a slice, an ellipsis, None, or an array of integers or booleans, "
            f"got {item!r} of type {kind}"
        ) from None


def static_position(position: int, size: int, axis: int) -> int:
    """An integer index counted from the front. One beyond the array stays beyond it."""
    if not is_symbolic(size) and size == 0:
        raise IndexError(f"index {position} into dimension {axis}, which has size 0")
    return position + size if position < 0 else position


def _check_integers(dtype: DType) -> None:
    if isinstance(dtype, dtypes.ExtendedDType) or not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(f"index arrays must be integer or boolean, got dtype {dtypes.dtype_name(dtype)}")


def _sequence(item: object) -> Tracer | np.ndarray:
    """A sequence within a tuple of indices, as an array."""
    if not item:
        return np.zeros((0,), np.int32)
    made = asarray(item)
    return made if isinstance(made, Tracer) else made.to_numpy()


# --- slices ---


def slice_bounds(item: slice, size: int) -> tuple[int, int, int]:
    """Start, stop and step of a slice; stop is not before start in the direction of the step."""
    if item.start is None and item.stop is None and item.step is None:
        return 0, size, 1
    for value in (item.start, item.stop, item.step):
        if isinstance(value, Tracer) and value.concrete() is None:
            raise IndexError(
                f"the bounds of a slice must be known while a function is traced, got {item!r}; "
                "tangrad.lax.dynamic_slice takes a part of a fixed size from a traced position"
            )
    if any([is_symbolic(value) for value in (size, item.start, item.stop)]):
        return _symbolic_bounds(item, size)
    start, stop, step = item.indices(size)
    count = len(range(start, stop, step))
    return start, start + count * step, step


def _symbolic_bounds(item: slice, size: int) -> tuple[int, int, int]:
    """The same where sizes are not known: `slice.indices`, by what holds for all sizes."""
    step = 1 if item.step is None else operator.index(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    first, last = (0, size) if step > 0 else (size - 1, -1)
    start, stop = [
        default if value is None else _within(as_size(value), size, step)
        for value, default in ((item.start, first), (item.stop, last))
    ]
    count = max_size((stop - start + step - 1) // step if step > 0 else (start - stop - step - 1) // -step, 0)
    return start, start + count * step, step


def _within(place: int, size: int, step: int) -> int:
    """A bound of a slice counted from the front, moved to the nearest place that a step in its direction may have."""
    low, high = (0, size) if step > 0 else (-1, size - 1)
    return max_size(place + size, low) if place < 0 else min_size(place, high)


def extent(bounds: tuple[int, int, int]) -> int:
    """How many elements a slice has; its stop is a whole number of steps from its start."""
    start, stop, step = bounds
    return stop - start if step == 1 else (stop - start) // step


# --- booleans ---


def _is_boolean(item: object) -> bool:
    if isinstance(item, (bool, np.bool_)):
        return True
    dtype = getattr(item, "dtype", None)
    if dtype is not None:
        return bool(dtype == np.bool_)
    return isinstance(item, list) and bool(item) and isinstance(item[0], (bool, np.bool_))


def _with_masks(items: list[Any], shape: Sequence[object]) -> list[Any]:
    """Boolean arrays replaced by the positions of their true elements, an index array for each of their dimensions."""
    if not any([_is_boolean(item) for item in items]):
        return items
    expanded: list[object] = []
    axis = 0
    consumed = sum([_dimensions_of(item) for item in items])
    for item in items:
        if item is Ellipsis:
            axis += len(shape) - consumed
            expanded.append(item)
        elif item is None:
            expanded.append(item)
        elif _is_boolean(item):
            mask = concrete_mask(item)
            _check_mask(mask, shape, axis, len(expanded))
            expanded += np.nonzero(mask)
            axis += mask.ndim
        else:
            expanded.append(item)
            axis += 1
    return expanded


def _dimensions_of(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if not _is_boolean(item):
        return 1
    return np.ndim(item) if not isinstance(item, (Array, Literal)) else item.ndim


def concrete_mask(item: ArrayLike) -> np.ndarray:
    """A boolean index as a NumPy array. Raises NonConcreteBooleanIndexError for a tracer."""
    if isinstance(item, Tracer):
        if item.concrete() is None:
            raise errors.NonConcreteBooleanIndexError(item)
        item = concrete_or_error(item)
    return np.asarray(item, dtype=bool)


def _check_mask(mask: np.ndarray, shape: Sequence[object], axis: int, position: int) -> None:
    found = tuple(shape[axis : axis + mask.ndim])
    # A dimension of size 0 fits all: the mask selects nothing.
    if len(found) < mask.ndim or any([size not in (0, own) for size, own in zip(mask.shape, found)]):
        raise IndexError(
            f"boolean index {position} of shape {mask.shape} does not fit the dimensions {found} that it selects from"
        )


def without_scalar_masks(index: object, rank: int) -> tuple[object, tuple[int, ...]]:
    """An index with True and False replaced, and the dimensions of size 1 that the array needs for it.

    As an index, True adds a dimension of size 1 and False one of size 0: the same as `[0]` and `[]` do in a dimension
    of size 1.
    """
    items = _items(index)
    flags = [_is_boolean(item) and _dimensions_of(item) == 0 for item in items]
    if True not in flags:
        return index, ()
    consumed = sum([_dimensions_of(item) for item in items])
    axes: list[int] = []
    axis = 0
    for position, (item, flag) in enumerate(zip(items, flags)):
        if flag:
            axes.append(axis)
            items[position] = np.zeros(int(concrete_mask(item)), np.int32)
            axis += 1
        else:
            axis += rank - consumed if item is Ellipsis else _dimensions_of(item)
    return tuple(items), tuple(axes)


# ----------------------------------------------------------------------------------------------------------------------
# Indices as operands: counted from the front, side by side for a gather, and where their dimensions go.


_INT32_MAX = (1 << 31) - 1
_INT64_MAX = (1 << 63) - 1
_POSITIONS = (ARRAY, SCALAR, INSIDE, INT)


# --- indices ---


def as_dtype(x: Value, dtype: DType) -> Value:
    return x if x.aval.dtype is dtype else convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def index_dtype(dtype: DType) -> DType:
    """int32 for the indices that fit; 64-bit ones, and 32-bit ones without sign where there are such, stay wide."""
    wide = dtype.itemsize == 8 or (dtype.itemsize == 4 and dtype.kind == "u")
    return dtypes.canonicalize_dtype("int64") if wide else INT32


def position_dtype(size: object) -> DType:
    """That of positions along a dimension: int32, but in the longest ones, which only 64 bits count through."""
    return dtypes.canonicalize_dtype("int64") if type(size) is int and size > _INT32_MAX else INT32


def from_front(value: Value, size: int, wrap_negative: bool = True) -> Value:
    """Traced or device-side indices as int32 (or int64) counted from the front."""
    signed = value.aval.dtype.kind != "u"
    wide = position_dtype(size)
    made = as_dtype(value, index_dtype(value.aval.dtype) if wide is INT32 else wide)
    if not signed or not wrap_negative:
        return made
    dtype = made.aval.dtype
    negative = lt_p.bind(made, literal(0, dtype))
    return select_n_p.bind(negative, made, add_p.bind(made, size_operand(size, dtype)))


def host_indices(value: np.ndarray, size: object) -> Value:
    """A NumPy array of indices on the device, in the dtype of positions: what is beyond is beyond the array."""
    dtype = position_dtype(size)
    most = _INT32_MAX if dtype is INT32 else _INT64_MAX
    small = np.clip(value, -most, most).astype(dtype)
    aval = ShapedArray(small.shape, dtype)
    return put(small, aval)


def index_component(entry: Entry, size: int, wrap_negative: bool = True, modulo: bool = False) -> Value:
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


def index_vectors(components: Sequence[Value], shape: Dimensions) -> Array:
    """Index components broadcast to `shape` and concatenated along a new last dimension."""
    dtype = next((c.aval.dtype for c in components if c.aval.dtype.itemsize > 4), INT32)
    columns = [_column(as_dtype(component, dtype), shape) for component in components]
    return columns[0] if len(columns) == 1 else concatenate_p.bind(*columns, dimension=len(shape))


def _column(component: Value, shape: Dimensions) -> Array:
    rank = len(shape)
    dimensions = tuple(range(rank - component.aval.ndim, rank))
    return broadcast_in_dim_p.bind(component, shape=(*shape, 1), broadcast_dimensions=dimensions)


def wrapped(component: Value, size: int) -> Array:
    """Indices modulo the size, for the mode "wrap"."""
    dtype = component.aval.dtype
    whole = size_operand(size, dtype)
    remainder = rem_p.bind(component, whole)
    return select_n_p.bind(lt_p.bind(remainder, literal(0, dtype)), remainder, add_p.bind(remainder, whole))


# --- where the dimensions of index arrays go ---


def advanced_position(entries: Sequence[Entry]) -> int:
    """Before how many of the result's dimensions those of the index arrays stand, as in NumPy.

    At the place of the index arrays if these (and integers) stand side by side, else in front.
    """
    places = [position for position, (kind, _, _) in enumerate(entries) if kind in _POSITIONS]
    if places[-1] - places[0] + 1 != len(places):
        return 0
    return sum([kind in (SLICE, NEW) for kind, _, _ in entries[: places[0]]])


def result_layout(entries: Sequence[Entry], batch_rank: int) -> list[int | str]:
    """The dimensions of x[index], in order: NEW, "batch", or the axis of the array that runs there."""
    kept = kept_dimensions(entries)
    before = advanced_position(entries)
    return [*kept[:before], *["batch"] * batch_rank, *kept[before:]]


def kept_dimensions(entries: Sequence[Entry]) -> list[int | str]:
    """What an index leaves besides the dimensions of index arrays: NEW, or the axis of the array that runs there."""
    return [NEW if kind == NEW else axis for kind, axis, _ in entries if kind in (NEW, SLICE)]


def batch_shape(components: Sequence[Value]) -> tuple[int, ...]:
    """The common shape of index arrays. Raises IndexError where they do not broadcast together."""
    return common_batch(tuple([component.aval.shape for component in components]))


def common_batch(shapes: tuple[tuple[object, ...], ...]) -> tuple[int, ...]:
    try:
        return common_shape(shapes)
    except ValueError:
        listed = ", ".join([str(shape) for shape in shapes])
        raise IndexError(f"index arrays of shapes {listed} do not broadcast together") from None


def axes_before(items: Sequence[object], position: int, rank: int, mask_rank: int) -> int | None:
    """How many of the array's dimensions stand before those of the mask; None if the index does not fit."""
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    explicit = len(items) - 1 - len(places) + mask_rank
    if len(places) > 1 or explicit > rank:
        return None
    skipped = rank - explicit if places and places[0] < position else 0
    return int(position) - (1 if places and places[0] < position else 0) + skipped
