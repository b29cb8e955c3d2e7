"""How contractions, convolutions and reductions over windows become torch's functions."""

from __future__ import annotations

import math
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING

import torch

from tangrad.core import dtypes
from tangrad_torch.elementwise import addition, greater, is_integer, lesser
from tangrad_torch.programs import rules
from tangrad_torch.reductions import limit
from tangrad_torch.tensors import converted, is_complex, is_floating, torch_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import EllipsisType
    from typing import TypeAlias

    from torch import Tensor

    from tangrad.core import Primitive, ShapedArray
    from tangrad.extend.lax import DotDimensionNumbers
    from tangrad.lax import ConvDimensionNumbers
    from tangrad.typing import DType
    from tangrad_torch.programs import Call, SimpleRule
    from tangrad_torch.tensors import Operation, Shape

    Padding: TypeAlias = Sequence[tuple[int, int]]

CONVOLUTIONS = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}
TRANSPOSED = {rank: getattr(torch.nn.functional, f"conv_transpose{rank}d") for rank in CONVOLUTIONS}


def operand_dtype(call: Call, precision: object) -> DType:
    """The dtype in which operands are multiplied: that of the result, unless theirs holds more."""
    if precision is not None and not isinstance(precision, tuple):
        raise call.lacks(f"torch has no choice of algorithms, such as {precision}")
    result, own = call.outputs[0].dtype, call.inputs[0].dtype
    narrowed = is_floating(own) and not is_complex(result) and dtypes.bit_width(own) > dtypes.bit_width(result)
    return own if narrowed else result


def dot_general(
    call: Call, *, dimension_numbers: DotDimensionNumbers, precision: object, preferred_element_type: DType | None
) -> Operation:
    (left_sum, right_sum), (left_batch, right_batch) = dimension_numbers
    x, y = call.inputs
    dtype, held, out = operand_dtype(call, precision), call.dtype, call.shape
    left_free = [axis for axis in range(x.ndim) if axis not in (*left_sum, *left_batch)]
    right_free = [axis for axis in range(y.ndim) if axis not in (*right_sum, *right_batch)]

    def sizes(aval: ShapedArray, axes: Iterable[int]) -> int:
        return math.prod([aval.shape[axis] for axis in axes])

    batch = [sizes(x, left_batch)] if left_batch else []
    left = arranged(x, (*left_batch, *left_free, *left_sum), (*batch, sizes(x, left_free), sizes(x, left_sum)))
    right = arranged(y, (*right_batch, *right_sum, *right_free), (*batch, sizes(y, right_sum), sizes(y, right_free)))
    is_bool = torch_dtype(dtype) == torch.bool

    def function(a: Tensor, b: Tensor) -> Tensor:
        a, b = left(converted(a, x.dtype, dtype)), right(converted(b, y.dtype, dtype))
        found = torch.matmul(a.to(torch.float32), b.to(torch.float32)) != 0 if is_bool else torch.matmul(a, b)
        return found.reshape(out).to(held)

    return function


def arranged(aval: ShapedArray, order: Sequence[int], shape: Sequence[int]) -> Operation:
    """The function that puts dimensions in order and joins some of them; nothing where there is nothing to do."""
    if tuple(order) == tuple(range(aval.ndim)):
        return (lambda x: x) if aval.shape == tuple(shape) else lambda x: x.reshape(shape)
    return lambda x: x.permute(order).reshape(shape)


# --- convolution ---------------------------------------------------------------------------------------------------


