"""How primitives that move elements become torch's functions: views where there are any.

The words that random keys are made of have dimensions of their own, which come last.
"""

import torch

from tangrad_torch.elementwise import addition
from tangrad_torch.programs import rules, same
from tangrad_torch.tensors import stored


def inside(aval):
    """The dimensions that are inside the elements."""
    return tuple(range(aval.ndim, len(stored(aval).shape)))


def spread(shape, positions):
    """The function that repeats a tensor along new dimensions: its own stand at `positions` of the shape."""
    positions = tuple(positions)
    order = sorted(range(len(positions)), key=positions.__getitem__)
    ordered = order == list(range(len(positions)))

    def function(x):
        if not ordered:
            x = x.permute(order)
        sizes = [1] * len(shape)
        for position, size in zip(sorted(positions), x.shape, strict=True):
            sizes[position] = size
        return x.reshape(sizes).expand(shape)

    return function


def broadcast_in_dim(call, *, shape, broadcast_dimensions):
    return spread(call.shape, (*broadcast_dimensions, *inside(call.outputs[0])))


def reshape(call, *, new_sizes, dimensions):
    shape, order = call.shape, None if dimensions is None else (*dimensions, *inside(call.inputs[0]))
    return lambda x: (x if order is None else x.permute(order)).reshape(shape)


def squeeze(call, *, dimensions):
    shape = call.shape
    return lambda x: x.reshape(shape)


def transpose(call, *, permutation):
    order = (*permutation, *inside(call.inputs[0]))
    return lambda x: x.permute(order)


def rev(call, *, dimensions):
    return lambda x: torch.flip(x, dimensions)


def slice_(call, *, start_indices, limit_indices, strides):
    steps = strides or (1,) * len(start_indices)
    index = tuple([slice(*limits) for limits in zip(start_indices, limit_indices, steps, strict=True)])
    return lambda x: x[index]


def split(call, *, sizes, axis):
    return lambda x: torch.split(x, list(sizes), axis)


def window(shape, sizes):
    """From start indices to the index of the part, moved so that it is within the array."""
    last = [full - size for full, size in zip(shape, sizes, strict=True)]

    def index(starts):
        firsts = [min(max(int(start), 0), end) for start, end in zip(starts, last, strict=True)]
        return tuple([slice(first, first + size) for first, size in zip(firsts, sizes, strict=True)])

    return index


def dynamic_slice(call, *, slice_sizes):
    index = window(call.inputs[0].shape, slice_sizes)
    return lambda x, *starts: x[index(starts)]


def dynamic_update_slice(call):
    index = window(call.inputs[0].shape, call.inputs[1].shape)

    def function(x, update, *starts):
        x = x.clone(memory_format=torch.contiguous_format)
        x[index(starts)] = update
        return x

    return function


def concatenate(call, *, dimension):
    return lambda *xs: torch.cat(xs, dimension)


def pad(call, *, padding_config):
    shape, held, device = call.shape, call.dtype, call.device
    source, target = zip(*[_kept(*sizes) for sizes in zip(call.inputs[0].shape, shape, padding_config)]) or ((), ())

    def function(x, value):
        padded = torch.empty(shape, dtype=held, device=device)
        padded[...] = value
        padded[target] = x[source]
        return padded

    return function if padding_config else lambda x, value: x


def _kept(size, padded, config):
    """Which elements of a dimension stay, and where they go: number i to `low + i * step`, if that is inside."""
    low, _, interior = config
    step = interior + 1
    first = max(0, -(low // step))
    last = min(size - 1, (padded - 1 - low) // step)
    if last < first:
        return slice(0, 0), slice(0, 0)
    return slice(first, last + 1), slice(low + first * step, low + last * step + 1, step)


def iota(call, *, dtype, shape, dimension):
    held, device, repeat = call.dtype, call.device, spread(shape, (dimension,))
    return lambda: repeat(torch.arange(shape[dimension], device=device).to(held))


def move_axis(call, *, source, destination):
    return lambda x: torch.movedim(x, source, destination)


def broadcast_axis(call, *, shape, positions):
    return spread(call.shape, (*positions, *inside(call.outputs[0])))


def zeros(call, *, shape, dtype, weak_type):
    shape, held, device = call.shape, call.dtype, call.device
    return lambda: torch.zeros(shape, dtype=held, device=device)


def append_dims(call, *, sizes):
    return spread(call.shape, range(call.inputs[0].ndim))


def total(axes):
    """The function that adds up along dimensions, in the dtype of the operand."""
    return lambda x: torch.sum(x, axes, dtype=x.dtype) if axes else x


def sum_trailing(call, *, count):
    return total(tuple(range(call.inputs[0].ndim - count, call.inputs[0].ndim)))


def add_any(call):
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
