"""Changed copies: x.at[index].set(y), .add(y), .get(), …

An index of slices and integers becomes an update in place of a part. Masks with one value become a choice between two
arrays, which works under jit too. Everything else is a scatter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad._numpy.arithmetic import divide, power
from tangrad._numpy.at_misuse import METHODS, NeedsIndex, NeedsMethod
from tangrad._numpy.conversion import asarray
from tangrad._numpy.fusing import Fused
from tangrad._numpy.index_parsing import (
    ARRAY,
    FULL,
    INSIDE,
    INT,
    NEW,
    SCALAR,
    SLICE,
    Entry,
    Window,
    axes_before,
    batch_shape,
    extent,
    index_component,
    index_vectors,
    is_full,
    kept_dimensions,
    parse,
    position_dtype,
    result_layout,
    without_scalar_masks,
    wrapped,
)
from tangrad._numpy.indexing import IndexPlan, parsed_mode, planned, replanned, take_index
from tangrad._numpy.operands import BOOL, PYTHON_SCALARS, broadcast_to_shape, convert, is_array_like
from tangrad._numpy.repeated_updates import in_turn
from tangrad._numpy.shapes import expand_dims, reshaped
from tangrad.core import Array, Primitive, api_boundary, as_array, dtypes, literal
from tangrad.extend.lax import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    add_p,
    and_p,
    broadcast_in_dim_p,
    convert_element_type_p,
    dynamic_slice_p,
    dynamic_update_slice_p,
    max_p,
    min_p,
    mul_p,
    or_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
    select_n_p,
    sharded_call,
    slice_p,
    squeeze_p,
    sub_p,
)
from tangrad.typing import ArrayLike, Dimensions, ShardingLike, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(METHODS, True)

_COMBINERS: dict[str, Primitive] = {
    "add": add_p,
    "subtract": sub_p,
    "multiply": mul_p,
    "min": min_p,
    "max": max_p,
}
_SCATTERS = {
    "set": scatter_p,
    "add": scatter_add_p,
    "subtract": scatter_sub_p,
    "multiply": scatter_mul_p,
    "min": scatter_min_p,
    "max": scatter_max_p,
}
_BOOLEAN = {"add": or_p, "multiply": and_p}


class IndexUpdates(NeedsIndex):
    """What `x.at` is: `x.at[index]` names a part of the array, of which a changed copy can be made."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, index: object) -> IndexUpdate:
        return IndexUpdate(self._array, index)

    def __repr__(self) -> str:
        return f"{self._array!r}.at"


class IndexUpdate(NeedsMethod):
    """A part of an array. Each method returns a changed copy of the whole; `get` the part.

    All take `mode` for indices that are out of bounds ("drop" leaves such updates out, as None does; "clip" moves them
    to the edge; "promise_in_bounds" vouches that there are none; "wrap" counts on from the other end), the promises
    `indices_are_sorted` and `unique_indices`, and `wrap_negative_indices` (negative ones count from the end).
    """

    __slots__ = ("_array", "_index")

    def __init__(self, array: Array, index: object) -> None:
        self._array = array
        self._index = index

    def __repr__(self) -> str:
        return f"{self._array!r}.at[{self._index!r}]"

    @api_boundary
    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: ArrayLike | None = None,
        wrap_negative_indices: bool = True,
        out_sharding: ShardingLike = None,
    ) -> Array:
        """The part; with mode "fill" what is out of bounds is `fill_value`, by default NaN or the least integer."""
        options = (parsed_mode(mode), fill_value, indices_are_sorted, unique_indices, wrap_negative_indices)
        if out_sharding is not None:
            return sharded_call(out_sharding, take_index, self._array, self._index, *options)
        return take_index(self._array, self._index, *options)

    @api_boundary
    def set(self, values: ArrayLike, **options: Any) -> Array:
        """The array with the part replaced."""
        return updated("set", self._array, self._index, values, **options)

    @api_boundary
    def add(self, values: ArrayLike, **options: Any) -> Array:
        """The array with values added to the part, once for each time that an index names an element."""
        return updated("add", self._array, self._index, values, **options)

    @api_boundary
    def subtract(self, values: ArrayLike, **options: Any) -> Array:
        """The array with values subtracted from the part, once for each time that an index names an element."""
        return updated("subtract", self._array, self._index, values, **options)

    @api_boundary
    def multiply(self, values: ArrayLike, **options: Any) -> Array:
        """The array with the part multiplied, once for each time that an index names an element."""
        return updated("multiply", self._array, self._index, values, **options)

    mul = multiply

    @api_boundary
    def min(self, values: ArrayLike, **options: Any) -> Array:
        """The array with the lesser of the part and the values."""
        return updated("min", self._array, self._index, values, **options)

    @api_boundary
    def max(self, values: ArrayLike, **options: Any) -> Array:
        """The array with the greater of the part and the values."""
        return updated("max", self._array, self._index, values, **options)

    @api_boundary
    def divide(self, values: ArrayLike, **options: Any) -> Array:
        """The array with the part divided, once for each time that an index names an element."""
        return divide(self._array, self._factors(values, options))

    @api_boundary
    def power(self, values: ArrayLike, **options: Any) -> Array:
        """The array with the part raised to a power, once for each time that an index names an element."""
        return power(self._array, self._factors(values, options))

    def _factors(self, values: ArrayLike, options: dict[str, Any]) -> Array:
        """Ones, and in the part the product of the values for each element."""
        one = literal(1, self._array.aval.dtype, self._array.aval.weak_type)
        return updated("multiply", _spread(one, self._array.aval.shape), self._index, values, **options)

    @api_boundary
    def apply(self, func: Callable[[Array], ArrayLike], **options: Any) -> Array:
        """The array with a function applied to each element of the part, once for each time that an index names it."""

        def once(x: Array, index: object) -> Array:
            part = IndexUpdate(x, index).get(**{**options, "mode": options.get("mode") or "clip"})
            return updated("set", x, index, func(part), **options)

        if options.get("unique_indices"):
            return once(self._array, self._index)
        return in_turn(self._array, self._index, once, parsed_mode(options.get("mode")))


