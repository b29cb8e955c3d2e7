"""How gather and the scatters become torch's: each element of a window has a place in the operand as one long row."""

import math

import torch

from tangrad_torch.programs import rules
from tangrad_torch.tensors import in_order, is_unsigned, stored


class Windows:
    """Where the windows of a gather or scatter are in the operand.

    Attributes:
        kept: the dimensions of the operand that windows have in the output or the updates.
        batch_shape: the shape of the indices, without their components.
    """

    def __init__(self, operand, indices, numbers, sizes, device):
        _, left_out, self.index_map, operand_batching, indices_batching = numbers.astuple()
        shape = stored(operand).shape
        self.sizes = (*sizes, *shape[operand.ndim :])
        self.batch_shape = tuple(indices.shape[:-1])
        self.kept = [d for d in range(len(shape)) if d not in (*left_out, *operand_batching)]
        strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
        places = [torch.arange(self.sizes[d], device=device) * strides[d] for d in self.kept]
        inner = (
            sum(torch.meshgrid(*places, indexing="ij")) if places else torch.zeros((), dtype=torch.int64, device=device)
        )
        self.fixed = inner.reshape(*[1] * len(self.batch_shape), *inner.shape)
        for d, b in zip(operand_batching, indices_batching, strict=True):  # here the number of the window decides
            number = torch.arange(shape[d], device=device) * strides[d]
            one = [1] * self.fixed.ndim
            one[b] = -1
            self.fixed = self.fixed + number.reshape(one)
        self.limits = torch.tensor([shape[d] - self.sizes[d] for d in self.index_map], device=device)
        self.strides = torch.tensor([strides[d] for d in self.index_map], dtype=torch.int64, device=device)

    def places(self, indices):
        """The places of all elements, of shape (windows, sizes of one), moved to be within; and which were already."""
        starts = indices.to(torch.int64)
        inside = ((starts >= 0) & (starts <= self.limits)).all(-1)
        first = (starts.clamp(torch.zeros_like(self.limits), self.limits) * self.strides).sum(-1)
        one = [1] * len(self.kept)
        shape = (*self.batch_shape, *[self.sizes[d] for d in self.kept])
        return (first.reshape(*first.shape, *one) + self.fixed).expand(shape), inside.reshape(*inside.shape, *one)


def gather(call, *, dimension_numbers, slice_sizes, mode, fill_value, **_):
    operand, indices = call.inputs
    windows = Windows(operand, indices, dimension_numbers, slice_sizes, call.device)
    rank, out = len(call.shape), call.outputs[0].ndim
    offset = (*dimension_numbers.offset_dims, *range(out, rank))
    batch = [d for d in range(rank) if d not in offset]
    order = sorted(range(rank), key=[*batch, *offset].__getitem__)
    filled = mode.name == "FILL_OR_DROP"
    shape, held, device = call.shape, call.dtype, call.device
    value = None if fill_value is None else fill(fill_value, held, device)

    def function(x, indices):
        if not x.numel():
            return torch.full(shape, 0 if value is None else value.item(), dtype=held, device=device)
        places, inside = windows.places(indices)
        found = torch.take(x, places)
        return (torch.where(inside, found, value) if filled else found).permute(order)

    return function


def fill(value, held, device):
    """A number as a tensor; of unsigned integers the bits."""
    made = torch.as_tensor(getattr(value, "item", lambda: value)(), device=device)
    return made.to(held)


def scatter(combine, by_order=False):
    """The rule of a scatter: `combine` joins a row, places in it and updates. One place more takes what is dropped."""

    def rule(call, *, dimension_numbers, mode, **_):
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

        def function(x, indices, updates):
            places, inside = windows.places(indices)
            if dropped:
                places = torch.where(inside, places, x.numel())
            row = torch.cat([order(x).reshape(-1), x.new_zeros(1)])
            combine(row, places.reshape(-1), order(updates.permute(*batch, *window_dims).reshape(-1)))
            return order(row[:-1].reshape(x.shape))

        return function

    return rule


def reduced(kind):
    return lambda row, places, values: row.scatter_reduce_(0, places, values, kind)


lower = rules(
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
