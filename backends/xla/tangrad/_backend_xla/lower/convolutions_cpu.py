"""Convolutions on CPUs: in groups, and with dimensions in whatever order.

XLA has one fast way, for arrays whose features come last, and without groups. It brings other orders into that one in
the main function alone, and takes everything else by a loop over single numbers. So both are done here, everywhere:

- *the order of the dimensions*: transposes around the convolution. Kernel gradients in a `scan` over layers take a
  fiftieth of the time; in the main function nothing changes, as XLA does the same;
- *few features a group* (depthwise): the sum of the products of shifted inputs with the numbers of the kernel, which
  XLA makes one loop of: 10 to 60 times as fast. The gradient of the kernel is a sum for each number, accumulated row by
  row: 8 to 1,000 times as fast;
- *other groups*: a convolution for each: the kernel's gradient 30 to 300 times as fast, the rest two to four times;
- *double precision*: XLA's fast way takes two spatial dimensions, with more than 16 features in or out. So one spatial
  dimension gets a second of size 1: up to 15 times as fast; and kernels of groups get features of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.dimension_values import has_symbolic
from tangrad._backend_xla.windows import convolution
from tangrad.core import RuleSet, dtypes, literal, trace_to_closed_jaxpr
from tangrad.extend import lax
from tangrad.extend.lax import conv_general_dilated_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.core import Array
    from tangrad.typing import Dimensions, DType, Params, Value


lower = RuleSet("lower.xla.cpu", api=1)

_COUNTS = ("feature_group_count", "batch_group_count")

# How many terms a sum of products may have, and how many groups are written out: programs grow with both.
MOST_TERMS, MOST_WRITTEN = 64, 4
# Products in all from which sums of products pay, and in each group from which a convolution of its own does.
FEW, FEW_IN_A_GROUP = 1 << 14, 1 << 19
# The features from which XLA's fast way takes double precision, and the pairs from which as many pay, mostly of zeros.
FEATURES_OF_DOUBLES, PAIRS_OF_DOUBLES = 17, 32


@lower.rule(conv_general_dilated_p)
def _conv_general_dilated(ctx: FunctionContext, lhs: IrValue, rhs: IrValue, **params: object) -> IrValue:
    avals = [aval.strip_weak_type() for aval in ctx.in_avals]
    left, right, out = shapes = [aval.shape for aval in (*avals, ctx.out_aval)]
    form = None
    is_plain = ctx.module.meshes is None and ctx.out_aval.dtype != bool  # truth values are neither multiplied nor added
    if is_plain and not any([has_symbolic(shape) or 0 in shape for shape in shapes]):
        form = _chosen(left, right, out, avals[0].dtype, params)
    if form is None:
        return convolution(ctx, lhs, rhs, **params)
    program = trace_to_closed_jaxpr(lambda x, y: (form(x, y, **params),), avals, "conv_general_dilated")
    return ctx.inline(program, (lhs, rhs))[0]


def _chosen(
    left: Dimensions, right: Dimensions, out: Dimensions, dtype: DType, params: Params
) -> Callable[..., Value] | None:
    """How to compute a convolution of these shapes; None for XLA's own way."""
    numbers, features, batches = [params[name] for name in ("dimension_numbers", *_COUNTS)]
    if features == batches == 1:
        if tuple(numbers) != _features_last(len(left)):
            return with_features_last
        return in_two_dimensions if dtype == np.float64 and len(left) == 3 else None
    _, rhs_spec, out_spec = numbers
    window = prod([right[dimension] for dimension in rhs_spec[1:]])
    places = prod([out[dimension] for dimension in (out_spec[0], *out_spec[2:])])
    work = prod(out) * window * batches  # XLA computes each batch with the features of all groups
    terms, products = (window, shifted_products) if features > 1 else (places, accumulated_products)
    if terms <= MOST_TERMS:
        return products if work >= FEW else None
    return group_by_group if work >= FEW_IN_A_GROUP * max(features, batches) else None


# --- few features a group ------------------------------------------------------------------------------------------


