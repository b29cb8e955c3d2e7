"""Reading with x[...]: slices where it can be, a gather where index arrays make it necessary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tangrad._numpy.fusing import Fused
from tangrad._numpy.index_parsing import (
    ARRAY,
    INSIDE,
    INT,
    NEW,
    SCALAR,
    SLICE,
    WINDOW,
    Entry,
    Window,
    as_dtype,
    batch_shape,
    common_batch,
    extent,
    host_indices,
    index_component,
    index_vectors,
    is_full,
    kept_dimensions,
    parse,
    position_dtype,
    result_layout,
    static_position,
    without_scalar_masks,
    wrapped,
)
from tangrad._numpy.operands import BOOL, INT32
from tangrad._numpy.shapes import expand_dims, reshaped
from tangrad.core import (
    EVAL_TRACE,
    Array,
    Literal,
    Tracer,
    as_array,
    as_operand,
    dtypes,
    filter_traceback,
    is_concrete,
    literal,
    own_boundary,
    thread,
)
from tangrad.core.arguments import is_symbolic
from tangrad.core.caches import DirectCalls, exact_equality
from tangrad.extend import lax
from tangrad.extend.lax import (
    broadcast_in_dim_p,
    convert_element_type_p,
    dynamic_slice_p,
    gather_p,
    select_n_p,
    slice_p,
)
from tangrad.typing import Dimensions, DType, Params, Value

_INT32_MAX = (1 << 31) - 1
_ZERO = literal(0, INT32)
_POSITIONS = (ARRAY, SCALAR, INSIDE, INT)
OPERAND = "operand"  # in the place of a fill value that is the last operand


def getitem(x: Any, index: Any) -> Array:
    """x[index]. Integers beyond the array are clamped: a program that is compiled cannot raise."""
    try:
        if thread.trace is EVAL_TRACE:
            take = _parts.get(type(x))
            part = _first_part(x, index) if take is None else take(x, index)
            if part is not None:
                return part
        kind, aval = type(index), x.aval
        if hasattr(aval, "get_item"):  # what is no array has one: a reference
            return aval.get_item(x, index)
        shape = aval.shape
        if shape:
            if kind is int:
                return _one_integer(x, shape, index)
            if kind is slice:
                return _one_slice(x, shape, index)
        return take_index(x, index)
    except Exception as error:
        filter_traceback(error)
        raise


own_boundary(getitem)


def _has_positions(given: Mapping[str, Any]) -> bool:
    """Whether an index has positions, which are numbers: not where it names all of an axis, steps, or adds axes."""
    shape, index = given["x"].aval.shape, given["index"]
    return any([_is_position(entry, shape) for entry in parse(shape, index)])


def _is_position(entry: Entry, shape: Sequence[object]) -> bool:
    kind, _, value = entry
    if kind == SLICE:
        return value[2] == 1 and not is_full(entry, shape)
    return kind != NEW


COPIES_FROM_HOST = {"getitem": _has_positions}

# The type of an array -> how its backend takes a part of one without an operation. It is empty where operations are
# looked at one by one: parts must be operations then.
_parts = DirectCalls()


def _first_part(x: Array, index: object) -> Array | None:
    """A part of the first array of its type, as `_parts` will have it."""
    if EVAL_TRACE.watched:
        return None
    backend = None if isinstance(x, Tracer) else x.backend
    part = None if backend is None else backend.part(x, index)
    # Asked for afterwards: a backend may put a quicker one in its place.
    _parts.keep(type(x), _no_part if backend is None else backend.part)
    return part


def _no_part(x: object, index: object) -> None:
    """Of tracers, and of literals, which are of no backend."""


def _one_integer(x: Array, shape: Dimensions, index: int) -> Array:
    """x[3]. Outside of staging the position is an operand: one program serves all."""
    size = shape[0]
    position = static_position(index, size, 0)
    if is_eager(x):
        return _element(x, index_component((INT, 0, position), size))
    return _static_part(x, shape, [(INT, 0, position), *_full_entries(shape, 1)])


def _element_of(x: Array, position: Value) -> Array:
    rest = x.aval.shape[1:]
    part = dynamic_slice_p.bind(x, position, *[_ZERO] * len(rest), slice_sizes=(1, *rest))
    return lax.squeeze_p.bind(part, dimensions=(0,))


_element = Fused("getitem_of_integer", _element_of)


def _one_slice(x: Array, shape: Dimensions, index: slice) -> Array:
    """x[a:b], of integers and forwards; others take the general way."""
    start, stop, step, size = index.start, index.stop, index.step, shape[0]
    known = (start is None or type(start) is int) and (stop is None or type(stop) is int)
    if not known or (step is not None and step != 1) or type(size) is not int:
        return take_index(x, index)
    start, stop, _ = index.indices(size)
    if start == 0 and stop == size and isinstance(x, Array):
        return x
    rest = shape[1:]
    limits = (stop if stop > start else start, *rest)
    return slice_p.bind(x, start_indices=(start, *(0,) * len(rest)), limit_indices=limits, strides=None)


def is_eager(x: object) -> bool:
    """Whether operations on `x` run at once, each compiled for itself where the backend compiles."""
    return not isinstance(x, Tracer) or x.concrete() is not None


def _full_entries(shape: Sequence[object], first: int) -> list[Entry]:
    return [(SLICE, axis, (0, shape[axis], 1)) for axis in range(first, len(shape))]


# --- any index ---


@exact_equality
class IndexPlan(tuple[Entry, ...]):
    """The entries of an index, without its arrays: what the indexing functions have as a parameter."""

    __slots__ = ()


def planned(x: Value, entries: Sequence[Entry]) -> tuple[IndexPlan, list[Value]]:
    """The plan of an index, and its arrays as operands; where programs are not staged, its integers, and the starts of
    its slices, too.
    """
    shape, eager = x.aval.shape, is_eager(x)
    plan: list[Entry] = []
    operands = []
    for kind, axis, value in entries:
        if kind in (ARRAY, SCALAR):
            plan.append((kind, axis, None))
            operands.append(host_indices(value, shape[axis]) if isinstance(value, np.ndarray) else value)
        elif kind == INT and not is_symbolic(shape[axis]) and (eager or not 0 <= value < shape[axis]):
            size = int(shape[axis])
            plan.append((INSIDE if 0 <= value < size else SCALAR, axis, None))
            # What stayed negative was beyond the lower end: as it was written.
            operands.append(literal(value if value >= 0 else value - size, position_dtype(size)))
        elif kind == SLICE and eager and not is_full((kind, axis, value), shape) and shape[axis] <= _INT32_MAX:
            plan.append((WINDOW, axis, (len(range(*value)), value[2])))
            operands.append(literal(value[0], INT32))
        else:
            plan.append((kind, axis, value))
    return IndexPlan(plan), operands


def replanned(plan: IndexPlan, operands: Sequence[Value]) -> list[Entry]:
    """The entries of a plan, with the operands in their places."""
    rest = iter(operands)
    entries: list[Entry] = []
    for kind, axis, value in plan:
        if kind == WINDOW:
            entries.append((SLICE, axis, Window(next(rest), *value)))
        else:
            entries.append((kind, axis, next(rest) if kind in _OPERANDS else value))
    return entries


_OPERANDS = (ARRAY, SCALAR, INSIDE)


def take_index(
    x: Value,
    index: object,
    mode: object = None,
    fill_value: object = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    wrap_negative: bool = True,
) -> Array:
    """x[index] with a mode for what is outside; None clamps it."""
    if not isinstance(x, Array):
        x = as_array(x)
    index, masks = without_scalar_masks(index, x.aval.ndim)
    if masks:
        x = expand_dims(x, masks)
    entries = parse(x.aval.shape, index)
    if mode is lax.GatherScatterMode.CLIP:
        entries = [_within(entry, x.aval.shape) for entry in entries]
    eager = is_eager(x)
    if {kind for kind, _, _ in entries} <= {SLICE}:
        return sliced(x, entries)
    partial = [entry for entry in entries if entry[0] == SLICE and not is_full(entry, x.aval.shape)] if eager else ()
    # Slices are operations of their own outside of programs, so that those need not be compiled for their limits.
    if partial and _is_less(x.aval.shape, entries):
        x = sliced(x, partial)
        entries = _without_slices(x.aval.shape, entries)
    elif partial:
        whole = _without_slices(x.aval.shape, entries)
        taken = _take_entries(x, whole, mode, fill_value, indices_are_sorted, unique_indices, wrap_negative)
        return sliced(taken, _in_result(partial, entries))
    return _take_entries(x, entries, mode, fill_value, indices_are_sorted, unique_indices, wrap_negative)


def _without_slices(shape: Sequence[object], entries: Sequence[Entry]) -> list[Entry]:
    return [
        (kind, axis, (0, shape[axis], 1)) if kind == SLICE else (kind, axis, value) for kind, axis, value in entries
    ]


def _batch_of(entries: Sequence[Entry]) -> tuple[int, ...]:
    return common_batch(tuple([tuple(value.shape) for kind, _, value in entries if kind == ARRAY]))


def _is_less(shape: Sequence[int], entries: Sequence[Entry]) -> bool:
    """Whether there are fewer elements in the slices of the array than in what the index arrays select of all of it."""
    arrays = [axis for kind, axis, _ in entries if kind == ARRAY]
    if not arrays:
        return False
    sliced_first = math.prod([extent(value) for kind, _, value in entries if kind == SLICE])
    for kind, axis, _ in entries:
        sliced_first *= shape[axis] if kind in (ARRAY, SCALAR, INT) else 1
    taken_first = math.prod(_batch_of(entries)) * math.prod([shape[axis] for kind, axis, _ in entries if kind == SLICE])
    if is_symbolic(sliced_first) or is_symbolic(taken_first):
        return False  # which is less depends on the sizes; both orders are right
    return sliced_first <= taken_first


def _in_result(partial: Sequence[Entry], entries: Sequence[Entry]) -> list[Entry]:
    """Slices as they are of the result of all that an index does besides."""
    kinds = {kind for kind, _, _ in entries}
    layout = result_layout(entries, len(_batch_of(entries))) if kinds & set(_POSITIONS) else kept_dimensions(entries)
    return [(SLICE, layout.index(axis), value) for _, axis, value in partial]


def _take_entries(
    x: Array,
    entries: Sequence[Entry],
    mode: object,
    fill_value: object,
    indices_are_sorted: bool,
    unique_indices: bool,
    wrap_negative: bool,
) -> Array:
    plan, operands = planned(x, entries)
    if not operands:
        return _taken(x, plan=plan, **_NO_OPTIONS) if is_eager(x) else _static_part(x, x.aval.shape, entries)
    fill: Any = filling(fill_value, x.aval.dtype) if mode is lax.GatherScatterMode.FILL_OR_DROP else None
    if fill_value is not None and fill is not None and is_eager(x):
        fill = literal(np.asarray(fill).astype(x.aval.dtype)[()], x.aval.dtype)
    if hasattr(type(fill), "aval"):
        operands.append(fill)
        fill = OPERAND
    return _taken(
        x,
        *operands,
        plan=plan,
        mode=mode,
        fill_value=fill,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        wrap_negative=wrap_negative,
    )


_NO_OPTIONS = {
    "mode": None, "fill_value": None, "indices_are_sorted": False, "unique_indices": False, "wrap_negative": True,
}  # fmt: skip


def _within(entry: Entry, shape: Sequence[int]) -> Entry:
    """Integers beyond the array moved to its edge."""
    kind, axis, value = entry
    return (kind, axis, _clamped(value, shape[axis])) if kind == INT else entry


def _take_planned(
    x: Array,
    *given: Value,
    plan: IndexPlan,
    mode: object,
    fill_value: object,
    indices_are_sorted: bool,
    unique_indices: bool,
    wrap_negative: bool,
) -> Value:
    operands: Sequence[Value] = given
    if fill_value is OPERAND:
        *operands, fill_value = given
    entries = replanned(plan, operands)
    kinds = {kind for kind, _, _ in entries}
    shape = x.aval.shape
    if ARRAY not in kinds and (SCALAR not in kinds or mode in (None, lax.GatherScatterMode.CLIP)):
        return _dynamic_part(x, shape, entries) if operands else _static_part(x, shape, entries)
    flags = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
    return _gather(x, entries, mode, fill_value, flags, wrap_negative)


_taken = Fused("getitem", _take_planned)


# --- slices ---


def sliced(x: Array, entries: Sequence[Entry], extents: dict[int, tuple[int, int]] | None = None) -> Array:
    """The part of an array that the slices among the entries select; other dimensions in full, or by `extents`."""
    shape = x.aval.shape
    starts, limits, strides, reversed_axes = [0] * len(shape), list(shape), [1] * len(shape), []
    for kind, axis, value in entries:
        if kind == SLICE:
            starts[axis], limits[axis], strides[axis] = _ascending(*value)
            if value[2] < 0:
                reversed_axes.append(axis)
    for axis, (start, stop) in (extents or {}).items():
        starts[axis], limits[axis] = start, stop
    if any([start != 0 for start in starts]) or tuple(limits) != shape or set(strides) != {1}:
        steps = None if set(strides) <= {1} else tuple(strides)
        x = slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=steps)
    return lax.rev_p.bind(x, dimensions=tuple(reversed_axes)) if reversed_axes else x


def _ascending(start: int, stop: int, step: int) -> tuple[int, int, int]:
    """The same elements in ascending order: first, last + 1, stride. `stop` is a whole number of steps from `start`."""
    if step == 1:
        return start, stop, 1
    if start == stop:
        return 0, 0, 1
    return (start, stop - step + 1, step) if step > 0 else (stop - step, start + 1, -step)


def _clamped(position: int, size: int) -> int:
    if is_symbolic(size):
        return position
    return 0 if position < 0 else min(position, size - 1)


def _static_part(x: Array, shape: Sequence[int], entries: Sequence[Entry]) -> Array:
    """All positions are known. Those beyond the array stay operands, which are clamped, and may be checked."""
    extents = {axis: value for kind, axis, value in entries if kind == INT}
    if any([not is_symbolic(shape[axis]) and not 0 <= value < shape[axis] for axis, value in extents.items()]):
        return _dynamic_part(x, shape, entries)
    part = sliced(x, entries, {axis: (position, position + 1) for axis, position in extents.items()})
    return _shaped(part, tuple(extents), entries)


def _dynamic_part(x: Array, shape: Sequence[int], entries: Sequence[Entry]) -> Array:
    """Some positions are arrays without dimensions, or numbers that programs need not be compiled for."""
    part = sliced(x, entries)
    starts: list[Value] = [_ZERO] * len(shape)
    chosen = []
    for kind, axis, value in entries:
        if kind in _POSITIONS:
            chosen.append(axis)
            starts[axis] = index_component((kind, axis, value), shape[axis])
    dtype = next((start.aval.dtype for start in starts if start.aval.dtype.itemsize > 4), INT32)
    starts = [as_dtype(start, dtype) for start in starts]
    sizes = tuple([1 if axis in chosen else size for axis, size in enumerate(part.aval.shape)])
    return _shaped(dynamic_slice_p.bind(part, *starts, slice_sizes=sizes), tuple(chosen), entries)


def _shaped(part: Array, dropped: tuple[int, ...], entries: Sequence[Entry]) -> Array:
    """Without the dimensions that integers index, and with the new ones."""
    if dropped:
        part = lax.squeeze_p.bind(part, dimensions=dropped)
    kinds = [kind for kind, _, _ in entries if kind in (NEW, SLICE)]
    return with_new_axes(part, [position for position, kind in enumerate(kinds) if kind == NEW])


def with_new_axes(x: Array, positions: Sequence[int]) -> Array:
    """Dimensions of size 1 at these positions of the result."""
    return expand_dims(x, tuple(positions)) if positions else x


def _gather(
    x: Array, entries: list[Entry], mode: object, fill_value: object, flags: dict[str, bool], negative: bool
) -> Array:
    x = sliced(x, entries)
    shape = x.aval.shape
    advanced = [entry for entry in entries if entry[0] in _POSITIONS]
    axes = tuple([axis for _, axis, _ in advanced])
    components = [index_component(entry, shape[entry[1]], negative, mode == "wrap") for entry in advanced]
    if mode == "wrap":
        components = [wrapped(component, shape[axis]) for component, axis in zip(components, axes)]
        mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    batch = batch_shape(components)
    layout = result_layout(entries, len(batch))
    without_new = [item for item in layout if item != NEW]
    if 0 in batch and 0 in shape:  # nothing of nothing: a dimension without elements has no windows of size 1
        rows, windows = iter(batch), iter([size for axis, size in enumerate(shape) if axis not in axes])
        result = reshaped(x, tuple([next(rows if item == "batch" else windows) for item in without_new]))
        return with_new_axes(result, [position for position, item in enumerate(layout) if item == NEW])
    numbers = _gather_numbers(tuple([place for place, item in enumerate(without_new) if item != "batch"]), axes)
    vectors = index_vectors(components, batch)
    params = {
        "dimension_numbers": numbers,
        "slice_sizes": tuple([1 if axis in axes else size for axis, size in enumerate(shape)]),
        "mode": lax.GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else mode,
        **flags,
    }
    result = gathered(x, vectors, fill_value, params)
    return with_new_axes(result, [position for position, item in enumerate(layout) if item == NEW])


def gathered(x: Array | Literal, vectors: object, fill: object, params: Params) -> Array:
    """A gather whose fill value may be an operand: what is within is asked by the same gather then."""
    if not hasattr(type(fill), "aval"):
        return gather_p.bind(x, vectors, fill_value=fill, **params)
    everywhere = broadcast_in_dim_p.bind(literal(True, BOOL), shape=x.aval.shape, broadcast_dimensions=())
    within = gather_p.bind(everywhere, vectors, fill_value=False, **params)
    found = gather_p.bind(x, vectors, fill_value=0, **params)
    filler = broadcast_in_dim_p.bind(fill, shape=found.aval.shape, broadcast_dimensions=())
    return select_n_p.bind(within, filler, found)


@lru_cache(256)
def _gather_numbers(offset_dims: tuple[int, ...], axes: tuple[int, ...]) -> lax.GatherDimensionNumbers:
    return lax.GatherDimensionNumbers(offset_dims=offset_dims, collapsed_slice_dims=sorted(axes), start_index_map=axes)


def filling(value: Any, dtype: DType) -> Value | int | float | complex:
    """A fill value: a Python number, a parameter of the primitive; of the array's dtype where it is traced."""
    if value is None:
        return defaultfilling(dtype)
    if not is_concrete(value):
        return convert_element_type_p.bind(value, new_dtype=dtype, weak_type=False)
    if type(value) in (int, float, complex, bool):
        return value
    return as_operand(value).__array__().item()


def defaultfilling(dtype: DType) -> int | float:
    """What stands for an element out of bounds: NaN, the least integer, the greatest unsigned one, True."""
    if isinstance(dtype, dtypes.ExtendedDType):
        return 0xFFFFFFFF  # of its words
    if dtypes.issubdtype(dtype, np.inexact):
        return math.nan
    if dtype.kind == "b":
        return True
    limits = dtypes.iinfo(dtype)
    return int(limits.max if dtypes.issubdtype(dtype, np.unsignedinteger) else limits.min)


def parsed_mode(mode: Any) -> lax.GatherScatterMode | str | None:
    """A mode as users write it: None, "wrap", or one of the primitive's. Raises ValueError for an unknown one."""
    return mode if mode is None or mode == "wrap" else lax.GatherScatterMode.from_any(mode)
