"""How structural primitives become NumPy: views where there are any, and one copy where there are none.

Inside a program nothing moves: an array that is put on a device is the array itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_numpy.array import physical
from tangrad._backend_numpy.functions import FRESH, VIEW, Function, Opaque
from tangrad._backend_numpy.kernels import composed
from tangrad.core import RuleSet
from tangrad.extend import lax as p
from tangrad.extend.lax import device_put_p

if TYPE_CHECKING:
    from tangrad._backend_numpy.functions import Bind
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value
    from tangrad.typing import Dimensions


lower = RuleSet("lower.numpy", api=1)


def _inside(x: Value, rank: int) -> tuple[int, ...]:
    """The dimensions of `x` that are inside its elements."""
    return tuple(range(rank, x.ndim))


# --- shape ---


@composed(lower, p.broadcast_in_dim_p, any_sizes=True)
def _broadcast_in_dim(ctx: Lowering, x: Value, *, shape: Dimensions, broadcast_dimensions: tuple[int, ...]) -> Value:
    out = physical(ctx.out_aval).shape
    return ctx.broadcast(x, out, (*broadcast_dimensions, *range(len(shape), len(out))))


@composed(lower, p.reshape_p, any_sizes=True)
def _reshape(ctx: Lowering, x: Value, *, new_sizes: Dimensions, dimensions: tuple[int, ...]) -> Value:
    if dimensions is not None:
        x = ctx.transpose(x, (*dimensions, *_inside(x, len(dimensions))))
    return ctx.reshape(x, physical(ctx.out_aval).shape)


@composed(lower, p.squeeze_p, any_sizes=True)
def _squeeze(ctx: Lowering, x: Value, *, dimensions: tuple[int, ...]) -> Value:
    return ctx.reshape(x, physical(ctx.out_aval).shape)


@composed(lower, p.transpose_p, any_sizes=True)
def _transpose(ctx: Lowering, x: Value, *, permutation: tuple[int, ...]) -> Value:
    return ctx.transpose(x, (*permutation, *_inside(x, len(permutation))))


@composed(lower, p.rev_p)
def _rev(ctx: Lowering, x: Value, *, dimensions: tuple[int, ...]) -> Value:
    if not dimensions:
        return x
    backward = slice(None, None, -1)
    return ctx.index(x, tuple([backward if d in dimensions else slice(None) for d in range(max(dimensions) + 1)]))


# --- fixed parts ---


@composed(lower, p.slice_p)
def _slice(
    ctx: Lowering, x: Value, *, start_indices: Dimensions, limit_indices: Dimensions, strides: tuple[int, ...] | None
) -> Value:
    steps = strides or (1,) * len(start_indices)
    return ctx.index(x, tuple([slice(*limits) for limits in zip(start_indices, limit_indices, steps)]))


@composed(lower, p.split_p)
def _split(ctx: Lowering, x: Value, *, sizes: Dimensions, axis: int) -> tuple[Value, ...]:
    parts, start = [], 0
    for size in sizes:
        parts.append(ctx.index(x, (*[slice(None)] * axis, slice(start, start + size))))
        start += size
    return tuple(parts)


# --- parts at positions that are computed ---


def _window(shape: Sequence[int], sizes: Sequence[int]) -> Callable[..., tuple[slice, ...]]:
    """The function from start indices to the index of the part, moved so that it is within the array."""
    last = [full - size for full, size in zip(shape, sizes)]
    if len(sizes) == 1:
        (size,), (end,) = sizes, last

        def window_1(start: np.ndarray) -> tuple[slice, ...]:
            first = min(max(int(start), 0), end)
            return (slice(first, first + size),)

        return window_1

    def window(*starts: np.ndarray) -> tuple[slice, ...]:
        firsts = [min(max(int(start), 0), end) for start, end in zip(starts, last)]
        return tuple([slice(first, first + size) for first, size in zip(firsts, sizes)])

    return window


@composed(lower, p.dynamic_slice_p)
def _dynamic_slice(ctx: Lowering, x: Value, *starts: Value, slice_sizes: Dimensions) -> Value:
    if tuple(slice_sizes) == ctx.in_avals[0].shape:
        return x
    window = _window(ctx.in_avals[0].shape, slice_sizes)
    if all(start.constant is not None for start in starts):
        return ctx.index(x, window(*[start.constant for start in starts]))
    return ctx.call(lambda x, *starts: x[window(*starts)], x, *starts, nature=VIEW)


class _Update(Function):
    """A copy of the first operand with the second written over a part; no copy where the first is dead."""

    __slots__ = ("window",)
    nature = FRESH
    writes_into = updates = True

    def __init__(self, window: Callable[..., tuple[slice, ...]]) -> None:
        self.window = window

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        window = self.window

        def update_copy(x: np.ndarray, update: np.ndarray, *starts: np.ndarray) -> np.ndarray:
            out = x.copy()
            out[window(*starts)] = update
            return out

        return update_copy

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        return f"{bind(self.direct(scalar), 'update_copy')}({', '.join(operands)})"

    def text_into(self, out: str, operands: Sequence[str], bind: Bind) -> list[str]:
        x, update, *starts = operands
        window = bind(self.window, "window")
        copy = [] if out == x else [f"{bind(np.copyto, 'copyto')}({out}, {x})"]
        return [*copy, f"{out}[{window}({', '.join(starts)})] = {update}"]

    def may_overwrite(self, position: int) -> bool:
        return position == 0


@composed(lower, p.dynamic_update_slice_p)
def _dynamic_update_slice(ctx: Lowering, x: Value, update: Value, *starts: Value) -> Value:
    if ctx.in_avals[0].shape == ctx.in_avals[1].shape:
        return update
    return ctx.call(_Update(_window(ctx.in_avals[0].shape, ctx.in_avals[1].shape)), x, update, *starts)


# --- joining ---


SHORT_ROW, MANY_ROWS = 64, 4096  # bytes of rows that are moved as one, and as how many rows at least


class _Concatenate(Function):
    """`np.concatenate` along an axis."""

    __slots__ = ("axis",)
    nature = FRESH
    writes_into = True

    def __init__(self, axis: int) -> None:
        self.axis = axis

    @property
    def key(self) -> tuple[str, int]:
        return "concatenate", self.axis

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        axis, concatenate = self.axis, np.concatenate
        return lambda *xs: concatenate(xs, axis)

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        return f"{bind(np.concatenate, 'concatenate')}(({', '.join(operands)},), {self.axis})"

    def text_into(self, out: str, operands: Sequence[str], bind: Bind) -> list[str]:
        return [f"{bind(np.concatenate, 'concatenate')}(({', '.join(operands)},), {self.axis}, {out})"]


@composed(lower, p.concatenate_p)
def _concatenate(ctx: Lowering, *xs: Value, dimension: int) -> Value:
    if len(xs) == 1:
        return xs[0]
    shapes = {physical(aval).shape for aval in ctx.in_avals}
    shape = shapes.pop()
    row = 0 if shapes else math.prod(shape[dimension:])
    if row > 1 and row * xs[0].dtype.itemsize <= SHORT_ROW and math.prod(shape) >= row * MANY_ROWS:
        by_rows = _by_rows(row, xs[0].dtype, physical(ctx.out_aval).shape)
        return ctx.call(Opaque(by_rows, FRESH, ("concatenate", dimension)), *xs)
    return ctx.call(_Concatenate(dimension), *xs)


def _by_rows(row: int, dtype: np.dtype, shape: tuple[int, ...]) -> Callable[..., np.ndarray]:
    """Arrays of short rows side by side: a row is moved as one, which takes a third of the time."""
    whole = np.dtype((np.void, row * dtype.itemsize))

    def concatenate(*xs: np.ndarray) -> np.ndarray:
        out = np.empty(shape, dtype)
        rows = out.reshape(-1, row * len(xs)).view(whole)
        for place, x in enumerate(xs):
            rows[:, place] = np.ascontiguousarray(x).reshape(-1, row).view(whole)[:, 0]
        return out

    return concatenate


@composed(lower, p.pad_p)
def _pad(ctx: Lowering, x: Value, value: Value, *, padding_config: tuple[tuple[int, int, int], ...]) -> Value:
    out, shape = physical(ctx.out_aval), ctx.in_avals[0].shape
    parts = [_padded_part(*sizes, *config) for sizes, config in zip(zip(shape, out.shape), padding_config)]
    source = tuple([part[0] for part in parts])
    target = tuple([part[1] for part in parts])
    inner, dtype = tuple(out.shape), out.dtype

    def pad(x: np.ndarray, value: np.ndarray) -> np.ndarray:
        padded = np.empty(inner, dtype)
        padded[...] = value
        padded[target] = x[source]
        return padded

    return ctx.call(pad, x, value, nature=FRESH)


def _padded_part(size: int, out_size: int, low: int, high: int, interior: int) -> tuple[slice, slice]:
    """Which elements of a dimension stay, and where: element i goes to `low + i (interior + 1)`, if that is inside."""
    step = interior + 1
    first = max(0, -(low // step)) if low < 0 else 0
    last = min(size - 1, (out_size - 1 - low) // step)
    if out_size == 0 or last < first:
        return slice(0, 0), slice(0, 0)
    start = low + first * step
    return slice(first, last + 1), slice(start, low + last * step + 1, step)


# --- without operands, and identities ---


@composed(lower, p.iota_p)
def _iota(ctx: Lowering, *, dtype: np.dtype, shape: Dimensions, dimension: int) -> Value:
    # Small integers wrap and small floats round, as XLA has it; the other dimensions repeat, at no cost.
    counted = np.arange(shape[dimension]).astype(dtype)
    return ctx.broadcast(ctx.constant(counted), shape, (dimension,))


@composed(lower, p.copy_p, any_sizes=True)
def _copy(ctx: Lowering, x: Value) -> Value:
    return ctx.call(np.copy, x, nature=FRESH)


@composed(lower, p.stop_gradient_p, any_sizes=True)
def _stop_gradient(ctx: Lowering, x: Value) -> Value:
    return x


@composed(lower, p.optimization_barrier_p, any_sizes=True)
def _optimization_barrier(ctx: Lowering, *xs: Value) -> tuple[Value, ...]:
    # One step for all: its results are other values than its operands, so that no later step is merged with an earlier
    # one, and each of them needs all operands.
    return ctx.call(lambda *arrays: arrays, *xs, nature=VIEW) if xs else ()


@composed(lower, device_put_p, any_sizes=True)
def _(ctx: Lowering, x: Value, *, target: object) -> Value:
    return x