def shifted_products(x: Value, kernel: Value, **params: Any) -> Value:
    """For each position of the kernel, the input from there on times a number for each feature; the sum of these."""
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    groups, dtype = params["feature_group_count"], x.aval.dtype
    wide = _sum_dtype(dtype, params)
    x = _padded(_arranged(x, lhs_spec, out_spec), out_spec, params)
    kernel = _convert(_arranged(kernel, rhs_spec, _features_last(len(rhs_spec))[1]), wide)
    *window, within, features = kernel.aval.shape
    feature, multiplier = out_spec[1], features // groups
    axes, strides = [feature, *out_spec[2:]], [within, *params["window_strides"]]
    shape = _resized(x.aval.shape, out_spec[2:], _positions(x, out_spec, window, params))
    shape = _resized(shape, [feature], [groups])
    grouped = (*shape[: feature + 1], multiplier, *shape[feature + 1 :])
    around = tuple([axis for axis in range(len(grouped)) if axis != feature + 1])
    total: Any = None
    for *tap, one in product(*map(range, window), range(within)):
        number = _part(kernel, (*tap, one, 0), (*[at + 1 for at in tap], one + 1, features))
        starts = [one, *[at * step for at, step in zip(tap, params["rhs_dilation"])]]
        term = lax.mul_p.bind(
            lax.broadcast_in_dim(_convert(_window(x, axes, starts, shape, strides), wide), grouped, around),
            lax.broadcast_in_dim(lax.reshape(number, (groups, multiplier)), grouped, (feature, feature + 1)),
        )
        total = term if total is None else lax.add_p.bind(total, term)
    return _convert(lax.reshape(total, _resized(shape, [feature], [features])), _result_dtype(dtype, params))


