"""How primitives that move elements become torch's functions: views where there are any.

The words that random keys are made of have dimensions of their own, which come last.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from tangrad_torch.elementwise import addition
from tangrad_torch.programs import rules, same
from tangrad_torch.tensors import in_order, is_unsigned, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from torch import Tensor

    from tangrad.core import ShapedArray
    from tangrad.extend.lax import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
    from tangrad.typing import DType
    from tangrad_torch.programs import Call, Rule
    from tangrad_torch.tensors import Axes, Operation, Operations, Shape


def inside(aval: ShapedArray) -> Axes:
    """The dimensions that are inside the elements."""
    return tuple(range(aval.ndim, len(stored(aval).shape)))


def spread(shape: Shape, positions: Iterable[int]) -> Operation:
    """The function that repeats a tensor along new dimensions: its own stand at `positions` of the shape."""
    positions = tuple(positions)
    order = sorted(range(len(positions)), key=positions.__getitem__)
    ordered = order == list(range(len(positions)))

    def function(x: Tensor) -> Tensor:
        if not ordered:
            x = x.permute(order)
        sizes = [1] * len(shape)
        for position, size in zip(sorted(positions), x.shape, strict=True):
            sizes[position] = size
        return x.reshape(sizes).expand(shape)

    return function


def broadcast_in_dim(call: Call, *, shape: Shape, broadcast_dimensions: Axes) -> Operation:
    return spread(call.shape, (*broadcast_dimensions, *inside(call.outputs[0])))


def reshape(call: Call, *, new_sizes: Shape, dimensions: Axes) -> Operation:
    shape, order = call.shape, None if dimensions is None else (*dimensions, *inside(call.inputs[0]))
    return lambda x: (x if order is None else x.permute(order)).reshape(shape)


def squeeze(call: Call, *, dimensions: Axes) -> Operation:
    shape = call.shape
    return lambda x: x.reshape(shape)


def transpose(call: Call, *, permutation: Axes) -> Operation:
    order = (*permutation, *inside(call.inputs[0]))
    return lambda x: x.permute(order)


def rev(call: Call, *, dimensions: Axes) -> Operation:
    return lambda x: torch.flip(x, dimensions)


def slice_(call: Call, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None) -> Operation:
    steps = strides or (1,) * len(start_indices)
    index = tuple([slice(*limits) for limits in zip(start_indices, limit_indices, steps, strict=True)])
    return lambda x: x[index]


def split(call: Call, *, sizes: Shape, axis: int) -> Operations:
    return lambda x: torch.split(x, list(sizes), axis)


def window(shape: Shape, sizes: Shape) -> Callable[[Sequence[Tensor]], tuple[slice, ...]]:
    """From start indices to the index of the part, moved so that it is within the array."""
    last = [full - size for full, size in zip(shape, sizes, strict=True)]

    def index(starts: Sequence[Tensor]) -> tuple[slice, ...]:
        firsts = [min(max(int(start), 0), end) for start, end in zip(starts, last, strict=True)]
        return tuple([slice(first, first + size) for first, size in zip(firsts, sizes, strict=True)])

    return index


def dynamic_slice(call: Call, *, slice_sizes: Shape) -> Operation:
    index = window(call.inputs[0].shape, slice_sizes)
    return lambda x, *starts: x[index(starts)]


def dynamic_update_slice(call: Call) -> Operation:
    index = window(call.inputs[0].shape, call.inputs[1].shape)

    def function(x: Tensor, update: Tensor, *starts: Tensor) -> Tensor:
        x = x.clone(memory_format=torch.contiguous_format)
        x[index(starts)] = update
        return x

    return function


def concatenate(call: Call, *, dimension: int) -> Operation:
    return lambda *xs: torch.cat(xs, dimension)


def pad(call: Call, *, padding_config: Sequence[tuple[int, int, int]]) -> Operation:
    shape, held, device = call.shape, call.dtype, call.device
    source, target = zip(*[_kept(*sizes) for sizes in zip(call.inputs[0].shape, shape, padding_config)]) or ((), ())

    def function(x: Tensor, value: Tensor) -> Tensor:
        padded = torch.empty(shape, dtype=held, device=device)
        padded[...] = value
        padded[target] = x[source]
        return padded

    return function if padding_config else lambda x, value: x


def _kept(size: int, padded: int, config: tuple[int, int, int]) -> tuple[slice, slice]:
    """Which elements of a dimension stay, and where they go: number i to `low + i * step`, if that is inside."""
    low, _, interior = config
    step = interior + 1
    first = max(0, -(low // step))
    last = min(size - 1, (padded - 1 - low) // step)
    if last < first:
        return slice(0, 0), slice(0, 0)
    return slice(first, last + 1), slice(low + first * step, low + last * step + 1, step)


def iota(call: Call, *, dtype: DType, shape: Shape, dimension: int) -> Operation:
    held, device, repeat = call.dtype, call.device, spread(shape, (dimension,))
    return lambda: repeat(torch.arange(shape[dimension], device=device).to(held))


def move_axis(call: Call, *, source: int, destination: int) -> Operation:
    return lambda x: torch.movedim(x, source, destination)


def broadcast_axis(call: Call, *, shape: Shape, positions: Axes) -> Operation:
    return spread(call.shape, (*positions, *inside(call.outputs[0])))


def zeros(call: Call, *, shape: Shape, dtype: DType, weak_type: bool) -> Operation:
    shape, held, device = call.shape, call.dtype, call.device
    return lambda: torch.zeros(shape, dtype=held, device=device)


def append_dims(call: Call, *, sizes: Shape) -> Operation:
    return spread(call.shape, range(call.inputs[0].ndim))


def total(axes: Axes) -> Operation:
    """The function that adds up along dimensions, in the dtype of the operand."""
    return lambda x: torch.sum(x, axes, dtype=x.dtype) if axes else x


def sum_trailing(call: Call, *, count: int) -> Operation:
    return total(tuple(range(call.inputs[0].ndim - count, call.inputs[0].ndim)))


def add_any(call: Call) -> Operation:
    # Of dtype float0, held as truth values, there is one value only.
    return torch.logical_or if call.dtype == torch.bool else addition(call)


lower = rules(
    "structure",
    {
        "broadcast_in_dim": broadcast_in_dim,
        "reshape": reshape,
        "squeeze": squeeze,
        "transpose": transpose,
        "rev": rev,
        "slice": slice_,
        "split": split,
        "dynamic_slice": dynamic_slice,
        "dynamic_update_slice": dynamic_update_slice,
        "concatenate": concatenate,
        "pad": pad,
        "iota": iota,
        "copy": same(torch.clone),
        "stop_gradient": same(lambda x: x),
        "optimization_barrier": same(lambda *xs: xs),
    },
)
batching = rules(
    "batching",
    {"move_axis": move_axis, "broadcast_axis": broadcast_axis, "sum_axes": lambda call, *, axes: total(axes)},
)
autodiff = rules(
    "autodiff", {"add_any": add_any, "zeros": zeros, "append_dims": append_dims, "sum_trailing": sum_trailing}
)


# --- How gather and the scatters become torch's ---


class Windows:
    """Where the windows of a gather or scatter are in the operand.

    Attributes:
        kept: the dimensions of the operand that windows have in the output or the updates.
        batch_shape: the shape of the indices, without their components.
    """

    def __init__(
        self,
        operand: ShapedArray,
        indices: ShapedArray,
        numbers: GatherDimensionNumbers | ScatterDimensionNumbers,
        sizes: Sequence[int],
        device: torch.device,
    ) -> None:
        _, left_out, self.index_map, operand_batching, indices_batching = numbers.astuple()
        shape = stored(operand).shape
        self.sizes = (*sizes, *shape[operand.ndim :])
        self.batch_shape = tuple(indices.shape[:-1])
        self.kept = [d for d in range(len(shape)) if d not in (*left_out, *operand_batching)]
        strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
        places = [torch.arange(self.sizes[d], device=device) * strides[d] for d in self.kept]
        inner = torch.zeros((), dtype=torch.int64, device=device)
        for along in torch.meshgrid(*places, indexing="ij") if places else ():
            inner = inner + along
        self.fixed = inner.reshape(*[1] * len(self.batch_shape), *inner.shape)
        for d, b in zip(operand_batching, indices_batching, strict=True):  # here the number of the window decides
            number = torch.arange(shape[d], device=device) * strides[d]
            one = [1] * self.fixed.ndim
            one[b] = -1
            self.fixed = self.fixed + number.reshape(one)
        self.limits = torch.tensor([shape[d] - self.sizes[d] for d in self.index_map], device=device)
        self.strides = torch.tensor([strides[d] for d in self.index_map], dtype=torch.int64, device=device)

    def places(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """The places of all elements, of shape (windows, sizes of one), moved to be within; and which were already."""
        starts = indices.to(torch.int64)
        inside = ((starts >= 0) & (starts <= self.limits)).all(-1)
        first = (starts.clamp(torch.zeros_like(self.limits), self.limits) * self.strides).sum(-1)
        one = [1] * len(self.kept)
        shape = (*self.batch_shape, *[self.sizes[d] for d in self.kept])
        return (first.reshape(*first.shape, *one) + self.fixed).expand(shape), inside.reshape(*inside.shape, *one)


def gather(
    call: Call,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    mode: GatherScatterMode,
    fill_value: complex | np.generic | None,
    **_: object,
) -> Operation:
    operand, indices = call.inputs
    windows = Windows(operand, indices, dimension_numbers, slice_sizes, call.device)
    rank, out = len(call.shape), call.outputs[0].ndim
    offset = (*dimension_numbers.offset_dims, *range(out, rank))
    batch = [d for d in range(rank) if d not in offset]
    order = sorted(range(rank), key=[*batch, *offset].__getitem__)
    filled = mode.name == "FILL_OR_DROP"
    shape, held, device = call.shape, call.dtype, call.device
    value = None if fill_value is None else fill(fill_value, held, device)

    def function(x: Tensor, indices: Tensor) -> Tensor:
        if not x.numel():
            return torch.full(shape, 0 if value is None else value.item(), dtype=held, device=device)
        places, inside = windows.places(indices)
        found = torch.take(x, places)
        if filled:
            assert value is not None
            found = torch.where(inside, found, value)
        return found.permute(order)

    return function


def fill(value: complex | np.generic, held: torch.dtype, device: torch.device) -> Tensor:
    """A number as a tensor; of unsigned integers the bits."""
    made = torch.as_tensor(getattr(value, "item", lambda: value)(), device=device)
    return made.to(held)


def scatter(combine: Operation, by_order: bool = False) -> Rule:
    """The rule of a scatter: `combine` joins a row, places in it and updates. One place more takes what is dropped."""

    def rule(
        call: Call, *, dimension_numbers: ScatterDimensionNumbers, mode: GatherScatterMode, **_: object
    ) -> Operation:
        operand, indices, updates = call.inputs
        numbers, inner = dimension_numbers, stored(updates)
        window_dims = (*numbers.update_window_dims, *range(updates.ndim, len(inner.shape)))
        batch = [d for d in range(len(inner.shape)) if d not in window_dims]
        sizes, along = [], iter(numbers.update_window_dims)
        for d in range(operand.ndim):
            alone = d in numbers.inserted_window_dims or d in numbers.operand_batching_dims
            sizes.append(1 if alone else updates.shape[next(along)])
        windows = Windows(operand, indices, numbers, sizes, call.device)
        dropped, order = mode.name != "CLIP", in_order if by_order and is_unsigned(operand.dtype) else lambda x: x

        def function(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
            places, inside = windows.places(indices)
            if dropped:
                places = torch.where(inside, places, x.numel())
            row = torch.cat([order(x).reshape(-1), x.new_zeros(1)])
            combine(row, places.reshape(-1), order(updates.permute(*batch, *window_dims).reshape(-1)))
            return order(row[:-1].reshape(x.shape))

        return function

    return rule


def reduced(kind: str) -> Operation:
    return lambda row, places, values: row.scatter_reduce_(0, places, values, kind)


indexing = rules(
    "indexing",
    {
        "gather": gather,
        "scatter": scatter(lambda row, places, values: row.scatter_(0, places, values)),
        "scatter_add": scatter(lambda row, places, values: row.scatter_add_(0, places, values)),
        "scatter_sub": scatter(lambda row, places, values: row.scatter_add_(0, places, -values)),
        "scatter_mul": scatter(reduced("prod")),
        "scatter_min": scatter(reduced("amin"), by_order=True),
        "scatter_max": scatter(reduced("amax"), by_order=True),
    },
)