def at(x: Value) -> IndexUpdates:
    """`x.at[index]`: a changed copy of the array, made by `.set(values)`, `.add(values)` and the like."""
    part_at = getattr(getattr(x, "aval", None), "part_at", None)  # of what is no array: a reference
    return IndexUpdates(x if isinstance(x, Array) else as_array(x)) if part_at is None else part_at(x)


at_property = property(at)  # of arrays: the kernel binds it


# --- updates ---


def updated(
    operation: str,
    x: Array,
    index: object,
    values: ArrayLike,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: object = None,
    fill_value: None = None,
    wrap_negative_indices: bool = True,
    out_sharding: ShardingLike = None,
) -> Array:
    """A changed copy of `x`."""
    if fill_value is not None:
        raise ValueError("fill_value is for .get(), not for updates")
    if out_sharding is not None:
        promises = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
        promises["wrap_negative_indices"] = wrap_negative_indices
        return sharded_call(out_sharding, updated, operation, x, index, values, mode=mode, **promises)
    values = _converted(operation, x, values)
    chosen = parsed_mode(mode)
    own = x.aval
    if values.aval.dtype != own.dtype:
        x = convert(x, values.aval.dtype)
    result = _changed(operation, x, index, values, chosen, indices_are_sorted, unique_indices, wrap_negative_indices)
    return result if result.aval.dtype == own.dtype else convert(result, own.dtype, own.weak_type)


def _changed(
    operation: str,
    x: Array,
    index: object,
    values: Value,
    chosen: object,
    indices_are_sorted: bool,
    unique_indices: bool,
    wrap_negative_indices: bool,
) -> Array:
    """A changed copy of `x`, by values of its dtype."""
    masked = _mask_update(operation, x, index, values)
    if masked is not None:
        return masked
    index, masks = without_scalar_masks(index, x.aval.ndim)
    target = expand_dims(x, masks) if masks else x
    entries = parse(target.aval.shape, index)
    flags = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
    if _nowhere(entries, target.aval.shape) and chosen in (None, GatherScatterMode.FILL_OR_DROP):
        values = _fitted(values, entries, target.aval.shape, ())
        if 0 in target.aval.shape:
            return x
        result = _scatter(operation, target, entries, values, GatherScatterMode.FILL_OR_DROP, flags, False)
    else:
        plan, operands = planned(target, entries)
        options = {"mode": chosen, **flags, "wrap_negative": wrap_negative_indices}
        result = _updated(target, values, *operands, operation=operation, plan=plan, **options)
    return squeeze_p.bind(result, dimensions=masks) if masks else result


def _nowhere(entries: Sequence[Entry], shape: Sequence[int]) -> bool:
    """Whether an index without arrays names what is outside: such updates are dropped, but may be checked for."""
    if any([kind in (ARRAY, SCALAR) for kind, _, _ in entries]):
        return False
    return any([kind == INT and not 0 <= value < shape[axis] for kind, axis, value in entries])


def _update_planned(
    x: Array,
    values: Value,
    *operands: Value,
    operation: str,
    plan: IndexPlan,
    mode: object,
    indices_are_sorted: bool,
    unique_indices: bool,
    wrap_negative: bool,
) -> Value:
    entries = replanned(plan, operands)
    whole = all([kind in (NEW, INSIDE, INT) or (kind == SLICE and value[2] == 1) for kind, _, value in entries])
    if whole:
        return _update_block(operation, x, entries, values)
    flags = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
    return _scatter(operation, x, entries, values, mode, flags, wrap_negative)


