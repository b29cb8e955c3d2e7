"""Parts, shapes and joins of padded arrays; the values of their sizes.

Where positions change by a size, elements are taken by their logical positions (`take`); elsewhere the padded arrays
are handled as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tangrad._lax.elementwise.primitives import (
    add_p,
    and_p,
    clamp_p,
    convert_element_type_p,
    div_p,
    ge_p,
    lt_p,
    mul_p,
    rem_p,
    select_n_p,
    sub_p,
)
from tangrad._lax.indexing.primitives import GatherDimensionNumbers, GatherScatterMode, gather_p
from tangrad._lax.structure.primitives import (
    broadcast_in_dim_p,
    concatenate_p,
    copy_p,
    dynamic_slice_p,
    dynamic_update_slice_p,
    iota_p,
    optimization_barrier_p,
    pad_p,
    reshape_p,
    rev_p,
    slice_p,
    split_p,
    squeeze_p,
    stop_gradient_p,
    strided_size,
    transpose_p,
)
from tangrad._lax.symbolic.dimensions import dimension_as_value_p
from tangrad.core import Array, RuleSet, literal
from tangrad.core.arguments import is_symbolic, product
from tangrad.extend.masking import INT32, Sizes, number, repeated, whole
from tangrad.typing import ArrayLike, Dimensions, Value

if TYPE_CHECKING:
    from tangrad.core.arguments import SymbolicDimension
    from tangrad.typing import DType

mask = RuleSet("mask", api=1)

whole(mask, copy_p, iota_p, squeeze_p, stop_gradient_p, transpose_p)
mask.add(optimization_barrier_p, lambda args, shapes, *, sizes: optimization_barrier_p.bind(*args))


# --- elements by their positions ---


def take(x: Value, places: Value, axis: int) -> Array:
    """The slices of `x` at some places along an axis; those that are outside are the nearest ones inside."""
    shape = x.aval.shape
    others = tuple([d for d in range(len(shape)) if d != axis])
    indices = reshape_p.bind(places, new_sizes=(*places.aval.shape, 1), dimensions=None)
    return gather_p.bind(
        x,
        indices,
        dimension_numbers=GatherDimensionNumbers(others, (axis,), (axis,)),
        slice_sizes=tuple([1 if d == axis else size for d, size in enumerate(shape)]),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


def _counted(count: int) -> Array:
    return iota_p.bind(dtype=INT32, shape=(count,), dimension=0)


def _taken(x: Value, start: ArrayLike, count: int, step: int, axis: int) -> Array:
    """`count` slices along an axis, from a logical place on, in steps."""
    places = mul_p.bind(_counted(count), literal(step, INT32)) if step != 1 else _counted(count)
    return take(x, add_p.bind(places, number(start)), axis)


# --- shape ---


@mask.rule(broadcast_in_dim_p)
def _(
    args: Sequence[Value],
    shapes: Sequence[Dimensions],
    *,
    sizes: Sizes,
    shape: Dimensions,
    broadcast_dimensions: tuple[int, ...],
) -> Value:
    return repeated(args[0], shapes[0], shape, broadcast_dimensions, sizes)


@mask.rule(reshape_p)
def _(
    args: Sequence[Value],
    shapes: Sequence[Dimensions],
    *,
    sizes: Sizes,
    new_sizes: Dimensions,
    dimensions: Sequence[int] | None,
) -> Value:
    (x,), (shape,) = args, shapes
    if dimensions is not None:
        x, shape = transpose_p.bind(x, permutation=dimensions), tuple([shape[d] for d in dimensions])
    padded = sizes.padded(tuple(new_sizes))
    if _keeps_order(shape, new_sizes):
        return reshape_p.bind(x, new_sizes=padded, dimensions=None)
    return sizes.fill(_reordered(x, shape, new_sizes, padded, sizes), new_sizes, 0)


def _keeps_order(shape: Dimensions, new_sizes: Dimensions) -> bool:
    """Whether elements that count are at the same places when padded arrays are reshaped.

    They are if dimensions fall into groups, of as many elements before and after, of which only the first has a size
    that is padded.
    """
    before, after = list(shape), list(new_sizes)
    while before and after:
        one, other = [before.pop(0)], [after.pop(0)]
        while product(one) != product(other):
            smaller = _grows(one, other)
            if smaller is None:
                return False
            side, rest = (one, before) if smaller else (other, after)
            if not rest:
                return False
            side.append(rest.pop(0))
        if one != other and any([is_symbolic(size) for size in (*one[1:], *other[1:])]):
            return False
    return all([not is_symbolic(size) for size in (*before, *after)])


def _grows(one: Sequence[int], other: Sequence[int]) -> bool | None:
    """Whether the first group has to grow to be as large as the other; None where that depends on the sizes."""
    try:
        return bool(product(one) < product(other))
    except ValueError:  # an inconclusive comparison
        return None


def _reordered(x: Value, shape: Dimensions, new_sizes: Dimensions, padded: tuple[int, ...], sizes: Sizes) -> Array:
    """Each element of the result by its number among those that count."""
    flat, stride = None, number(1)
    for dimension in range(len(padded) - 1, -1, -1):
        place = iota_p.bind(dtype=INT32, shape=padded, dimension=dimension)
        part = mul_p.bind(place, stride)
        flat = part if flat is None else add_p.bind(flat, part)
        stride = mul_p.bind(stride, number(sizes.logical(new_sizes[dimension])))
    source, step = None, 1
    own = x.aval.shape
    for dimension in range(len(own) - 1, -1, -1):
        size = number(sizes.logical(shape[dimension]))
        part = mul_p.bind(rem_p.bind(flat, size), literal(step, INT32))
        source = part if source is None else add_p.bind(source, part)
        flat, step = div_p.bind(flat, size), step * own[dimension]
    elements = reshape_p.bind(x, new_sizes=(prod(own),), dimensions=None)
    if source is None:  # from no dimensions
        source = broadcast_in_dim_p.bind(literal(0, INT32), shape=padded, broadcast_dimensions=())
    places = reshape_p.bind(source, new_sizes=(prod(padded),), dimensions=None)
    return reshape_p.bind(take(elements, places, 0), new_sizes=padded, dimensions=None)


@mask.rule(rev_p)
def _(args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes, dimensions: tuple[int, ...]) -> Value:
    (x,), (shape,) = args, shapes
    plain = tuple([d for d in dimensions if not is_symbolic(shape[d])])
    x = rev_p.bind(x, dimensions=plain) if plain else x
    for axis in dimensions:
        if is_symbolic(shape[axis]):
            last = sub_p.bind(number(sizes.logical(shape[axis])), literal(1, INT32))
            x = take(x, sub_p.bind(last, _counted(x.aval.shape[axis])), axis)
    return sizes.fill(x, shape, 0)


# --- parts ---


@mask.rule(slice_p)
def _(
    args: Sequence[Value],
    shapes: Sequence[Dimensions],
    *,
    sizes: Sizes,
    start_indices: Dimensions,
    limit_indices: Dimensions,
    strides: tuple[int, ...] | None,
) -> Value:
    (x,), (shape,) = args, shapes
    return _sliced(x, shape, start_indices, limit_indices, strides or (1,) * len(shape), sizes)


def _sliced(
    x: Value, shape: Dimensions, starts: Sequence[int], limits: Sequence[int], steps: tuple[int, ...], sizes: Sizes
) -> Value:
    out = tuple([strided_size(limit - start, step) for start, limit, step in zip(starts, limits, steps)])
    moving = [axis for axis, start in enumerate(starts) if is_symbolic(start)]
    for axis in moving:
        x = _taken(x, sizes.logical(starts[axis]), sizes.padded(out[axis]), steps[axis], axis)
    own = x.aval.shape
    x = slice_p.bind(
        x,
        start_indices=tuple([0 if axis in moving else start for axis, start in enumerate(starts)]),
        limit_indices=tuple([own[axis] if axis in moving else sizes.padded(limits[axis]) for axis in range(len(own))]),
        strides=tuple([1 if axis in moving else step for axis, step in enumerate(steps)]),
    )
    return sizes.fill(x, out, 0) if moving else x


@mask.rule(split_p)
def _(
    args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes, axis: int, **params: Any
) -> Sequence[Value]:
    (x,), (shape,) = args, shapes
    parts, start = [], 0
    for size in params["sizes"]:
        starts, limits = [0] * len(shape), list(shape)
        starts[axis], limits[axis] = start, start + size
        parts.append(_sliced(x, shape, starts, limits, (1,) * len(shape), sizes))
        start = start + size
    return tuple(parts)


def _start(index: Value, size: object, window: object, sizes: Sizes) -> Array:
    """The position of a window, moved into what counts."""
    last = sub_p.bind(number(sizes.logical(size)), number(sizes.logical(window)))
    index = index if index.aval.dtype == INT32 else _as_int32(index)
    return clamp_p.bind(literal(0, INT32), index, last)


def _as_int32(index: Value) -> Array:
    from_dtype = index.aval.dtype
    wide = literal(2**31 - 1, from_dtype) if from_dtype.itemsize >= 4 and from_dtype != INT32 else None
    if wide is not None:
        index = clamp_p.bind(literal(0, from_dtype), index, wide)
    return convert_element_type_p.bind(index, new_dtype=INT32, weak_type=False)


@mask.rule(dynamic_slice_p)
def _(args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes, slice_sizes: Sequence[object]) -> Value:
    (x, *starts), shape = args, shapes[0]
    moving = [axis for axis, size in enumerate(shape) if is_symbolic(size)]
    for axis in moving:
        start = _start(starts[axis], shape[axis], slice_sizes[axis], sizes)
        x = _taken(x, start, sizes.padded(slice_sizes[axis]), 1, axis)
        starts[axis] = literal(0, starts[axis].aval.dtype)
    x = dynamic_slice_p.bind(x, *starts, slice_sizes=sizes.padded(tuple(slice_sizes)))
    return sizes.fill(x, slice_sizes, 0)


@mask.rule(dynamic_update_slice_p)
def _(args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes) -> Value:
    (x, update, *starts), (shape, window) = args, shapes[:2]
    if not any([is_symbolic(size) for size in (*shape, *window)]):
        return dynamic_update_slice_p.bind(x, update, *starts)
    within = None
    for axis, (size, part) in enumerate(zip(shape, window)):
        start = _start(starts[axis], size, part, sizes)
        places = sub_p.bind(_counted(x.aval.shape[axis]), start)
        inside = and_p.bind(ge_p.bind(places, literal(0, INT32)), lt_p.bind(places, number(sizes.logical(part))))
        inside = broadcast_in_dim_p.bind(inside, shape=x.aval.shape, broadcast_dimensions=(axis,))
        within = inside if within is None else and_p.bind(within, inside)
        update = take(update, places, axis)
    return select_n_p.bind(within, x, update) if within is not None else update


# --- joining ---


@mask.rule(concatenate_p)
def _(args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes, dimension: int) -> Value:
    extents = [shape[dimension] for shape in shapes]
    if not any([is_symbolic(size) for size in extents[:-1]]):
        return concatenate_p.bind(*args, dimension=dimension)
    # Each part is written over the padding of the one before.
    total = sum(extents)
    shape = (*shapes[0][:dimension], total, *shapes[0][dimension + 1 :])
    padded = sizes.padded(shape)
    zero, start = literal(0, INT32), 0
    out = broadcast_in_dim_p.bind(literal(0, args[0].aval.dtype), shape=padded, broadcast_dimensions=())
    for part, size in zip(args, extents):
        places: list[Value] = [zero] * len(padded)
        places[dimension] = number(sizes.logical(start))
        out = dynamic_update_slice_p.bind(out, part, *places)
        start = start + size
    return sizes.fill(out, shape, 0)


@mask.rule(pad_p)
def _(
    args: Sequence[Value], shapes: Sequence[Dimensions], *, sizes: Sizes, padding_config: tuple[tuple[int, ...], ...]
) -> Value:
    (x, value), (shape, _) = args, shapes
    if any([is_symbolic(part) for low, _, interior in padding_config for part in (low, interior)]):
        raise NotImplementedError(
            f"mask: padding before or between elements by a size that is masked, {padding_config}: pad at the end, or "
            "concatenate"
        )
    touched = [size if tuple(item) != (0, 0, 0) else 1 for size, item in zip(shape, padding_config)]
    if any([is_symbolic(size) for size in touched]):
        x = sizes.fill(x, shape, value)
    out = pad_p.bind(x, value, padding_config=sizes.padded(tuple([tuple(item) for item in padding_config])))
    logical = pad_p.infer((x.aval.update(shape=shape), value.aval), {"padding_config": padding_config})
    return sizes.fill(out, logical.shape, 0)


of_dimensions = RuleSet("mask", api=1)


@of_dimensions.rule(dimension_as_value_p)
def _(args: object, shapes: object, *, sizes: Sizes, dimension: SymbolicDimension, dtype: DType) -> Value:
    """Where a masked function computes with a size, it is the size that counts."""
    size = number(sizes.logical(dimension))
    return convert_element_type_p.bind(size, new_dtype=dtype, weak_type=True)