def conv_general_dilated(
    call: Call,
    *,
    window_strides: Shape,
    padding: Padding,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: object,
    preferred_element_type: DType | None,
) -> Operation:
    x_aval, w_aval = call.inputs
    rank, dtype, held = len(window_strides), operand_dtype(call, precision), call.dtype
    if is_integer(call.outputs[0]):
        dtype = dtypes.as_dtype("int64")  # torch convolves no others
    if rank > max(CONVOLUTIONS):
        raise call.lacks(f"torch convolves along at most {max(CONVOLUTIONS)} dimensions, not {rank}")
    x_order, w_order, out_spec = dimension_numbers
    back = sorted(range(rank + 2), key=out_spec.__getitem__)
    groups = feature_group_count * batch_group_count
    spread = set(lhs_dilation) - {1}
    convolve = (spread_convolution if spread else plain_convolution)(
        max(rank, 1), window_strides or (1,), padding or ((0, 0),), lhs_dilation or (1,), rhs_dilation or (1,), groups
    )
    empty = 0 in (*x_aval.shape, *w_aval.shape, *call.shape)
    shape, device = call.shape, call.device

    def function(x: Tensor, w: Tensor) -> Tensor:
        if empty:
            return torch.zeros(shape, dtype=held, device=device)
        x, w = converted(x, x_aval.dtype, dtype).permute(x_order), converted(w, w_aval.dtype, dtype).permute(w_order)
        if batch_group_count > 1:  # the groups of the batch become groups of features
            size, features, *spatial = x.shape
            x = x.reshape(batch_group_count, size // batch_group_count, features, *spatial).transpose(0, 1)
            x = x.reshape(size // batch_group_count, batch_group_count * features, *spatial)
        found = convolve(x, w) if rank else convolve(x.unsqueeze(-1), w.unsqueeze(-1)).squeeze(-1)
        return found.permute(back).to(held)

    return function


def plain_convolution(rank: int, strides: Shape, padding: Padding, _: Shape, dilation: Shape, groups: int) -> Operation:
    """As torch has it, which pads both sides alike; otherwise the operand is written into zeros before."""
    alike = all([low == high >= 0 for low, high in padding])
    sides = [low for low, _ in padding] if alike else 0
    lay = padded(padding, (1,) * rank, 0, leading=2)
    convolve = CONVOLUTIONS[rank]
    return lambda x, w: convolve(x if alike else lay(x), w, None, strides, sides, dilation, groups)


def spread_convolution(
    rank: int, strides: Shape, padding: Padding, spread: Shape, dilation: Shape, groups: int
) -> Operation:
    """Of a dilated operand: a transposed convolution, which never multiplies what is between."""
    convolve, spatial = TRANSPOSED[rank], tuple(range(2, 2 + rank))

    def function(x: Tensor, w: Tensor) -> Tensor:
        out, features = w.shape[:2]
        turned = w.flip(spatial).reshape(groups, out // groups, features, *w.shape[2:]).transpose(1, 2)
        found = convolve(
            x, turned.reshape(groups * features, out // groups, *w.shape[2:]), None, spread, 0, 0, groups, dilation
        )
        reach = [step * (size - 1) for step, size in zip(dilation, w.shape[2:], strict=True)]
        pads = [(low - far, high - far) for (low, high), far in zip(padding, reach, strict=True)]
        found = padded(pads, (1,) * rank, 0, leading=2)(found)
        return found[behind([slice(None, None, stride) for stride in strides])]

    return function


def behind(parts: list[slice]) -> tuple[EllipsisType | slice, ...]:
    """The index of these parts of the last dimensions."""
    return (..., *parts)


def padded(padding: Padding, dilation: Shape, value: float, leading: int = 0) -> Operation:
    """The function that lays a tensor into one that is full of a value: its elements apart, and off the borders.

    The first `leading` dimensions stay as they are. Negative padding removes elements.
    """
    if not any([low or high for low, high in padding]) and set(dilation) <= {1}:
        return lambda x: x

    def function(x: Tensor) -> Tensor:
        sizes = [(size - 1) * step + 1 if size else 0 for size, step in zip(x.shape[leading:], dilation, strict=True)]
        around = [(max(low, 0), max(high, 0)) for low, high in padding]
        outer = [low + size + high for size, (low, high) in zip(sizes, around, strict=True)]
        full = x.new_full((*x.shape[:leading], *outer), value)
        inner = zip(sizes, dilation, around, strict=True)
        full[behind([slice(low, low + size, step) for size, step, (low, _) in inner])] = x
        cut = [slice(max(-low, 0), size - max(-high, 0)) for size, (low, high) in zip(outer, padding, strict=True)]
        return full[behind(cut)]

    return function


# --- reductions over windows ---------------------------------------------------------------------------------------


def reduce_window(join: SimpleRule, start: Callable[[DType], float]) -> SimpleRule:
    """The rule of a reduction over windows, from the rule that joins two elements, and what padding counts as.

    Windows are reduced along one dimension after the other, each by joining slices of the whole operand.
    """

    def rule(
        call: Call,
        *,
        window_dimensions: Shape,
        window_strides: Shape,
        padding: Padding,
        base_dilation: Shape,
        window_dilation: Shape,
    ) -> Operation:
        shape, joined = call.shape, join(call)
        lay = padded(padding, base_dilation, start(call.inputs[0].dtype))
        extents = list(zip(window_dimensions, shape, window_strides, window_dilation, strict=True))

        def function(x: Tensor) -> Tensor:
            if 0 in shape:
                return x.new_zeros(shape)
            x = lay(x)
            for axis, (size, *extent) in enumerate(extents):
                x = reduce(joined, [x[(*[slice(None)] * axis, part(at, *extent))] for at in range(size)])
            return x

        return function

    return rule


def part(at: int, count: int, step: int, dilation: int) -> slice:
    """Which elements along a dimension are number `at` of their windows."""
    return slice(at * dilation, at * dilation + (count - 1) * step + 1, step)


def selection(
    counts: Shape,
    select_prim: Primitive,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Padding,
    base_dilation: Shape,
    window_dilation: Shape,
) -> Callable[[Tensor], tuple[Tensor, Shape]]:
    """The function that lays an operand out, and finds where in it the element is that each window selects.

    An element stays selected as long as it compares so to the next one: NaN never does.
    """
    stays, worst = (torch.ge, -math.inf) if select_prim.name == "ge" else (torch.le, math.inf)
    lay = padded(padding, base_dilation, worst)
    extents = list(zip(counts, window_strides, window_dilation, strict=True))
    elements = list(product(*map(range, window_dimensions)))
    parts = [tuple([part(at, *extent) for at, extent in zip(each, extents, strict=True)]) for each in elements]

    def function(x: Tensor) -> tuple[Tensor, Shape]:
        x = lay(x)
        places = torch.arange(x.numel(), device=x.device).reshape(x.shape)
        value, place = x[parts[0]], places[parts[0]]
        for index in parts[1:]:
            kept = stays(value, x[index])
            value, place = torch.where(kept, value, x[index]), torch.where(kept, place, places[index])
        return place, x.shape

    return function


def select_and_gather_add(
    call: Call,
    *,
    select_prim: Primitive,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Padding,
    base_dilation: Shape,
    window_dilation: Shape,
) -> Operation:
    windows = window_dimensions, window_strides, padding, base_dilation, window_dilation
    select = selection(call.shape, select_prim, *windows)
    lay, shape = padded(padding, base_dilation, 0), call.shape

    def function(tangents: Tensor, operand: Tensor) -> Tensor:
        if 0 in shape:
            return tangents.new_zeros(shape)
        return torch.take(lay(tangents), select(operand)[0])

    return function


def select_and_scatter_add(
    call: Call, *, select_prim: Primitive, window_dimensions: Shape, window_strides: Shape, padding: Padding
) -> Operation:
    ones = (1,) * len(padding)
    windows = window_dimensions, window_strides, padding, ones, ones
    select = selection(call.inputs[0].shape, select_prim, *windows)
    back = padded([(-low, -high) for low, high in padding], ones, 0)

    def function(source: Tensor, operand: Tensor) -> Tensor:
        if 0 in source.shape:
            return operand.new_zeros(operand.shape)
        places, shape = select(operand)
        out = torch.zeros(math.prod(shape), dtype=source.dtype, device=source.device)
        return back(out.index_add_(0, places.reshape(-1), source.reshape(-1)).reshape(shape))

    return function


lower = rules("contractions", {"dot_general": dot_general})
windows = rules(
    "windows",
    {
        "conv_general_dilated": conv_general_dilated,
        "reduce_window_sum": reduce_window(addition, lambda dtype: 0),
        "reduce_window_max": reduce_window(greater, lambda dtype: limit(dtype, False)),
        "reduce_window_min": reduce_window(lesser, lambda dtype: limit(dtype, True)),
        "select_and_gather_add": select_and_gather_add,
        "select_and_scatter_add": select_and_scatter_add,
    },
)
