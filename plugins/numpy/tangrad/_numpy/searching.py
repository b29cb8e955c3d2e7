"""Positions of elements: `tangrad.numpy.unravel_index`, `searchsorted`, `digitize`, `bincount`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tangrad._numpy.at import at
from tangrad._numpy.conversion import asarray
from tangrad._numpy.fusing import as_one
from tangrad._numpy.index_parsing import wrapped
from tangrad._numpy.indexing import getitem
from tangrad._numpy.new_arrays import array_of, contents_on_host
from tangrad._numpy.operands import (
    INT32,
    array_operand,
    canonical_shape,
    check_array_like,
    convert,
    index_argument,
    is_array_like,
    literal_like,
    not_array_like,
    promote,
    select,
    user_dtype,
)
from tangrad._numpy.operations import numerical
from tangrad._numpy.selection import clip, where
from tangrad._numpy.settings import check_dtypes
from tangrad._numpy.taking import integer_operand
from tangrad._numpy.tiling import flip
from tangrad.core import Array, concrete_or_error, dtypes, literal
from tangrad.extend.lax import broadcast_in_dim_p, search_sorted_p, sharded_call
from tangrad.typing import ArrayLike, DTypeLike, Shape, ShardingLike, Value

# --- Positions in one and in several dimensions: `tangrad.numpy.unravel_index`, `ravel_multi_index` ---


# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["bincount", "unravel_index"], True)


@as_one("shape", several=True, family=numerical.name)
def unravel_index(indices: ArrayLike, shape: Shape) -> tuple[Array, ...]:
    """Turn positions in an array as one dimension into positions along each dimension.

    Args:
        indices: integers; those out of bounds are clamped, negative ones count from the end.
        shape: of the array.

    Returns:
        An integer array for each dimension.

    Raises:
        TypeError: for what is no integers.

    >>> import tangrad
    >>> tangrad.numpy.unravel_index(tangrad.numpy.array([1, 5]), (2, 3))
    (Array([0, 1], dtype=int32), Array([1, 2], dtype=int32))
    """
    positions = integer_operand("unravel_index", indices, 0)
    sizes = canonical_shape("unravel_index", shape)
    own = positions.dtype
    if dtypes.bit_width(own) < 32:  # the sizes may not fit it
        positions = convert(positions, INT32)
    results = []
    for size in reversed(sizes):
        positions, rest = divmod(positions, size)
        results.append((size, rest))
    # What is left shows which were out of bounds: nothing is, but for those (from the end: -1 is).
    beyond = positions > 0
    before = None if dtypes.issubdtype(positions.dtype, np.unsignedinteger) else positions < -1
    found = []
    for size, rest in reversed(results):
        known = rest if before is None else select(before, literal_like(rest, 0), rest)
        within = select(beyond, literal_like(rest, size - 1), known)
        found.append(within if within.dtype == own else convert(within, own))
    return tuple(found)


def ravel_multi_index(
    multi_index: Sequence[object],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Turn positions along each dimension into positions in the array as one dimension.

    Args:
        multi_index: an integer array for each dimension.
        dims: the shape.
        mode: what positions out of bounds do: "raise" an error (they must be known), "wrap", "clip"; or "ignore" them.
        order: "C": the last dimension varies first; "F": the first one does.
        dtype: the dtype of the result; None: that in which the indices meet.

    Returns:
        An integer array.

    Raises:
        TypeError: for what is no integers.
        ValueError: for numbers of dimensions that differ, unknown modes, and with "raise" positions out of bounds.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.ravel_multi_index((np.array([0, 1]), np.array([1, 2])), (2, 3))
    Array([1, 5], dtype=int32)
    """
    sizes = canonical_shape("ravel_multi_index", dims, "dims")
    if len(sizes) != len(multi_index):
        raise ValueError(
            f"ravel_multi_index: {len(multi_index)} arrays of positions do not fit {len(sizes)} dimensions"
        )
    parts = [integer_operand("ravel_multi_index", part, position) for position, part in enumerate(multi_index)]
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order must be 'C' or 'F', got {order!r}")
    wanted = dtypes.result_type(0, *parts) if dtype is None else user_dtype("ravel_multi_index", dtype)
    if not dtypes.issubdtype(wanted, np.integer):
        raise ValueError(f"ravel_multi_index: dtype must be of integers, got {dtypes.dtype_name(wanted)}")
    if int(np.prod(sizes, dtype=np.int64)) - 1 > dtypes.iinfo(wanted).max:
        raise ValueError(
            f"ravel_multi_index: {dtypes.dtype_name(wanted)} does not hold all positions of dims {sizes}; "
            "give a wider dtype"
        )
    strides = np.cumprod([1, *sizes[::-1]])[:-1][::-1] if order == "C" else np.cumprod([1, *sizes])[:-1]
    result: Value = literal(0, wanted)
    for part, size, stride in zip(parts, sizes, strides):
        result = result + convert(_within(part, int(size), mode), wanted) * int(stride)
    return asarray(result, dtype=wanted)


def _within(part: Value, size: int, mode: str) -> Value:
    if mode == "ignore":
        return part
    if mode == "clip":
        return clip(part, 0, size - 1)
    if mode == "wrap":
        return wrapped(convert(part, INT32), size)
    if mode != "raise":
        raise ValueError(f"ravel_multi_index: mode must be 'raise', 'clip', 'wrap' or 'ignore', got {mode!r}")
    known = np.asarray(concrete_or_error(part, "ravel_multi_index with mode='raise'"))
    if np.any(known < 0) or np.any(known >= size):
        raise ValueError(
            f"ravel_multi_index: positions must be from 0 to {size - 1}; mode='clip' or 'wrap' moves them there"
        )
    return part