_updated = Fused("update", _update_planned)


def _converted(operation: str, x: Value, values: Any) -> Value:
    """The values in the array's dtype, as .astype converts them; with a warning where they may lose something.

    What is computed with values of a greater dtype is computed in it, and the result converted: 3 * 2.5 is 7, not 6.
    """
    aval = x.aval
    dtype = dtypes.lattice_result_type(x, values)[0] if is_array_like(values) else None
    if dtype == aval.dtype and type(values) in PYTHON_SCALARS:
        return literal(values, dtype, aval.weak_type)
    made = values if hasattr(type(values), "aval") else asarray(values)
    if made.aval.dtype == aval.dtype:
        return made
    wide = dtypes.lattice_result_type(x, made)[0] if dtype is None else dtype
    if wide != aval.dtype:
        names = f"{dtypes.dtype_name(made.aval.dtype)} to {dtypes.dtype_name(aval.dtype)}"
        message = f"updating a part of an array converts {names} and may lose values"
        warnings.warn(message, FutureWarning, stacklevel=dtypes.user_stack_level())
        if operation != "set":
            return convert(made, wide)
    return convert_element_type_p.bind(made, new_dtype=aval.dtype, weak_type=False)


def _combine(operation: str, part: Value, values: Value) -> Value:
    if operation == "set":
        return values
    primitive = _COMBINERS[operation]
    if part.aval.dtype is BOOL:
        primitive = _BOOLEAN.get(operation, primitive)
    return primitive.bind(part, values)


def _mask_update(operation: str, x: Value, index: object, values: Value) -> Array | None:
    """One value for all elements under a mask, traced or not: a choice. None if this is something else."""
    if values.aval.ndim:
        return None
    items = index if type(index) is tuple else (index,)
    position: int = 0
    mask = None
    for place, item in enumerate(items):
        if isinstance(item, (Array, np.ndarray)) and item.dtype == np.bool_ and item.ndim and mask is None:
            position, mask = place, item
        elif not (type(item) is slice and item == FULL) and item is not Ellipsis:
            return None
    if mask is None:
        return None
    shape = x.aval.shape
    before = axes_before(items, position, len(shape), mask.ndim)
    if before is None or tuple(shape[before : before + mask.ndim]) != tuple(mask.shape):
        return None  # the parser has the message
    dimensions = tuple(range(before, before + mask.ndim))
    whole = broadcast_in_dim_p.bind(asarray(mask), shape=shape, broadcast_dimensions=dimensions)
    return select_n_p.bind(whole, x, _combine(operation, x, _spread(values, shape)))


def _spread(value: object, shape: Dimensions) -> Array:
    return broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=())


def _fitted(values: Value, entries: Sequence[Entry], shape: Sequence[int], batch: tuple[int, ...]) -> Value:
    """The values broadcast to the shape of x[index], then without its new dimensions."""
    layout: Sequence[Any] = (
        result_layout(entries, len(batch)) if len(batch) or _has_advanced(entries) else kept_dimensions(entries)
    )
    extents = {axis: _extent(value) for kind, axis, value in entries if kind == SLICE}
    sizes = iter(batch)
    wanted = tuple([1 if item == NEW else next(sizes) if item == "batch" else extents[item] for item in layout])
    if 0 in wanted:  # nothing is written: values of any shape fit
        values = literal(0, values.aval.dtype)
    own = values.aval.shape
    fits = len(own) <= len(wanted) and all(a in (1, b) for a, b in zip(own[::-1], wanted[::-1]))
    if not fits:
        raise ValueError(f"values of shape {own} do not broadcast to shape {wanted}, that of the indexed part")
    without_new = tuple([size for item, size in zip(layout, wanted) if item != NEW])
    return reshaped(broadcast_to_shape(values, wanted), without_new)


def _has_advanced(entries: Sequence[Entry]) -> bool:
    return any([kind in (ARRAY, SCALAR, INSIDE, INT) for kind, _, _ in entries])


def _extent(bounds: Window | tuple[int, int, int]) -> int:
    return bounds.size if isinstance(bounds, Window) else extent(bounds)


def _update_block(operation: str, x: Value, entries: Sequence[Entry], values: Value) -> Value:
    """A block that is within the array: read it, combine, write it back."""
    shape = x.aval.shape
    starts: list[Value | int] = [0] * len(shape)
    sizes = list(shape)
    for kind, axis, value in entries:
        if kind in (INT, INSIDE):
            starts[axis], sizes[axis] = value, 1
        elif kind == SLICE:
            starts[axis], sizes[axis] = value[0], _extent(value)
    block = reshaped(_array_of(_fitted(values, entries, shape, ())), tuple(sizes))
    if operation != "set":
        block = _combine(operation, _block(x, starts, sizes), block)
    if tuple(sizes) == shape:
        return block if block.aval.weak_type is x.aval.weak_type else convert(block, x.aval.dtype, x.aval.weak_type)
    return dynamic_update_slice_p.bind(x, block, *_positions(starts))


