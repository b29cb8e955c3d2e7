"""How reductions, running totals and sorting become torch's functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from tangrad.core import dtypes
from tangrad_torch.elementwise import greater, lesser
from tangrad_torch.programs import rules
from tangrad_torch.structure import total
from tangrad_torch.tensors import in_order, is_complex, is_floating, is_unsigned

if TYPE_CHECKING:
    from torch import Tensor

    from tangrad.typing import DType
    from tangrad_torch.programs import Call, SimpleRule
    from tangrad_torch.tensors import Axes, Operation, Operations

NARROW = (torch.float16, torch.bfloat16)


def limit(dtype: DType, greatest: bool) -> float:
    """The greatest or least value of a dtype, as it is held."""
    if is_floating(dtype) or is_complex(dtype):
        return math.inf if greatest else -math.inf
    if dtype == np.bool_:
        return greatest
    limits = dtypes.iinfo(dtype)
    number = int(limits.max if greatest else limits.min)
    return number - (1 << dtypes.bit_width(dtype)) if is_unsigned(dtype) and greatest else number


def ordered(function: Operation, dtype: DType) -> Operation:
    """A function of tensors and of what else it takes that goes by order, for tensors of a dtype."""
    if not is_unsigned(dtype):
        return function
    return lambda x, *rest: in_order(function(in_order(x), *rest))


# --- reductions ----------------------------------------------------------------------------------------------------


def product(call: Call, *, axes: Axes) -> Operation:
    def function(x: Tensor) -> Tensor:
        for axis in reversed(axes):
            x = torch.prod(x, axis, dtype=x.dtype)
        return x

    return function


def extremum(function: Operation, join: SimpleRule, greatest: bool) -> SimpleRule:
    """The rule of the greatest or least element; of none it is the limit on the other side."""

    def rule(call: Call, *, axes: Axes) -> Operation:
        (aval,) = call.inputs
        if is_complex(aval.dtype):
            return by_halves(join(call), -math.inf if greatest else math.inf)(call, axes=axes)
        if 0 in [aval.shape[axis] for axis in axes]:
            value, shape, held, device = limit(aval.dtype, not greatest), call.shape, call.dtype, call.device
            return lambda x: torch.full(shape, value, dtype=held, device=device)
        reduce = ordered(lambda x: function(x, axes), aval.dtype)
        return reduce if axes else lambda x: x

    return rule


def by_halves(function: Operation, identity: complex) -> SimpleRule:
    """The rule of a reduction that torch does not have: one half of what there is is joined with the other."""

    def rule(call: Call, *, axes: Axes) -> Operation:
        (aval,) = call.inputs
        kept = [axis for axis in range(aval.ndim) if axis not in axes]
        shape = [aval.shape[axis] for axis in kept]
        count = math.prod([aval.shape[axis] for axis in axes])
        fill = torch.full((*shape, 1), identity, device=call.device).to(call.dtype)

        def reduce(x: Tensor) -> Tensor:
            x = x.permute(*kept, *axes).reshape(*shape, count) if count else fill
            while x.shape[-1] > 1:
                half, odd = divmod(x.shape[-1], 2)
                joined = function(x[..., :half], x[..., half : 2 * half])
                x = torch.cat([joined, x[..., -1:]], -1) if odd else joined
            return x[..., 0]

        return reduce if axes else lambda x: x

    return rule


def position(function: Operation) -> SimpleRule:
    def rule(call: Call, *, axes: Axes, index_dtype: DType) -> Operation:
        (aval,), (axis,), held = call.inputs, axes, call.dtype
        if aval.dtype == np.bool_:
            return lambda x: function(x.to(torch.uint8), axis).to(held)
        order = in_order if is_unsigned(aval.dtype) else lambda x: x
        return lambda x: function(order(x), axis).to(held)

    return rule


# --- running totals ------------------------------------------------------------------------------------------------


def running(function: Operation, by_order: bool = False) -> SimpleRule:
    """The rule of a running total, from a function of a tensor and an axis. Narrow floats are added up as float32."""

    def rule(call: Call, *, axis: int, reverse: bool) -> Operation:
        held = call.dtype
        total = ordered(function, call.inputs[0].dtype) if by_order else function

        def accumulate(x: Tensor) -> Tensor:
            x = x.to(torch.float32) if held in NARROW else x
            return (total(x.flip(axis), axis).flip(axis) if reverse else total(x, axis)).to(held)

        return accumulate

    return rule


# --- sorting -------------------------------------------------------------------------------------------------------


def keys_of(x: Tensor, dtype: DType) -> list[Tensor]:
    """Tensors whose order, one after the other, is that of a key."""
    if is_unsigned(dtype):
        return [in_order(x)]
    return [x.real, x.imag] if x.is_complex() else [x]


def sort(call: Call, *, dimension: int, is_stable: bool, num_keys: int) -> Operations:
    types = [aval.dtype for aval in call.inputs[:num_keys]]

    def function(*xs: Tensor) -> tuple[Tensor, ...]:
        keys = [key for x, dtype in zip(xs[:num_keys], types) for key in keys_of(x, dtype)]
        order = torch.sort(keys[-1], dim=dimension, stable=True).indices
        for key in reversed(keys[:-1]):  # the first one decides, so it comes last
            ordered = torch.sort(key.gather(dimension, order), dim=dimension, stable=True).indices
            order = order.gather(dimension, ordered)
        return tuple([taken(x, dimension, order) for x in xs])

    return function if call.inputs[0].ndim else lambda *xs: xs


def taken(x: Tensor, dimension: int, order: Tensor) -> Tensor:
    """The elements in an order; those of random keys with all their words."""
    order = order.reshape(*order.shape, *[1] * (x.ndim - order.ndim))
    return x.gather(dimension, order.expand(x.shape))


def top_k(call: Call, *, k: int, axis: int) -> Operations:
    """By the bits of floats, as it is defined: a stable order, of which the first ones are taken."""
    dtype, index = call.inputs[0].dtype, torch.int32

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        (key,) = keys_of(x, dtype)
        if key.is_floating_point():
            bits = key.contiguous().view(getattr(torch, f"int{8 * key.itemsize}"))
            key = torch.where(bits < 0, bits ^ torch.iinfo(bits.dtype).max, bits)
        order = torch.sort(key, dim=axis, stable=True, descending=True).indices.narrow(axis, 0, k)
        return x.gather(axis, order), order.to(index)

    return function


lower = rules(
    "reductions",
    {
        "reduce_sum": lambda call, *, axes: total(axes),
        "reduce_prod": product,
        "reduce_max": extremum(torch.amax, greater, True),
        "reduce_min": extremum(torch.amin, lesser, False),
        "reduce_and": by_halves(torch.bitwise_and, -1),
        "reduce_or": by_halves(torch.bitwise_or, 0),
        "reduce_xor": by_halves(torch.bitwise_xor, 0),
        "argmax": position(torch.argmax),
        "argmin": position(torch.argmin),
        "cumsum": running(lambda x, axis: torch.cumsum(x, axis, dtype=x.dtype)),
        "cumprod": running(lambda x, axis: torch.cumprod(x, axis, dtype=x.dtype)),
        "cummax": running(lambda x, axis: torch.cummax(x, axis).values, by_order=True),
        "cummin": running(lambda x, axis: torch.cummin(x, axis).values, by_order=True),
        "cumlogsumexp": running(torch.logcumsumexp),
    },
)
sorting = rules("sorting", {"sort": sort, "top_k": top_k})
