"""Elements by their positions: `tangrad.numpy.take`, `take_along_axis`, `put`, `place`, …"""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._numpy.at import at
from tangrad._numpy.axes import moveaxis
from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import zeros
from tangrad._numpy.fusing import as_one
from tangrad._numpy.index_parsing import from_front, wrapped
from tangrad._numpy.indexing import filling, gathered, getitem, parsed_mode, take_index
from tangrad._numpy.operands import (
    INT32,
    array_operand,
    broadcast_to_shape,
    canonical_axis,
    check_array_like,
    convert,
    refuse_out,
    select,
)
from tangrad._numpy.selection import clip
from tangrad._numpy.shapes import expand_dims, ravel, reshaped
from tangrad.core import EVAL_TRACE, Array, Literal, concrete_or_error, dtypes, is_concrete, thread
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import GatherDimensionNumbers, GatherScatterMode, broadcast_in_dim_p, iota_p
from tangrad.typing import ArrayLike, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["put"], True)

_FILL = GatherScatterMode.FILL_OR_DROP


def integer_operand(name: str, indices: object, position: int = 1) -> Array:
    """An array of integers. Raises TypeError for one of other numbers."""
    x = array_operand(name, indices, position)
    if not dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError(f"{name}: indices must be integers, got dtype {dtypes.dtype_name(x.dtype)}")
    return x


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Take the slices of an array at positions along an axis.

    Args:
        a: an array.
        indices: an integer array or number; negative ones count from the end.
        axis: the axis; None: of the array as one dimension.
        out: must be None.
        mode: what positions out of bounds give: "fill" (None): `fill_value`; "clip": the nearest; "wrap": counted on.
        unique_indices, indices_are_sorted: what the caller promises, to make it faster.
        fill_value: None: NaN, for integers the least (of unsigned ones the greatest), for booleans True.

    Returns:
        An array with the dimensions of `indices` in the place of the axis.

    Raises:
        TypeError: for what is no array, and indices that are no integers.
        ValueError: the axis is out of bounds, or `mode` is unknown.
        IndexError: the axis is empty, and the indices are not.
        NotImplementedError: for the mode "raise".

    >>> import tangrad
    >>> tangrad.numpy.take(tangrad.numpy.array([10, 20, 30]), tangrad.numpy.array([2, 0]))
    Array([30, 10], dtype=int32)
    """
    aval = a.aval if isinstance(a, Array) else None
    if type(indices) is int and aval is not None and len(aval.shape) == 1 and axis in (None, 0) and mode is None:
        size = aval.shape[0]
        if out is None and not is_symbolic(size) and -size <= indices < size and thread.trace is EVAL_TRACE:
            return getitem(a, indices)  # within bounds it is no more than that
    return _take(a, indices, axis, out, mode, unique_indices, indices_are_sorted, fill_value)


@as_one("axis", "out", "mode", "unique_indices", "indices_are_sorted", name="take")
def _take(
    a: object,
    indices: ArrayLike,
    axis: int | None,
    out: None,
    mode: object,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: object,
) -> Array:
    refuse_out("take", out)
    check_array_like("take", a, indices)
    x = array_operand("take", a)
    if axis is None:
        x, axis = ravel(x), 0
    dimension = canonical_axis("take", axis, x.ndim)
    positions = array_operand("take", indices, 1)
    positions = convert(positions, INT32) if positions.dtype == np.bool_ else integer_operand("take", positions)
    if mode == "raise":
        raise NotImplementedError("take: mode 'raise' is not supported: a compiled program cannot raise")
    chosen = _FILL if mode is None else parsed_mode(mode)
    if mode == "clip":
        positions = clip(positions, 0, max(x.aval.shape[dimension] - 1, 0))
    if 0 in positions.aval.shape:
        shape = x.aval.shape
        return zeros((*shape[:dimension], *positions.aval.shape, *shape[dimension + 1 :]), x.aval.dtype)
    if x.aval.shape[dimension] == 0:
        raise IndexError(f"take: there is nothing to take along axis {dimension} of the shape {x.aval.shape}")
    index = (slice(None),) * dimension + (positions,)
    return take_index(x, index, chosen, fill_value, indices_are_sorted, unique_indices)


@as_one("axis", "mode", "wrap_negative_indices")
def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """Take elements at positions along an axis, with positions of their own for each vector.

    Args:
        arr: an array.
        indices: an integer array of as many dimensions, broadcast against it along the others.
        axis: the axis; None: of the array as one dimension.
        mode: what positions out of bounds give: "fill" (None): `fill_value`; "clip"; "promise_in_bounds"; or "one_hot",
            which compares with all positions instead of gathering, and gives 0.
        fill_value: None: NaN, for integers the least (of unsigned ones the greatest), for booleans True.
        wrap_negative_indices: whether negative positions count from the end; default True.

    Returns:
        An array of the shape of `indices`, broadcast.

    Raises:
        TypeError: for what is no array, and indices that are no integers.
        ValueError: for numbers of dimensions that differ, shapes that do not fit, or an axis out of bounds.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.take_along_axis(np.array([[1, 2], [3, 4]]), np.array([[1], [0]]), axis=1)
    Array([[2],
           [3]], dtype=int32)
    """
    check_array_like("take_along_axis", arr, indices)
    x, positions = array_operand("take_along_axis", arr), integer_operand("take_along_axis", indices)
    if axis is None:
        if positions.ndim != 1:
            raise ValueError(f"take_along_axis: without an axis indices must have one dimension, got {positions.ndim}")
        x, axis = ravel(x), 0
    _check_ranks("take_along_axis", x, positions)
    dimension = canonical_axis("take_along_axis", axis, x.ndim)
    x, positions = _matched(x, positions, dimension)
    by_comparison = mode == "one_hot"
    chosen = _FILL if mode is None or by_comparison else parsed_mode(mode)
    size = x.aval.shape[dimension]
    if 0 in positions.aval.shape:
        return zeros(positions.aval.shape, x.aval.dtype)
    places = from_front(positions, size, wrap_negative_indices is not False)
    if by_comparison:
        return _compared_along(x, places, dimension)
    if chosen == "wrap":
        places, chosen = wrapped(places, size), GatherScatterMode.PROMISE_IN_BOUNDS
    return _gather_along(x, places, dimension, chosen, fill_value)


def _check_ranks(name: str, x: Value, positions: Value) -> None:
    if x.ndim != positions.ndim:
        shapes = f"{x.aval.shape} and {positions.aval.shape}"
        raise ValueError(f"{name}: arr and indices must have as many dimensions, got shapes {shapes}")


def _matched(x: Value, positions: Value, axis: int) -> tuple[Any, Any]:
    """Both broadcast to one shape along the other axes."""
    own, other = x.aval.shape, positions.aval.shape
    common = []
    for place, (a, b) in enumerate(zip(own, other)):
        if place != axis and a != b and a != 1 and b != 1:
            raise ValueError(f"take_along_axis: shapes {own} and {other} do not fit outside of axis {axis}")
        common.append(b if a == 1 else a)
    to = tuple([own[axis] if place == axis else size for place, size in enumerate(common)])
    index_to = tuple([other[axis] if place == axis else size for place, size in enumerate(common)])
    return broadcast_to_shape(x, to), broadcast_to_shape(positions, index_to)


def _compared_along(x: Value, places: Array | Literal, axis: int) -> Array:
    """The elements found without a gather: of all those of the axis, the one whose place is asked for; 0 if none is."""
    last = x.ndim
    wide = expand_dims(moveaxis(x, axis, -1), axis)
    numbers = iota_p.bind(dtype=places.aval.dtype, shape=(x.aval.shape[axis],), dimension=0)
    found = expand_dims(places, last) == numbers
    chosen = select(found, broadcast_to_shape(wide, found.aval.shape), asarray(0, dtype=x.aval.dtype))
    return chosen.any(last) if x.aval.dtype == np.bool_ else chosen.sum(last, dtype=x.aval.dtype)


def _gather_along(x: Value, places: Value, axis: int, mode: object, fill_value: object) -> Array:
    shape = places.aval.shape
    rank = len(shape)
    others = tuple([place for place in range(rank) if place != axis])
    numbers = GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
    )
    vectors = broadcast_in_dim_p.bind(places, shape=(*shape, 1), broadcast_dimensions=tuple(range(rank)))
    params = {
        "dimension_numbers": numbers,
        "slice_sizes": (1,) * rank,
        "indices_are_sorted": False,
        "unique_indices": False,
        "mode": mode,
    }
    return gathered(x, vectors, filling(fill_value, x.aval.dtype) if mode is _FILL else None, params)


# --- changed copies ---


def _refuse_in_place(name: str, inplace: bool) -> None:
    if inplace:
        raise NotImplementedError(f"{name}: arrays are immutable; pass inplace=False to get a changed copy")


def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True) -> Array:
    """Return a copy of an array with elements replaced, at positions in the array as one dimension.

    Args:
        a: an array.
        ind: integers.
        v: values, repeated as often as needed.
        mode: for positions out of bounds: "clip" (None) or "wrap".
        inplace: must be False: arrays are immutable.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array.
        ValueError: `mode` is unknown.
        NotImplementedError: `inplace` is not False.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.put(np.zeros(3), np.array([0, 2]), 1.0, inplace=False)
    Array([1., 0., 1.], dtype=float32)
    """
    _refuse_in_place("put", inplace)
    check_array_like("put", a, ind, v)
    x, places, values = array_operand("put", a), ravel(integer_operand("put", ind)), ravel(asarray(v))
    count, available = places.aval.size, values.aval.size
    if not x.aval.size or not count or not available:
        return x
    if available != count:
        values = getitem(values, np.arange(count) % available)
    size = x.aval.size
    if mode in (None, "clip"):
        places = clip(from_front(places, size), 0, size - 1)
    elif mode == "wrap":
        places = wrapped(convert(places, INT32), size)
    else:
        raise ValueError(f"put: mode must be 'clip' or 'wrap', got {mode!r}")
    return reshaped(at(ravel(x))[places].set(values, mode="drop"), x.aval.shape)


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """Return a copy of an array with elements replaced, at positions along an axis of their own for each vector.

    Args:
        arr: an array.
        indices: an integer array of as many dimensions, broadcast against it along the others.
        values: what to put there, broadcast to the shape of `indices`.
        axis: the axis; None: of the array as one dimension.
        inplace: must be False: arrays are immutable.
        mode: for positions out of bounds, as of `x.at[]`; default "drop".

    Returns:
        An array.

    Raises:
        TypeError: for what is no array.
        ValueError: for numbers of dimensions that differ, shapes that do not fit, or an axis out of bounds.
        NotImplementedError: `inplace` is not False.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.put_along_axis(np.zeros((2, 2)), np.array([[1], [0]]), 9.0, 1, inplace=False)
    Array([[0., 9.],
           [9., 0.]], dtype=float32)
    """
    _refuse_in_place("put_along_axis", inplace)
    check_array_like("put_along_axis", arr, indices, values)
    x, positions = array_operand("put_along_axis", arr), integer_operand("put_along_axis", indices)
    shape = x.aval.shape
    if axis is None:
        x, axis = ravel(x), 0
    _check_ranks("put_along_axis", x, positions)
    dimension = canonical_axis("put_along_axis", axis, x.ndim)
    _, positions = _matched(x, positions, dimension)
    index = [
        positions if place == dimension else iota_p.bind(dtype=INT32, shape=positions.aval.shape, dimension=place)
        for place in range(x.ndim)
    ]
    return reshaped(at(x)[tuple(index)].set(values, mode=mode), shape)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """Return a copy of an array with the elements under a mask replaced by the first values, repeated if they are few.

    Args:
        arr: an array.
        mask: a boolean array with as many elements.
        vals: the values.
        inplace: must be False: arrays are immutable.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array.
        ValueError: for sizes that differ, or no values for a mask that holds somewhere.
        NotImplementedError: `inplace` is not False.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.place(np.zeros(3), np.array([True, False, True]), np.array([1.0, 2.0]), inplace=False)
    Array([1., 0., 2.], dtype=float32)
    """
    _refuse_in_place("place", inplace)
    check_array_like("place", arr, mask, vals)
    x, chosen, values = array_operand("place", arr), ravel(asarray(mask)), ravel(asarray(vals))
    if x.aval.size != chosen.aval.size:
        raise ValueError(f"place: arr and mask must have as many elements, got {x.aval.size} and {chosen.aval.size}")
    if not values.aval.size:
        if is_concrete(chosen) and not np.any(np.asarray(concrete_or_error(chosen))):
            return x
        raise ValueError("place: there are no values to place")
    chosen = chosen.astype(bool)
    number = chosen.cumsum() - 1
    values = getitem(values.astype(x.dtype), number % values.aval.size)
    return reshaped(select(chosen, values, ravel(x)), x.aval.shape)