def _positions(starts: Sequence[Any]) -> list[Value]:
    longest = max([start for start in starts if type(start) is int], default=0)
    dtype = position_dtype(longest)
    return [literal(start, dtype) if type(start) is int else start for start in starts]


def _block(x: Value, starts: Sequence[Value | int], sizes: Sequence[int]) -> Value:
    if tuple(sizes) == x.aval.shape:
        return x
    if not all([type(start) is int for start in starts]):
        return dynamic_slice_p.bind(x, *_positions(starts), slice_sizes=tuple(sizes))
    limits = tuple([start + size for start, size in zip(starts, sizes)])
    return slice_p.bind(x, start_indices=tuple(starts), limit_indices=limits, strides=None)


def _array_of(value: Value) -> Value:
    return value if isinstance(value, Array) else as_array(value)


# --- scatter ---


def _scatter(
    operation: str, x: Array, entries: list[Entry], values: Value, mode: object, flags: dict[str, bool], negative: bool
) -> Array:
    """Index arrays as they are; slices in full as windows, other slices as index arrays of a dimension of their own."""
    shape = x.aval.shape
    advanced = [entry for entry in entries if entry[0] in (ARRAY, SCALAR, INSIDE, INT)]
    partial = [entry for entry in entries if entry[0] == SLICE and not is_full(entry, shape)]
    components = [index_component(entry, shape[entry[1]], negative, mode == "wrap") for entry in advanced]
    if mode == "wrap":
        components = [wrapped(component, shape[axis]) for component, (_, axis, _) in zip(components, advanced)]
        mode = None
    block = batch_shape(components) if components else ()
    values = _fitted(values, entries, shape, block)
    if 0 in shape:  # there is no place for a value
        return x
    layout = [
        item for item in (result_layout(entries, len(block)) if advanced else kept_dimensions(entries)) if item != NEW
    ]
    axes_of_partial = [axis for _, axis, _ in partial]
    # The dimensions of the result that indices run along, in order: those of the index arrays, and of partial slices.
    along = [position for position, item in enumerate(layout) if item == "batch" or item in axes_of_partial]
    sizes = values.aval.shape
    batch = tuple([sizes[position] for position in along])
    index_axes = [position for position, place in enumerate(along) if layout[place] == "batch"]
    columns = [_placed(component, batch, index_axes) for component in components]
    for _, axis, value in partial:
        place = along.index(layout.index(axis))
        columns.append(_placed(_places_of(value), batch, [place]))
    axes = tuple([axis for _, axis, _ in advanced] + axes_of_partial)
    numbers = ScatterDimensionNumbers(
        update_window_dims=tuple([position for position in range(len(layout)) if position not in along]),
        inserted_window_dims=tuple(sorted(axes)),
        scatter_dims_to_operand_dims=axes,
    )
    if partial and not advanced:
        flags = {"indices_are_sorted": all(value[2] > 0 for _, _, value in partial), "unique_indices": True}
    elif not block:  # single positions cannot repeat
        flags = {**flags, "unique_indices": True}
    return _bind_scatter(operation, x, index_vectors(columns, batch), values, numbers, mode, flags)


def _places_of(bounds: Window | tuple[object, object, int]) -> Array:
    """The positions in a slice."""
    if type(bounds) is not Window:
        return asarray(np.arange(*bounds, dtype=np.int32))
    steps = asarray(np.arange(bounds.size, dtype=np.int32) * np.int32(bounds.step))
    return add_p.bind(steps, bounds.start)


def _placed(component: Value, batch: tuple[int, ...], positions: Sequence[int]) -> Value:
    """An index array whose dimensions stand at these positions of the batch, the last ones first to be filled."""
    rank = component.aval.ndim
    if not rank:
        return component
    mine = positions[len(positions) - rank :]
    sizes = component.aval.shape
    shape = [1] * len(batch)
    for place, size in zip(mine, sizes):
        shape[place] = size
    return reshaped(component, tuple(shape))


def _bind_scatter(
    operation: str, x: Value, indices: Value, values: Value, numbers: object, mode: object, flags: dict[str, bool]
) -> Array:
    primitive = _SCATTERS[operation]
    if x.aval.dtype is BOOL and operation in _BOOLEAN:
        primitive = scatter_max_p if operation == "add" else scatter_min_p
    chosen = GatherScatterMode.FILL_OR_DROP if mode is None else mode
    return primitive.bind(x, indices, values, dimension_numbers=numbers, mode=chosen, **flags)
