"""How gather and the scatters become NumPy: slices where there is one index, `take` along one axis, else integer
arrays.

Indices and windows are brought to one form first: indices as an array (number of windows, components), windows as an
array (number of windows, sizes of the window). Elements of extended dtypes are windows over the dimensions inside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy import threads
from tangrad._backend_numpy.array import physical
from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import Kernel, composed
from tangrad._backend_numpy.program import Value
from tangrad._backend_numpy.running import wider
from tangrad._backend_numpy.windows.streaming import (
    Stretches,
    adding_to_stretches,
    multiply_stretches,
    outer_factors,
    places_given,
)
from tangrad.core import Primitive, RuleSet, ShapedArray
from tangrad.extend import lax as p
from tangrad.extend.lax import GatherScatterMode, window_sizes

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Program
    from tangrad.typing import Dimensions


lower = RuleSet("lower.numpy", api=1)

Array = np.ndarray

# Integers that NumPy takes as indices without losses -> as which their bits are read.
_UNSIGNED = {np.dtype(f"{kind}{size}"): np.dtype(f"u{size}") for kind in "iu" for size in (1, 2, 4)}

# Ufuncs that round: long runs of their updates that meet at one place are combined in a wider dtype. Whether there are
# any is seen in a sample of one index in 256, or in 16: of 5,120 (320) in a run, 8 or fewer are in it once in 500.
_ROUNDING = (np.add, np.subtract)
MEETING = 8
SAMPLED, SAMPLED_OF_SHORT = 256, 16  # the latter of dtypes of two bytes
WHOLE = 16  # operands of up to so many times the updates are widened whole, of others what is met
COUNTED = 256  # numbers that are added to a vector, from which on they are added up by `bincount`
ROUNDS_FROM, LONG_ROW = 256, 32  # rows, and their elements, from which on they are combined in rounds
MOST_ROUNDS = 32
OVERLAP = 16  # windows that are longer overlap too often for that
GATHERED_IN_PARTS, GATHERED_PART = 1 << 15, 1 << 16  # rows from which on they are gathered in parts, and of a part
COUNTED_PART = 1 << 16  # places that are counted together


class Windows:
    """Where the windows of a gather or scatter are in the operand, for one signature.

    Attributes:
        sizes: of the window, along each dimension of the operand.
        kept: the dimensions of the operand that the window has in the updates or the output.
    """

    def __init__(
        self,
        operand: ShapedArray,
        indices: ShapedArray,
        numbers: p.GatherDimensionNumbers | p.ScatterDimensionNumbers,
        sizes: Sequence[int],
    ) -> None:
        _, left_out, self.index_map, self.operand_batching, self.indices_batching = numbers.astuple()
        inner = physical(operand).shape
        self.sizes = (*sizes, *inner[operand.ndim :])
        self.kept = [d for d in range(len(inner)) if d not in left_out and d not in self.operand_batching]
        self.batch_shape = tuple(indices.shape[:-1])
        self.count = int(np.prod(self.batch_shape))
        self.limits = np.array([inner[d] - self.sizes[d] for d in self.index_map], np.int64)
        self.unsigned_limits = self.limits.view(np.uint64)
        self.strides = [math.prod(inner[d + 1 :]) for d in range(len(inner))]
        self.steps = np.array([self.strides[d] for d in self.index_map], np.int64)
        # A window within the array along every other dimension: the index alone decides.
        self.whole = all(self.sizes[d] == inner[d] for d in range(len(inner)) if d not in self.index_map)
        # Along the batching dimensions, window number i is at a place that the shape decides.
        places = (
            np.indices(self.batch_shape, np.intp).reshape(len(self.batch_shape), -1) if self.operand_batching else ()
        )
        self.batch_places = {d: places[b] for d, b in zip(self.operand_batching, self.indices_batching)}

    def starts(self, indices: Array) -> tuple[Array, Array | None]:
        """The first element of each window, moved so that the window is within; and which did already, None: all."""
        starts = indices.reshape(self.count, len(self.index_map)).astype(np.int64)
        inside = starts.view(np.uint64) <= self.unsigned_limits  # so negative ones are great
        if inside.all():
            return starts, None
        return np.clip(starts, 0, self.limits), np.asarray(inside.all(axis=1))

    def slices(self, start: Array) -> tuple[int | slice, ...]:
        """The index of one window: slices, and integers for the dimensions that it lacks."""
        first = dict(zip(self.index_map, start.tolist()))
        first.update({d: int(place[0]) for d, place in self.batch_places.items()})
        return tuple(
            [
                slice(first.get(d, 0), first.get(d, 0) + size) if d in self.kept else first.get(d, 0)
                for d, size in enumerate(self.sizes)
            ]
        )

    def index(self, starts: Array, chosen: Array | None = None) -> tuple[Array, ...]:
        """The index of all windows: an integer array for each dimension, which broadcast to (windows, sizes of one)."""
        rank = len(self.kept)
        parts = []
        for d, size in enumerate(self.sizes):
            if d in self.batch_places:
                place = self.batch_places[d] if chosen is None else self.batch_places[d][chosen]
                parts.append(place.reshape(-1, *[1] * rank))
                continue
            along = np.arange(size, dtype=np.intp)
            if d in self.kept:
                axis = self.kept.index(d)
                along = along.reshape(*[1] * (axis + 1), size, *[1] * (rank - axis - 1))
            if d in self.index_map:
                along = along + starts[:, self.index_map.index(d)].reshape(-1, *[1] * rank)
            parts.append(along if along.ndim > rank else along.reshape(*[1] * (rank + 1)))
        return tuple(parts)

    def flat_index(self, starts: Array, chosen: Array | None, shape: tuple[int, ...]) -> Array:
        """The index of all elements of all windows in the operand as one row."""
        return np.ravel_multi_index(np.broadcast_arrays(*self.index(starts, chosen)), shape).reshape(-1)

    def often_meet(self, starts: Array, interval: int) -> bool:
        """Whether so many windows begin at one place that a sum of them, one after another, would lose digits."""
        if max([self.sizes[d] for d in self.index_map], default=1) > OVERLAP:
            return True
        sample = np.arange(0, len(starts) - interval, interval)
        sample += (sample * 2654435761 >> 20) & interval - 1  # as by chance: places may be repeated with a period
        places = np.sort(starts[sample] @ self.steps)
        return bool((places[MEETING:] == places[:-MEETING]).any())


# --- gather ---


@composed(lower, p.gather_p)
def _gather(ctx: Lowering, x: Value, indices: Value, **params: Any) -> Value:
    start = _start_of_stretches(ctx.program, x, indices, params["slice_sizes"])
    if start is None or len(ctx.out_aval.shape) != 2:
        return ctx.call(_gathering(ctx, **params), x, indices, nature=FRESH)
    ctx.program.rewrites[multiply_stretches] = None
    return ctx.call(Stretches(start, ctx.out_aval.shape), x)


def _start_of_stretches(program: Program, x: Value, indices: Value, sizes: Dimensions) -> int | None:
    """The first place of single elements of a vector where row i of known places counts from that plus i; else None."""
    if x.ndim != 1 or indices.ndim != 3 or min(indices.shape) < 1 or sizes != (1,) or x.dtype.isbuiltin != 1:
        return None
    known = places_given(program, indices.stored)
    if known is None or known.size != math.prod(indices.shape):
        return None
    places = known.reshape(indices.shape[:2])
    start, rows, columns = int(places[0, 0]), *indices.shape[:2]
    if start < 0 or start + rows + columns - 1 > x.shape[0]:
        return None
    line = np.arange(start, start + rows + columns - 1, dtype=places.dtype)
    return start if np.array_equal(places, np.lib.stride_tricks.sliding_window_view(line, columns)) else None


def _gathering(
    ctx: Lowering,
    *,
    dimension_numbers: p.GatherDimensionNumbers,
    slice_sizes: Dimensions,
    mode: object,
    fill_value: object,
    **_: object,
) -> Callable[..., np.ndarray]:
    operand, indices = ctx.in_avals
    windows = Windows(operand, indices, dimension_numbers, slice_sizes)
    out = physical(ctx.out_aval)
    offset = (*dimension_numbers.offset_dims, *range(ctx.out_aval.ndim, len(out.shape)))
    batch = [d for d in range(len(out.shape)) if d not in offset]
    order = tuple(np.argsort([*batch, *offset]).tolist())
    window_shape = tuple([windows.sizes[d] for d in windows.kept])
    filled = mode is GatherScatterMode.FILL_OR_DROP
    axis = _one_axis(windows)

    def arrange(found: Array, valid: Array | None) -> Array:
        """From (windows, sizes of one) to the shape of the output, with what is outside filled."""
        if filled and valid is not None:
            found[~valid] = np.asarray(fill_value).astype(found.dtype)
        return found.reshape((*windows.batch_shape, *window_shape)).transpose(order)

    if windows.count == 1:

        def gather_one(x: Array, indices: Array) -> Array:
            starts, valid = windows.starts(indices)
            return arrange(x[windows.slices(starts[0])].reshape(1, *window_shape).copy(), valid)

        return gather_one

    if axis is not None:

        def gather_along(x: Array, indices: Array) -> Array:
            starts, valid = windows.starts(indices)
            found = x.take(starts[:, 0], axis)
            return arrange(found if axis == 0 else np.moveaxis(found, axis, 0), valid)

        in_place = batch == list(range(axis, axis + len(batch)))
        unsigned = _UNSIGNED.get(indices.dtype)
        reached = 1 << (8 * indices.dtype.itemsize - 1)  # in a longer array a negative index would be read as a place
        if unsigned is None or not in_place or operand.shape[axis] > reached:
            return gather_along

        if axis == 0 and windows.count >= GATHERED_IN_PARTS:
            return _gather_in_parts(unsigned, out.shape, operand.shape[0] - 1, None, gather_along)

        def gather_within(x: Array, indices: Array) -> Array:
            """All at once where no index is out of bounds: negative ones are, and great numbers as unsigned."""
            try:
                return x.take(indices.view(unsigned).reshape(windows.batch_shape), axis)
            except IndexError:
                return gather_along(x, indices)

        return gather_within

    def gather(x: Array, indices: Array) -> Array:
        starts, valid = windows.starts(indices)
        return arrange(x[windows.index(starts)], valid)

    whole_places = _UNSIGNED.get(indices.dtype)
    if windows.kept or whole_places is None or len(windows.index_map) != 1 or windows.count < GATHERED_IN_PARTS:
        return gather
    limit, bits = int(windows.limits[0]), 8 * indices.dtype.itemsize - 1
    if limit >> bits or operand.size > 2 * windows.count:
        return gather
    return _gather_in_parts(whole_places, out.shape, limit, windows, gather)


def _gather_in_parts(
    unsigned: np.dtype,
    shape: tuple[int, ...],
    limit: int,
    windows: Windows | None,
    otherwise: Callable[[Array, Array], Array],
) -> Callable[[Array, Array], Array]:
    """Rows at places up to a limit, or single elements, one in each window; the function that takes over beyond it.

    In parts, whose places need no array of their own as NumPy's integers, and which several threads take.
    """
    step, before = 1, None
    if windows is not None:
        step = int(windows.steps[0])
        before = sum([place * windows.strides[d] for d, place in windows.batch_places.items()], np.zeros((), np.intp))
        before = np.broadcast_to(before, (windows.count,))

    def gather(x: Array, indices: Array) -> Array:
        places = indices.view(unsigned).reshape(-1)
        rows = x if before is None else x.reshape(-1)
        out = np.empty((len(places), *rows.shape[1:]), x.dtype)

        def take(starts: Iterable[int]) -> None:
            positions = np.empty(GATHERED_PART, np.intp)
            for start in starts:
                part = places[start : start + GATHERED_PART]
                if np.maximum.reduce(part) > limit:
                    raise IndexError
                position = positions[: len(part)]
                position[...] = part
                if before is not None:
                    position *= step
                    position += before[start : start + GATHERED_PART]
                rows.take(position, 0, out[start : start + GATHERED_PART], "clip")  # "raise" would copy `out`

        try:
            threads.share(take, range(0, len(places), GATHERED_PART))
        except IndexError:
            return otherwise(x, indices)
        return out.reshape(shape)

    return gather


def _one_axis(windows: Windows) -> int | None:
    """The axis, if windows are whole but for one element along one axis, which the output lacks."""
    if not windows.whole or windows.operand_batching or len(windows.index_map) != 1:
        return None
    (axis,) = windows.index_map
    return axis if axis not in windows.kept and windows.sizes[axis] == 1 else None


# --- scatter ---


def _scatter(primitive: Primitive, function: np.ufunc | None) -> None:
    """Register a scatter that combines by a ufunc; None: updates replace what was there."""

    def build(
        ctx: Lowering, *, dimension_numbers: p.ScatterDimensionNumbers, mode: object, unique_indices: bool, **_: object
    ) -> Callable[..., np.ndarray]:
        operand, indices, updates = ctx.in_avals
        sizes = window_sizes(dimension_numbers, operand.shape, updates.shape)
        windows = Windows(operand, indices, dimension_numbers, sizes)
        inner = physical(updates)
        window_dims = (*dimension_numbers.update_window_dims, *range(updates.ndim, len(inner.shape)))
        batch = [d for d in range(len(inner.shape)) if d not in window_dims]
        order = (*batch, *window_dims)
        window_shape = tuple([windows.sizes[d] for d in windows.kept])
        # A broken promise ends as it does on XLA: reads are clamped, updates dropped.
        dropped = mode is not GatherScatterMode.CLIP
        alone = unique_indices and mode is not GatherScatterMode.CLIP  # clamping may make equal what was not
        axis = _one_axis(windows)
        rounds = function in _ROUNDING and not alone
        wide = wider(inner.dtype) if rounds else None
        interval = SAMPLED_OF_SHORT if inner.dtype.itemsize == 2 else SAMPLED
        few = windows.count <= 2 * MEETING * interval
        in_rounds = function is not None and not alone and axis == 0 and windows.count >= ROUNDS_FROM
        in_rounds = in_rounds and math.prod(window_shape) >= LONG_ROW and inner.dtype.isbuiltin == 1

        def combine(out: Array, index: Any, values: Array, apart: bool) -> None:
            if function is None:
                out[index] = values
            elif apart:
                out[index] = function(out[index], values)
            else:
                function.at(out, index, values)

        def scatter(x: Array, indices: Array, updates: Array) -> Array:
            out = x.copy()
            values = updates.transpose(order).reshape(windows.count, *window_shape)
            starts, valid = windows.starts(indices)
            chosen = None
            if dropped and valid is not None:
                chosen = np.flatnonzero(valid)
                starts, values = starts[chosen], values[chosen]
            if not len(starts):
                return out
            if windows.count == 1:
                combine(out, windows.slices(starts[0]), values[0], True)
            elif function is not None and wide is not None and not few and windows.often_meet(starts, interval):
                place = starts[:, 0] if axis == 0 else windows.flat_index(starts, chosen, out.shape)
                _combine_wide(function, out if axis == 0 else out.reshape(-1), place, values, wide)
            elif function is not None and in_rounds:
                _combine_in_rounds(function, out, starts[:, 0], values)
            elif axis == 0:
                combine(out, starts[:, 0], values, alone)
            else:
                combine(out, windows.index(starts, chosen), values, alone)
            return out

        if function is np.add and operand.dtype == np.float32 and _adds_to_vector(operand, indices, windows, mode):
            return _added_up(operand.shape[0], indices.dtype)
        return scatter

    def emit(ctx: Lowering, x: Value, indices: Value, updates: Value, **params: Any) -> Value:
        factors = None if function is not np.add else outer_factors(ctx.program, updates)
        if factors is not None and (start := _start_of_stretches(ctx.program, x, indices, (1,) * x.ndim)) is not None:
            row, column = [Value(factor, factor.shape) for factor in factors]
            return ctx.call(adding_to_stretches(start), x, row, column, nature=FRESH)
        if function is np.add and updates.stored.size == 1:
            operand, places, _ = ctx.in_avals
            windows = Windows(operand, places, params["dimension_numbers"], (1,) * operand.ndim)
            if _adds_to_vector(operand, places, windows, params["mode"]):
                number = Value(updates.stored, updates.stored.shape)  # as it is, not as often as it is added
                return ctx.call(_counted(operand.shape[0], places.dtype), x, indices, number, nature=FRESH)
        return ctx.call(build(ctx, **params), x, indices, updates, nature=FRESH)

    lower.table({primitive: Kernel(emit)})


# --- sums and counts ---


def _adds_to_vector(operand: ShapedArray, indices: ShapedArray, windows: Windows, mode: object) -> bool:
    """Whether many numbers are added to a vector with no more elements than that, and those out of bounds dropped."""
    size = operand.shape[0] if operand.ndim == 1 else 0
    reached = 1 << (8 * indices.dtype.itemsize - 1)
    return (
        operand.ndim == 1
        and not windows.kept
        and operand.dtype.isbuiltin == 1
        and operand.dtype.kind in "iuf"
        and COUNTED <= windows.count >= size
        and size < reached
        and mode is not GatherScatterMode.CLIP
    )


def _places(size: int, dtype: np.dtype) -> Callable[[Array], Array]:
    """The function that brings indices into the form that `bincount` takes; what is dropped goes behind the last."""
    unsigned = np.dtype(f"u{dtype.itemsize}")  # as which negative ones are great
    behind = unsigned.type(size)

    def places(indices: Array) -> Array:
        row = indices.reshape(-1).view(unsigned)
        return (row if row.max() < size else np.minimum(row, behind)).astype(np.intp)

    return places


def _counted(size: int, index_dtype: np.dtype) -> Callable[..., np.ndarray]:
    """The same number is added each time: as often as it is counted."""
    places = _places(size, index_dtype)

    def counted(indices: Array) -> Array:
        row = indices.reshape(-1)
        if len(row) <= COUNTED_PART or size > COUNTED_PART:
            return np.bincount(places(row), minlength=size + 1)
        found: list[Array] = []

        def count_parts(starts: Iterable[int]) -> None:
            total = np.zeros(size + 1, np.intp)
            for start in starts:
                total += np.bincount(places(row[start : start + COUNTED_PART]), minlength=size + 1)
            found.append(total)

        threads.share(count_parts, range(0, len(row), COUNTED_PART))
        return sum(found[1:], found[0])  # of integers, in any order

    def count(x: Array, indices: Array, number: Array) -> Array:
        counts, out = counted(indices)[:size], x.copy()
        number = number.reshape(())
        if out.dtype.kind == "f":
            np.copyto(out, out + counts * number.astype(np.float64), "same_kind", where=counts != 0)
        else:
            out += counts.astype(out.dtype) * number
        return out

    return count


def _added_up(size: int, index_dtype: np.dtype) -> Callable[..., np.ndarray]:
    """Sums of floats of single precision in double precision."""
    places = _places(size, index_dtype)

    def add_up(x: Array, indices: Array, updates: Array) -> Array:
        sums, out = np.bincount(places(indices), updates.reshape(-1), size + 1)[:size], x.copy()
        np.copyto(out, out + sums, "same_kind", where=sums != 0)
        return out

    return add_up


def _combine_in_rounds(function: np.ufunc, out: Array, places: Array, values: Array) -> None:
    """As `function.at`, in the same order: the first row for each place, then the second one, …

    Within a round no place comes twice, so that whole rows are combined at once. Where many meet, extrema, which are
    exact, are those of the rows for each place.
    """
    order = places.astype(np.uint16 if len(out) <= 1 << 16 else np.intp).argsort(kind="stable")  # of few bits soonest
    ordered = places[order]
    begins = np.ones(len(places), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    numbers = np.arange(len(places))
    turns = numbers - np.maximum.accumulate(np.where(begins, numbers, 0))
    if turns.max() >= MOST_ROUNDS and function in (np.maximum, np.minimum):
        firsts = np.flatnonzero(begins)
        chosen = ordered[firsts]
        out[chosen] = function(out.take(chosen, 0), function.reduceat(values.take(order, 0), firsts, 0))
        return
    for turn in range(min(int(turns.max()) + 1, MOST_ROUNDS)):
        rows = order[turns == turn]
        chosen = places[rows]
        out[chosen] = function(out.take(chosen, 0), values.take(rows, 0))
    rest = order[turns >= MOST_ROUNDS]
    if len(rest):
        function.at(out, places[rest], values[rest])


def _combine_wide(function: np.ufunc, out: Array, places: Array, values: Array, wide: np.dtype) -> None:
    """Combine with the rows of `out` in a wider dtype: a long run at one place keeps its digits."""
    values = values.reshape(len(places), *out.shape[1:])
    if out.ndim == 1 and len(out) <= len(places) and wide == "float64":  # which `bincount` adds up soonest
        sums = np.bincount(places, values, len(out))
        np.copyto(out, function(out, sums), "same_kind", where=sums != 0)
        return
    values = values.astype(wide)
    if out.size <= WHOLE * values.size:
        totals = out.astype(wide)
        function.at(totals, places, values)
        out[...] = totals
        return
    rows, positions = np.unique(places, return_inverse=True)
    totals = out[rows].astype(wide)
    function.at(totals, positions, values)
    out[rows] = totals


_scatter(p.scatter_p, None)
_scatter(p.scatter_add_p, np.add)
_scatter(p.scatter_sub_p, np.subtract)
_scatter(p.scatter_mul_p, np.multiply)
_scatter(p.scatter_min_p, np.minimum)
_scatter(p.scatter_max_p, np.maximum)