# --- Places in sorted arrays, and counts: `tangrad.numpy.searchsorted`, `digitize`, `bincount` ---


# Of what transfer guards ask: these bring numbers of their own.

_METHODS = ("default", "scan", "scan_unrolled", "sort", "compare_all")


@as_one("side", "method")
def searchsorted(
    a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None, *, method: str = "scan"
) -> Array:
    """Find where values go in a sorted vector so that it stays sorted.

    Args:
        a: an array of one dimension, sorted, or sorted by `sorter`.
        v: the values.
        side: before ("left") or after ("right") equal elements.
        sorter: the positions that sort `a`.
        method: "default", "scan", "scan_unrolled", "sort", "compare_all": for JAX's users; all give the same.

    Returns:
        An integer array of the shape of `v`.

    Raises:
        TypeError: for what is no array.
        ValueError: `a` has another number of dimensions, `side` or `method` is unknown.

    >>> import tangrad
    >>> tangrad.numpy.searchsorted(tangrad.numpy.array([1, 3, 5]), tangrad.numpy.array([0, 3, 9]))
    Array([0, 1, 3], dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    if method not in _METHODS:
        raise ValueError(f"searchsorted: unknown method {method!r}; expected one of {_METHODS}")
    check_array_like("searchsorted", a, v)
    keys, values = promote("searchsorted", a, v)
    keys, values = array_operand("searchsorted", keys), array_operand("searchsorted", values)
    if keys.ndim != 1:
        raise ValueError(f"searchsorted: a must have one dimension, got shape {keys.aval.shape}")
    if sorter is not None:
        keys = getitem(keys, array_operand("searchsorted", sorter))
    wide = isinstance(keys.aval.size, int) and keys.aval.size > np.iinfo(np.int32).max
    return search_sorted_p.bind(keys, values, side=side, dtype=dtypes.default_int_dtype() if wide else INT32)


@as_one("right", "method")
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None) -> Array:
    """Find the interval of each value.

    Args:
        x: the values.
        bins: the boundaries, increasing or decreasing.
        right: whether an interval holds its right boundary instead of its left one.
        method: as of `searchsorted`.

    Returns:
        An integer array of the shape of `x`: 0 before the first boundary, and the number of boundaries after the last.

    Raises:
        TypeError: for what is no array.
        ValueError: `bins` has another number of dimensions.

    >>> import tangrad
    >>> tangrad.numpy.digitize(tangrad.numpy.array([0.5, 2.5]), tangrad.numpy.array([0.0, 1.0, 2.0]))
    Array([1, 3], dtype=int32)
    """
    check_array_like("digitize", x, bins)
    check_dtypes("digitize", x, bins)
    edges, how = array_operand("digitize", bins, 1), method or "scan"
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins must have one dimension, got shape {edges.aval.shape}")
    side = "left" if right else "right"
    size = edges.aval.shape[0]
    if not size:
        return searchsorted(edges, x, side, method=how)
    increases = edges[-1] >= edges[0]
    found = searchsorted(where(increases, edges, flip(edges)), x, side, method=how)
    return where(increases, found, size - found)


def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Count how often each integer occurs.

    Args:
        x: an integer array of one dimension; negative ones count as 0.
        weights: what each occurrence adds; None: 1.
        minlength: the least length of the result.
        length: its length, needed while a function is traced: greater integers are left out.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of one dimension, of integers or of the dtype of `weights`.

    Raises:
        TypeError: `x` is not of integers; ConcretizationTypeError where it is traced and `length` is not given.
        ValueError: for other numbers of dimensions, weights of another shape, negative lengths.

    >>> import tangrad
    >>> tangrad.numpy.bincount(tangrad.numpy.array([0, 2, 2]))
    Array([1, 0, 2], dtype=int32)
    """
    if out_sharding is not None:
        return sharded_call(out_sharding, bincount, x, weights, minlength, length=length)
    numbers = array_operand("bincount", x)
    if not dtypes.issubdtype(numbers.dtype, np.integer) and numbers.dtype != np.bool_:
        raise TypeError(f"bincount requires integers, got dtype {dtypes.dtype_name(numbers.dtype)}")
    if numbers.ndim != 1:
        raise ValueError(f"bincount requires one dimension, got shape {numbers.aval.shape}")
    least = index_argument("bincount", minlength, "minlength")
    if least < 0:
        raise ValueError(f"bincount: minlength must not be negative, got {minlength}")
    if length is None:
        contents = contents_on_host(numbers) if weights is None else None
        if contents is not None:
            counts = np.bincount(np.maximum(contents, 0).astype(np.intp), minlength=least)
            return array_of(counts.astype(dtypes.default_int_dtype()))
        known = np.asarray(concrete_or_error(numbers, "the number of results of bincount, which length= would fix"))
        count = max(least, int(known.max()) + 1 if known.size else 0)
    else:
        count = index_argument("bincount", length, "length")
        if count < 0:
            raise ValueError(f"bincount: length must not be negative, got {length}")
    return _counted(numbers, weights, count)


def _counted(numbers: Value, weights: object, count: int) -> Array:
    if weights is None:
        added: Value = literal(1, dtypes.default_int_dtype())
    else:
        if not is_array_like(weights):
            raise TypeError(not_array_like("bincount", weights, 1))
        added = asarray(weights)
        if added.aval.shape != numbers.aval.shape:
            raise ValueError(
                f"bincount: weights must have the shape of x, {numbers.aval.shape}, got {added.aval.shape}"
            )
    zeros = broadcast_in_dim_p.bind(literal(0, added.aval.dtype), shape=(count,), broadcast_dimensions=())
    if not count:
        return zeros
    places = clip(numbers.astype(INT32) if numbers.dtype == np.bool_ else numbers, 0)
    return at(zeros)[places].add(added, mode="drop")
