"""Jobs: what a kernel is called with for one equation, whichever backend calls it; and which equations each takes."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangrad.core import Primitive, ShapedArray, dtypes
from tangrad.extend.lax import (
    GatherScatterMode,
    conv_general_dilated_p,
    cos_p,
    cummax_p,
    cummin_p,
    cumsum_p,
    exp_p,
    lu_p,
    search_sorted_p,
    sin_p,
    sort_p,
    tanh_p,
    top_k_p,
)

if TYPE_CHECKING:
    from tangrad.lax import ConvDimensionNumbers
    from tangrad.typing import DTypeLike


# As in native/kernel.h.
NAMES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = {name: number for number, name in enumerate((*NAMES, "float16", "bfloat16"))}


class Job(NamedTuple):
    """A call of the kernel `name`.

    Attributes:
        plan: integers, whose meaning the kernel states.
        on_numpy: whether it is faster than what NumPy has for it.
    """

    name: str
    plan: tuple[int, ...]
    on_numpy: bool = True


# From the types of an equation's operands, and its parameters, to the job; None for what the kernel does not take.
Describe = Callable[..., Job | None]


def number_of(aval: ShapedArray, among: Container[str]) -> int | None:
    """The number of the dtype, if it is one of those."""
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return None
    name = "uint8" if aval.dtype == bool else dtypes.dtype_name(aval.dtype)
    return NUMBERS[name] if name in among else None


def is_known(aval: ShapedArray) -> bool:
    """Whether all sizes are numbers."""
    return all([type(size) is int for size in aval.shape])


def around(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """How many elements are before an axis, along it, and behind it."""
    outer = inner = 1
    for size in shape[:axis]:
        outer *= size
    for size in shape[axis + 1 :]:
        inner *= size
    return outer, shape[axis], inner


Params = dict[str, Any]


DTYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64")
MANY = 1 << 12  # elements in all: below, a call takes longer than what it saves


def _describe(operation: int, x: ShapedArray, *, axis: int, reverse: bool) -> Job | None:
    number = number_of(x, DTYPES)
    if number is None or not is_known(x) or prod(x.shape) < MANY or x.shape[axis] < 2:
        return None
    return Job("running", (number, operation, *around(x.shape, axis), int(reverse)))


RUNNING: dict[Primitive, Describe] = {
    primitive: partial(_describe, operation) for operation, primitive in enumerate((cumsum_p, cummax_p, cummin_p))
}


LONG = 1 << 16  # elements of a row: below, NumPy sorts a single array as fast
WIDTHS = (8, 16, 32, 64, 128)
FEW = 256  # elements that are looked for among at least so many times as many
SHARE = 8
PLACES = (NUMBERS["int32"], NUMBERS["int64"])  # what numbers of elements are given as


def _sort(*operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> Job | None:
    key = operands[0]
    number = number_of(key, NUMBERS)
    if number is None or num_keys != 1 or not is_known(key) or prod(key.shape) < MANY:
        return None
    if any([isinstance(aval.dtype, dtypes.ExtendedDType) for aval in operands]):
        return None
    widths = [dtypes.bit_width(aval.dtype) for aval in operands]
    places = around(key.shape, dimension)
    if len(operands) > 60 or not set(widths) <= set(WIDTHS) or not 1 < places[1] < 1 << 31:
        return None
    alone = len(operands) == 1 and places[1] < LONG
    return Job("sort", (number, *places, len(operands), *[width // 8 for width in widths]), not alone)


def _top_k(x: ShapedArray, *, k: int, axis: int) -> Job | None:
    number = number_of(x, NUMBERS)
    if number is None or not is_known(x) or type(k) is not int or axis != x.ndim - 1 or prod(x.shape) < MANY:
        return None
    rows, size, _ = around(x.shape, axis)
    return Job("top", (number, rows, size, k)) if 0 < k <= FEW and k * SHARE <= size < 1 << 31 else None


def _search(keys: ShapedArray, values: ShapedArray, *, side: str, dtype: DTypeLike) -> Job | None:
    number, of_places = number_of(keys, DTYPES), NUMBERS.get(dtypes.dtype_name(dtype))
    if number is None or of_places not in PLACES or not (is_known(keys) and is_known(values)):
        return None
    if prod(values.shape) < MANY or not 0 < keys.shape[0] < 1 << 30:
        return None
    return Job("search", (number, of_places, keys.shape[0], prod(values.shape), int(side == "right")))


SORTING: dict[Primitive, Describe] = {sort_p: _sort, top_k_p: _top_k, search_sorted_p: _search}


SMALL = 64  # rows and columns, as in native/lu.cc
SEVERAL, ENOUGH = 4, 1 << 10  # matrices, and elements in all: below, LAPACK is as fast


def _lu(x: ShapedArray) -> Job | None:
    number = number_of(x, ("float32", "float64"))
    if number is None or not is_known(x):
        return None
    count, (rows, columns) = prod(x.shape[:-2]), x.shape[-2:]
    if count < SEVERAL or prod(x.shape) < ENOUGH or max(rows, columns) > SMALL:
        return None
    return Job("lu", (number, count, rows, columns))


FACTORS: dict[Primitive, Describe] = {lu_p: _lu}


# Of arrays (images, height, width, features): how a convolution of each feature by itself has its dimensions, and how
# the gradient of its kernel has them, for which a feature is a group of images, and an image a feature.
LAST, GRADIENT = ((0, 3, 1, 2), (0, 3, 1, 2)), ((3, 0, 1, 2), (2, 3, 0, 1))
FEATURES, TAPS, MOST_TAPS = 8, 4, 256  # fewer features and numbers of a kernel are the backends'
PRODUCTS = 1 << 16  # in all


def _convolution(
    x: ShapedArray,
    y: ShapedArray,
    *,
    dimension_numbers: ConvDimensionNumbers,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    **params: Any,
) -> Job | None:
    number = number_of(x, ("float32", "float64"))
    if number is None or y.dtype != x.dtype or not (is_known(x) and is_known(y)) or x.ndim != 4:
        return None
    if params["preferred_element_type"] not in (None, x.dtype) or set(params["lhs_dilation"]) != {1}:
        return None
    x_spec, y_spec, out_spec = dimension_numbers
    groups, features = (params["feature_group_count"], params["batch_group_count"]), x.shape[3]
    ends = (y_spec[0], y_spec[1])
    if (x_spec, out_spec) == LAST and groups == (features, 1) and y_spec[2:] == (0, 1):
        name, inner = "depthwise", (y.shape[ends[0]], y.shape[ends[1]]) == (features, 1)
        window = y.shape[:2]
    elif (x_spec, out_spec) == GRADIENT and groups == (1, features) and y_spec == x_spec:
        name, inner = "depthwise_gradient", y.shape[0] == x.shape[0] and y.shape[3] == features
        window = y.shape[1:3]
    else:
        return None
    dilations = params["rhs_dilation"]
    outs = tuple(
        [
            (size + sum(around) - step * (taps - 1) - 1) // stride + 1
            for size, around, taps, step, stride in zip(x.shape[1:3], padding, window, dilations, window_strides)
        ]
    )
    taps = prod(window if name == "depthwise" else outs)
    if not inner or features < FEATURES or not TAPS <= taps <= MOST_TAPS or min(*outs, *x.shape, *y.shape) < 1:
        return None
    before = [around[0] for around in padding]
    if x.shape[0] * prod(outs) * prod(window) * features < PRODUCTS:
        return None
    return Job(name, (number, *x.shape, *outs, *window, *before, *window_strides, *dilations))


WINDOWS: dict[Primitive, Describe] = {conv_general_dilated_p: _convolution}


# Functions of each element, with their numbers in native/chain.cc, and the dtypes that have it: what XLA computes one
# element at a time, and what may follow it in the same call.
ANGLES = {sin_p: 0, cos_p: 1}
FOLLOWING = {exp_p: 2, tanh_p: 3}
OF_ANGLES, OF_FOLLOWING = ("float32", "float64", "bfloat16"), ("float32", "bfloat16")


def _angle(function: int, x: ShapedArray) -> Job | None:
    number = number_of(x, OF_ANGLES)
    if number is None or not is_known(x) or prod(x.shape) < MANY:
        return None
    return Job("chain", (number, prod(x.shape), 1, function), on_numpy=False)


FUNCTIONS: dict[Primitive, Describe] = {primitive: partial(_angle, function) for primitive, function in ANGLES.items()}


def softmax(x: ShapedArray, *, axes: tuple[int, ...]) -> Job | None:
    """Over the last axes."""
    number = number_of(x, ("float32", "bfloat16"))
    if number is None or not is_known(x) or prod(x.shape) < MANY:
        return None
    first = x.ndim - len(axes)
    if sorted(axes) != list(range(first, x.ndim)) or (size := prod(x.shape[first:])) < SHORT:
        return None
    return Job("softmax", (number, prod(x.shape[:first]), size))


SHORT = 16  # elements of a row: shorter ones are the backends'


OF_PLACES = ("int32", "int64", "uint32")


def are_places(indices: ShapedArray) -> bool:
    """Whether they are many places along one axis."""
    if isinstance(indices.dtype, dtypes.ExtendedDType) or not is_known(indices):
        return False
    return indices.dtype.name in OF_PLACES and indices.shape[-1:] == (1,) and prod(indices.shape) >= MANY


def counts(operand: ShapedArray, indices: ShapedArray, params: Params) -> bool:
    """Whether a scatter that adds one number everywhere is done by counting how often each place comes."""
    if operand.ndim != 1 or not (isinstance(operand.dtype, np.dtype) and operand.dtype.kind in "iuf"):
        return False
    if not (is_known(operand) and are_places(indices) and operand.dtype.isbuiltin == 1):
        return False
    few = 0 < operand.shape[0] <= prod(indices.shape) < 1 << 31
    return few and not params["dimension_numbers"].update_window_dims and params["mode"] is not GatherScatterMode.CLIP


def count(indices: ShapedArray, size: int, wrap: int = 0) -> Job:
    """How often each of `size` places comes, in `int32`; `wrap`: the size, where those below 0 count."""
    return Job("count", (NUMBERS[indices.dtype.name], prod(indices.shape), size, wrap))


JOBS: dict[str, Mapping[Primitive, Describe]] = {
    "decompositions": FACTORS,
    "reductions": RUNNING,
    "sorting": SORTING,
    "windows": WINDOWS,
}
