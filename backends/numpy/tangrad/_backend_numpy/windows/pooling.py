"""Reductions over windows: one dimension after the other, by whole slices; and what is put off until after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.functions import FRESH, Opaque, Ufunc
from tangrad._backend_numpy.program import Program, Shape, Step, Stored
from tangrad._backend_numpy.windows.patches import Array, Axis

if TYPE_CHECKING:
    from collections.abc import Hashable


EXTREMA = (np.maximum, np.minimum)
# Elements of a window from which on partial results are shared between windows.
MANY = 8
# Of windows that do not overlap, up to so many elements of a large array are combined in one go: what is combined stays
# in the cache, where the results along one dimension would not. 262,144 floats in windows of 2 x 2: 52 µs, not 68.
FEW = 4
LARGE = 1 << 16


class Window:
    """The windows of a reduction, for one signature.

    Attributes:
        shape, out: of the operand and the result.
        sizes, strides, dilations: of the windows, in each dimension.
        axes: how the operand is padded.
    """

    def __init__(
        self,
        shape: Sequence[int],
        out: Sequence[int],
        *,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        base_dilation: Sequence[int],
        window_dilation: Sequence[int],
    ) -> None:
        self.shape, self.out = tuple(shape), tuple(out)
        self.sizes, self.strides, self.dilations = window_dimensions, window_strides, window_dilation
        self.axes = [
            Axis(shape[i], base_dilation[i], padding[i][0], *out_step, size, dilation)
            for i, (out_step, size, dilation) in enumerate(
                zip(zip(self.out, window_strides), window_dimensions, window_dilation)
            )
        ]

    def key(self) -> tuple[Hashable, ...]:
        return self.shape, tuple([axis.key() for axis in self.axes])

    @property
    def is_padded(self) -> bool:
        """Whether the operand has to be padded, dilated or cut before windows fit into it."""
        return any([axis.is_padded for axis in self.axes])

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """The shape of what contains the windows, up to the last element of the last one."""
        return tuple([axis.length for axis in self.axes])

    @property
    def is_apart(self) -> bool:
        """Whether no element is in two windows."""
        return all([axis.row_step > (axis.channels - 1) * axis.channel_step for axis in self.axes])

    def padder(self) -> Callable[..., np.ndarray]:
        """The function that pads an operand with a value; it gives the operand itself where nothing is to be done."""
        if not self.is_padded:
            return lambda x, value: x
        source, target = self.placed()
        shape = self.padded_shape
        if all([part == slice(0, size, 1) for part, size in zip(target, shape)]):
            return lambda x, value: x[source]

        def pad(x: Array, value: np.ndarray) -> Array:
            padded = np.full_like(x, value, shape=shape)  # in the operand's order of memory
            padded[target] = x[source]
            return padded

        return pad

    def placed(self) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """The index of what windows see of the operand, and that of where it is in the padded one."""
        parts = [axis.placed() for axis in self.axes]
        return tuple([part[0] for part in parts]), tuple([part[1] for part in parts])

    def places(self) -> list[tuple[slice, ...]]:
        """For each place in the window, in order, the index of the elements that are there, in all windows."""
        found: list[tuple[slice, ...]] = [()]
        for axis in self.axes:
            found = [
                (*before, slice(start, start + (axis.rows - 1) * axis.row_step + 1, axis.row_step))
                for before in found
                for start in range(0, axis.channels * axis.channel_step, axis.channel_step)
            ]
        return found


# --- sums and extrema ---


class WindowReduction(Opaque):
    """A step that reduces windows by a ufunc; `identity` is what padding holds.

    Attributes:
        window, ufunc: as given.
    """

    __slots__ = ("ufunc", "window")

    def __init__(self, window: Window, ufunc: np.ufunc, identity: np.ndarray | np.generic) -> None:
        key = "window", ufunc, window.key(), identity.dtype
        super().__init__(_reduction(window, ufunc, identity), FRESH, key)
        self.window, self.ufunc = window, ufunc


def _reduction(window: Window, ufunc: np.ufunc, identity: np.ndarray | np.generic) -> Callable[[Array], Array]:
    """The function that reduces windows by a ufunc."""
    if 0 in window.out:
        return lambda x: np.empty(window.out, x.dtype)
    pad = window.padder()
    places = window.places() if ufunc in EXTREMA and window.is_apart and prod(window.shape) >= LARGE else []
    if 1 < len(places) <= FEW:
        first, second, *others = places

        def reduce_places(x: Array) -> Array:
            x = pad(x, identity)
            out = ufunc(x[first], x[second])
            for place in others:
                ufunc(out, x[place], out=out)
            return out

        return reduce_places
    steps = [_along(d, axis, ufunc) for d, axis in enumerate(window.axes) if axis.channels > 1 or axis.row_step > 1]

    def reduce(x: Array) -> Array:
        out = pad(x, identity)
        for step in steps:
            out = step(out)
        return out.copy() if out is x or out.base is not None else out

    return reduce


def _along(dimension: int, axis: Axis, ufunc: np.ufunc) -> Callable[[Array], Array]:
    """The function that reduces windows along one dimension."""
    stop = (axis.rows - 1) * axis.row_step + 1
    step = axis.channel_step
    if axis.channels > MANY and (axis.channels - 1) * axis.rows > 2 * axis.channels.bit_length() * axis.length:
        doubled = _by_doubling(dimension, axis, ufunc)
        chosen = _index(dimension, 0, stop, axis.row_step)
        return lambda x: doubled(x)[chosen]
    first, *rest = [_index(dimension, i * step, i * step + stop, axis.row_step) for i in range(axis.channels)]
    if not rest:
        return lambda x: x[first]
    second, *others = rest

    def along(x: Array) -> Array:
        out = ufunc(x[first], x[second])
        for index in others:
            ufunc(out, x[index], out=out)
        return out

    return along


def _by_doubling(dimension: int, axis: Axis, ufunc: np.ufunc) -> Callable[[Array], Array]:
    """Windows of step 1: those of 2, 4, 8, … elements, joined to windows of the size wanted."""
    window, step = axis.channels, axis.channel_step

    def joined(x: Array, y: Array, distance: int) -> Array:
        count = min(x.shape[dimension], y.shape[dimension] - distance)
        first, second = _index(dimension, 0, count), _index(dimension, distance, distance + count)
        return ufunc(x[first], y[second])

    def by_doubling(x: Array) -> Array:
        total: Any = None
        reach, length = 0, 1
        while True:
            if window & length:
                total = x if total is None else joined(total, x, reach * step)
                reach += length
            if reach == window:
                return total
            x = joined(x, x, length * step)
            length *= 2

    return by_doubling


def _index(dimension: int, start: int, stop: int, step: int = 1) -> tuple[slice, ...]:
    return (*[slice(None)] * dimension, slice(start, stop, step))


# --- selected elements ---


class Selection:
    """How an element of each window is selected: the first that compares so to all others.

    Elements are masked by their bits: NumPy's masked copies take seven times as long, and products with 0 are not 0 for
    infinities.
    """

    def __init__(self, window: Window, dtype: np.dtype, greatest: bool) -> None:
        self.places = window.places()
        self.pad = window.padder()
        self.extremum = np.maximum if greatest else np.minimum
        self.compare = np.greater_equal if greatest else np.less_equal
        self.nothing = dtype.type(-np.inf if greatest else np.inf)
        self.bits = np.dtype(f"u{dtype.itemsize}")
        self.signed = np.dtype(f"i{dtype.itemsize}")

    def masks(self, operand: Array, from_nothing: bool) -> list[Array]:
        """For each place in the windows, in which windows its element is the one, as bits: all or none.

        With `from_nothing` no element is selected of windows that hold nothing else than what padding holds.
        """
        padded = self.pad(operand, self.nothing)
        elements = [padded[place] for place in self.places]
        best = self.extremum(elements[0], elements[-1])
        for element in elements[1:-1]:
            self.extremum(best, element, out=best)
        if np.isnan(best).any():
            found = self._one_by_one(elements, from_nothing)
        else:
            taken = best == self.nothing if from_nothing else np.zeros(best.shape, bool)
            found = []
            for element in elements:
                mask = element == best
                np.greater(mask, taken, out=mask)  # and not taken
                np.logical_or(taken, mask, out=taken)
                found.append(mask)
        return [np.negative(mask.astype(self.signed)).view(self.bits) for mask in found]

    def _one_by_one(self, elements: list[Array], from_nothing: bool) -> list[Array]:
        """NaN does not compare: it is replaced by the next element, and replaces the one before.

        As XLA has it, with `from_nothing` padding replaces nothing, and else it does.
        """
        best = np.full(elements[0].shape, self.nothing) if from_nothing else elements[0].copy()
        chosen = np.full(best.shape, -1 if from_nothing else 0, np.intp)
        for number, element in enumerate(elements):
            replaced = ~self.compare(best, element)
            if from_nothing:
                replaced &= element != self.nothing
            np.copyto(best, element, where=replaced)
            np.copyto(chosen, number, where=replaced)
        return [chosen == number for number in range(len(elements))]


def gather_selected(window: Window, dtype: np.dtype, greatest: bool) -> Callable[[Array, Array], Array]:
    """The function that gives the tangents of the elements that are selected."""
    selection = Selection(window, dtype, greatest)
    pad, places, bits, shape = selection.pad, selection.places, selection.bits, window.out

    def gather(tangents: Array, operand: Array) -> Array:
        given = pad(tangents, 0).view(bits)
        found = np.zeros(shape, bits)
        for place, mask in zip(places, selection.masks(operand, True)):
            np.bitwise_and(given[place], mask, out=mask)
            np.bitwise_or(found, mask, out=found)
        return found.view(dtype)

    return gather


def scatter_selected(window: Window, dtype: np.dtype, greatest: bool) -> Callable[[Array, Array], Array]:
    """The function that adds elements up where those are that are selected."""
    selection = Selection(window, dtype, greatest)
    places, bits = selection.places, selection.bits
    apart = window.is_apart
    shape, padded_shape, is_padded = window.shape, window.padded_shape, window.is_padded
    inside, placed = window.placed()
    covered = apart and all([axis.row_step == axis.channels for axis in window.axes])
    new = np.empty_like if covered else np.zeros_like

    def scatter(source: Array, operand: Array) -> Array:
        # In the operand's order of memory, which is that of what comes before.
        given, out = source.view(bits), new(operand, dtype, shape=padded_shape)
        as_bits = out.view(bits)
        for place, mask in zip(places, selection.masks(operand, False)):
            if apart:
                np.bitwise_and(given, mask, out=as_bits[place])
            else:
                np.bitwise_and(given, mask, out=mask)
                part = out[place]
                np.add(part, mask.view(dtype), out=part)
        if not is_padded:
            return out
        whole = np.zeros(shape, dtype)
        whole[inside] = out[placed]
        return whole

    return scatter


# --- Extrema of windows are taken before what is monotonic: max(x + b) over a window is max(x) + b ---
# The sum, or the activation, is then of as many elements as there are windows. Both give the same bits, for rounding is
# monotonic too; and the same NaNs, where what is added is finite.

# ufunc -> the operands in which it does not decrease
MONOTONIC: dict[np.ufunc, tuple[int, ...]] = {np.add: (0, 1), np.subtract: (0,), np.maximum: (0, 1), np.minimum: (0, 1)}


def take_extrema_early(program: Program) -> None:
    """Move extrema of windows ahead of the steps that only they read."""
    extrema = [step for step in program.steps if _is_extremum(step)]
    if not extrema:
        return
    uses = Counter([stored for step in program.steps for stored in step.inputs])
    uses.update(program.outputs)
    makers = {stored: step for step in program.steps for stored in step.outputs}
    replaced: dict[Step, list[Step]] = {}
    for step in extrema:
        passed: list[tuple[Step, int]] = []  # from the extremum backwards, each with the place of what it reads
        (x,) = step.inputs
        while uses[x] == 1 and x in makers and (place := _passable(makers[x], step.function.window)) is not None:  # type: ignore[attr-defined]
            passed.append((makers[x], place))
            x = makers[x].inputs[place]
        if passed:
            replaced |= {inner: [] for inner, _ in passed}
            replaced[step] = _turned_round(step, x, passed)
    program.steps = [new for step in program.steps for new in replaced.get(step, (step,))]


def _is_extremum(step: Step) -> bool:
    function = step.function
    return isinstance(function, WindowReduction) and function.ufunc in EXTREMA and not function.window.is_padded


def _passable(step: Step, window: Window) -> int | None:
    """The operand of which the extrema may be taken in place of those of the result; None where there is none."""
    function = step.function
    if not isinstance(function, Ufunc) or step.effectful:
        return None
    for place in MONOTONIC.get(function.ufunc, ()):
        moving, still = step.inputs[place], step.inputs[1 - place]
        if moving.shape == window.shape and _is_same_in_windows(still, window):
            return place if function.ufunc in EXTREMA or _is_finite(still) else None
    return None


def _is_same_in_windows(stored: Stored, window: Window) -> bool:
    shape = (1,) * (len(window.shape) - len(stored.shape)) + stored.shape
    return all([size == 1 or axis.is_single for size, axis in zip(shape, window.axes, strict=True)])


def _is_finite(stored: Stored) -> bool:
    """Whether it is known to hold finite floats. Integers would wrap round, which is not monotonic."""
    return stored.constant is not None and stored.dtype.kind == "f" and bool(np.isfinite(stored.constant).all())


def _turned_round(step: Step, x: Stored, passed: Sequence[tuple[Step, int]]) -> list[Step]:
    """The extrema of `x`, and then what was passed."""
    (result,) = step.outputs
    shape: Shape = result.shape
    found = Stored(shape, x.dtype)
    steps = [Step(step.function, (x,), (found,), False, False, step.primitive)]
    for number, (inner, place) in enumerate(reversed(passed), 1):
        inputs = list(inner.inputs)
        inputs[place] = found
        found = result if number == len(passed) else Stored(shape, x.dtype)
        steps.append(Step(inner.function, tuple(inputs), (found,), False, False, inner.primitive))
    return steps