def accumulated_products(x: Value, y: Value, **params: Any) -> Value:
    """Few positions of a large window, as in the gradient of a kernel: a sum of products for each position.

    All sums are made together, a row of the input at a time, and stay in the cache.
    """
    groups, dtype = params["batch_group_count"], x.aval.dtype
    wide = _sum_dtype(dtype, params)
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    rank = len(lhs_spec)
    order = (rank - 1, *range(rank - 1))  # [features, *spatial, batch]
    x = _convert(_arranged(_padded(x, lhs_spec, params), lhs_spec, order), wide)
    y = _convert(_arranged(y, rhs_spec, order), wide)
    *rows, batch = x.aval.shape
    *window, features = y.aval.shape
    strides, steps = params["window_strides"], params["rhs_dilation"]
    places = _positions(x, order, window[1:], params)
    x = lax.reshape(x, (*rows, groups, batch // groups, 1))
    y = lax.reshape(y, (*window, groups, 1, features // groups))
    whole = (*window, groups, batch // groups, features // groups)
    # A step of the loop takes one row, or one feature where there is one spatial dimension.
    looped = 2 if len(places) > 1 else 1
    row = (*(1,) * looped, *whole[looped:])
    taps = list(product(*map(range, places)))

    def add_row(number: Value, sums: Sequence[Value]) -> Sequence[Value]:
        feature, line = _divided(number, window[1]) if looped == 2 else (number, None)
        slab = [1, *x.aval.shape[1:]]
        if line is not None:
            slab[1] = (places[0] - 1) * strides[0] + 1
        lines = _moved(x, _starts(feature, line, steps[0] if steps else 1, x), slab)
        other = _moved(y, _starts(feature, line, 1, y), [*row[:looped], *y.aval.shape[looped:]])
        other = lax.broadcast_in_dim(other, row, tuple(range(len(row))))
        shape = (*row[: rank - 1], *x.aval.shape[rank - 1 :])
        found = []
        for tap, total in zip(taps, sums):
            starts = [at * stride for at, stride in zip(tap, strides)]
            part = _window(lines, range(1, rank - 1), starts, shape, steps)
            term = lax.mul_p.bind(lax.broadcast_in_dim(part, row, tuple(range(len(row)))), other)
            found.append(lax.add_p.bind(total, term))
        return tuple(found)

    zeros = lax.broadcast_in_dim(literal(0, wide), row, ())
    sums = lax.fori_loop(0, prod(window[:looped]), add_row, (zeros,) * len(taps))
    found = [lax.reduce_sum_p.bind(total, axes=tuple(range(rank - 1))) for total in sums]
    found = [
        lax.reshape(lax.transpose_p.bind(one, permutation=(1, 0, 2)), (1, batch // groups, features)) for one in found
    ]
    together = lax.reshape(lax.concatenate_p.bind(*found, dimension=0), (*places, batch // groups, features))
    numbers = (rank - 2, rank - 1, *range(rank - 2))
    return _convert(_arranged(together, numbers, out_spec), _result_dtype(dtype, params))


def _starts(feature: Value, line: Value | None, step: int, x: Value) -> list[Value]:
    """Where the part of a feature, and of a line of it, begins."""
    zero = literal(0, feature.aval.dtype)
    lines = [] if line is None else [_scaled(line, step)]
    return [feature, *lines, *[zero] * (x.aval.ndim - 1 - len(lines))]


# --- other groups, other orders ------------------------------------------------------------------------------------


def group_by_group(x: Value, kernel: Value, **params: Any) -> Value:
    """A convolution for each group, side by side: a few are written out, many are a loop."""
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    by_batch = params["batch_group_count"] > 1
    groups = max([params[name] for name in _COUNTS])
    x_axis, axis = lhs_spec[0 if by_batch else 1], out_spec[1]
    alone = {**params, **dict.fromkeys(_COUNTS, 1)}
    features = kernel.aval.shape[rhs_spec[0]] // groups
    more = _missing_features(kernel, features, rhs_spec)

    def convolve_one(a: Value, b: Value) -> Array:
        found = conv_general_dilated_p.bind(a, _extended(b, rhs_spec[0], more), **alone)
        return _part(found, (0,) * found.ndim, _resized(found.aval.shape, [axis], [features])) if more else found

    if groups <= MOST_WRITTEN:
        pairs = zip(_split(x, x_axis, groups), _split(kernel, rhs_spec[0], groups))
        return lax.concatenate_p.bind(*[convolve_one(a, b) for a, b in pairs], dimension=axis)

    def convolve(group: Value, out: Value) -> Array:
        found = convolve_one(_of_group(x, x_axis, groups, group), _of_group(kernel, rhs_spec[0], groups, group))
        return lax.dynamic_update_slice_p.bind(out, found, *_place_of_group(group, axis, found.aval.shape))

    out = conv_general_dilated_p.abstract_eval(x.aval, kernel.aval, **params)
    return lax.fori_loop(0, groups, convolve, lax.broadcast_in_dim(literal(0, out.dtype), out.shape, ()))


def _missing_features(kernel: Value, features: int, spec: Sequence[int]) -> int:
    """How many features of zeros the kernel of one group gets, so that XLA's fast way takes it."""
    within, *window = [kernel.aval.shape[axis] for axis in spec[1:]]
    is_slow = kernel.aval.dtype == np.float64 and len(window) <= 2 and max(within, features) < FEATURES_OF_DOUBLES
    pays = prod(window) > 1 and within * features >= PAIRS_OF_DOUBLES
    return FEATURES_OF_DOUBLES - features if is_slow and pays else 0


def _extended(x: Value, axis: int, count: int) -> Value:
    """An array with so many zeros after its last ones along an axis."""
    if not count:
        return x
    config = [(0, 0, 0)] * x.aval.ndim
    config[axis] = (0, count, 0)
    return lax.pad_p.bind(x, literal(0, x.aval.dtype), padding_config=tuple(config))


def _of_group(x: Value, axis: int, groups: int, group: Value) -> Value:
    sizes = _resized(x.aval.shape, [axis], [x.aval.shape[axis] // groups])
    return _moved(x, _place_of_group(group, axis, sizes), sizes)


def _place_of_group(group: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    """Where the part of these sizes begins that a group is of an array."""
    return [_scaled(group, size if at == axis else 0) for at, size in enumerate(sizes)]


def _scaled(number: Value, by: int) -> Array:
    return lax.mul_p.bind(number, literal(by, number.aval.dtype))


def with_features_last(x: Value, kernel: Value, **params: Any) -> Value:
    """The convolution of transposed arrays, transposed back."""
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    numbers = type(params["dimension_numbers"])(*_features_last(len(lhs_spec)))
    out = conv_general_dilated_p.bind(
        _arranged(x, lhs_spec, numbers[0]),
        _arranged(kernel, rhs_spec, numbers[1]),
        **{**params, "dimension_numbers": numbers},
    )
    return _arranged(out, numbers[2], out_spec)


def in_two_dimensions(x: Value, kernel: Value, **params: Any) -> Value:
    """The convolution of arrays [batch, place, feature], with a spatial dimension of size 1 before theirs."""
    numbers = type(params["dimension_numbers"])(*_features_last(4))
    rest = {"window_strides": 1, "padding": (0, 0), "lhs_dilation": 1, "rhs_dilation": 1}
    wide = {name: (one, *params[name]) for name, one in rest.items()}
    (batch, *place), shape = x.aval.shape, kernel.aval.shape
    out = conv_general_dilated_p.bind(
        lax.reshape(x, (batch, 1, *place)),
        lax.reshape(kernel, (1, *shape)),
        **{**params, **wide, "dimension_numbers": numbers},
    )
    return lax.reshape(out, (out.aval.shape[0], *out.aval.shape[2:]))


def _features_last(rank: int) -> tuple[tuple[int, ...], ...]:
    """The dimension numbers of arrays [batch, *spatial, feature] and kernels [*spatial, in, out]."""
    last, spatial = rank - 1, range(rank - 2)
    array = (0, last, *[axis + 1 for axis in spatial])
    return array, (last, last - 1, *spatial), array


# --- parts ---------------------------------------------------------------------------------------------------------


def _padded(x: Value, spec: Sequence[int], params: Params) -> Value:
    config = [(0, 0, 0)] * x.aval.ndim
    for axis, (low, high), dilation in zip(spec[2:], params["padding"], params["lhs_dilation"]):
        config[axis] = (low, high, dilation - 1)
    if not any(map(any, config)):
        return x
    return lax.pad_p.bind(x, literal(0, x.aval.dtype), padding_config=tuple(config))


def _positions(x: Value, spec: Sequence[int], window: Sequence[int], params: Params) -> list[int]:
    """How many positions a window has along each spatial dimension of a padded input."""
    sizes = [x.aval.shape[axis] for axis in spec[2:]]
    parts = zip(sizes, window, params["window_strides"], params["rhs_dilation"])
    return [(size - (count - 1) * step - 1) // stride + 1 for size, count, stride, step in parts]


def _resized(shape: Sequence[int], axes: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """A shape with other sizes along some axes."""
    changed = dict(zip(axes, sizes))
    return tuple([changed.get(axis, size) for axis, size in enumerate(shape)])


def _window(
    x: Value, axes: Sequence[int], starts: Sequence[int], shape: Sequence[int], strides: Sequence[int]
) -> Value:
    """The part of a shape that begins at `starts`, and takes each of `strides`, along some axes."""
    first = _resized([0] * len(shape), axes, starts)
    every = _resized([1] * len(shape), axes, strides)
    limits = [start + (size - 1) * stride + 1 for start, size, stride in zip(first, shape, every)]
    return _part(x, first, limits, every)


def _part(x: object, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None) -> Array:
    return lax.slice_p.bind(
        x,
        start_indices=tuple(starts),
        limit_indices=tuple(limits),
        strides=None if strides is None else tuple(strides),
    )


def _moved(x: object, starts: Sequence[object], sizes: Sequence[int]) -> Array:
    return lax.dynamic_slice_p.bind(x, *starts, slice_sizes=tuple(sizes))


def _divided(number: Value, by: int) -> tuple[Array, Array]:
    divisor = literal(by, number.aval.dtype)
    return lax.div_p.bind(number, divisor), lax.rem_p.bind(number, divisor)


def _split(x: Value, axis: int, count: int) -> tuple[Array, ...]:
    return lax.split_p.bind(x, sizes=(x.aval.shape[axis] // count,) * count, axis=axis)


def _arranged(x: Value, spec: Sequence[int], like: Sequence[int]) -> Value:
    """An array whose dimensions are at the places `spec`, with them at the places `like`."""
    permutation = [0] * len(spec)
    for place, target in zip(spec, like):
        permutation[target] = place
    if permutation == sorted(permutation):
        return x
    return lax.transpose_p.bind(x, permutation=tuple(permutation))


def _convert(x: Value, dtype: DType) -> Value:
    return x if x.aval.dtype == dtype else lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def _sum_dtype(dtype: DType, params: Params) -> DType:
    """What products are summed up in: as the result, floats of 16 bits and fewer in 32."""
    dtype = _result_dtype(dtype, params)
    is_narrow = dtypes.issubdtype(dtype, np.floating) and dtypes.bit_width(dtype) < 32
    return dtypes.as_dtype("float32") if is_narrow else dtype


def _result_dtype(dtype: DType, params: Params) -> DType:
    wanted = params["preferred_element_type"]
    return dtype if wanted is None else wanted
