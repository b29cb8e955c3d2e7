"""Sorting: `tangrad.numpy.sort`, `argsort`, `lexsort`, `partition`, …"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tangrad._numpy.fusing import as_one
from tangrad._numpy.indexing import getitem
from tangrad._numpy.operands import array_operand, canonical_axis, check_array_like, convert, index_argument, user_dtype
from tangrad._numpy.shapes import ravel
from tangrad.core import Array, as_array, dtypes
from tangrad.extend.lax import iota_p, neg_p, not_p, rev_p, sort_p
from tangrad.extend.lax import top_k as largest
from tangrad.typing import ArrayLike, DType, DTypeLike, Value


def _prepared(name: str, a: object, axis: int | None, kind: object, order: object) -> tuple[Array, int]:
    if kind is not None:
        raise TypeError(f"{name}: the argument kind has no meaning here; stable=True keeps the order of equal elements")
    if order is not None:
        raise TypeError(f"{name}: the argument order is for records, which arrays do not hold")
    x = array_operand(name, a)
    if axis is None:
        return ravel(x), 0
    return x, canonical_axis(name, axis, x.ndim)


def _reversed(x: Value, axis: int) -> Array:
    return rev_p.bind(x, dimensions=(axis,))


@as_one("axis", "kind", "order", "stable", "descending")
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """Sort the elements along an axis; NaN comes last.

    Args:
        a: an array.
        axis: the axis; None: of the array as one dimension.
        kind, order: must be None.
        stable: whether equal elements keep their order.
        descending: whether the greatest comes first.

    Returns:
        An array of the dtype of `a`.

    Raises:
        TypeError: `a` is no array.
        ValueError: the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.sort(tangrad.numpy.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    x, dimension = _prepared("sort", a, axis, kind, order)
    (result,) = sort_p.bind(x, dimension=dimension, is_stable=bool(stable), num_keys=1)
    return _reversed(result, dimension) if descending else result


def _positions(x: Value, axis: int, dtype: DType) -> Array:
    return iota_p.bind(dtype=dtype, shape=x.aval.shape, dimension=axis)


@as_one("axis", "kind", "order", "stable", "descending", "dtype")
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """Find the positions that sort the elements along an axis; NaN comes last.

    Args:
        a: an array.
        axis: the axis; None: of the array as one dimension.
        kind, order: must be None.
        stable: whether equal elements keep their order.
        descending: whether the greatest comes first.
        dtype: the integer dtype of the result; None: the default one.

    Returns:
        An integer array.

    Raises:
        TypeError: `a` is no array.
        ValueError: the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.argsort(tangrad.numpy.array([3, 1, 2]))
    Array([1, 2, 0], dtype=int32)
    """
    x, dimension = _prepared("argsort", a, axis, kind, order)
    wanted = dtypes.default_int_dtype() if dtype is None else user_dtype("argsort", dtype)
    if not dtypes.issubdtype(wanted, np.integer):
        raise TypeError(f"argsort: dtype must be of integers, got {dtypes.dtype_name(wanted)}")
    positions = _positions(x, dimension, wanted)
    if not descending:
        return sort_p.bind(x, positions, dimension=dimension, is_stable=bool(stable), num_keys=1)[1]
    # Sorted from the other end, equal elements still keep their order.
    backwards = _reversed(x, dimension), _reversed(positions, dimension)
    found = sort_p.bind(*backwards, dimension=dimension, is_stable=bool(stable), num_keys=1)[1]
    return _reversed(found, dimension)


@as_one("axis", sequence="keys")
def lexsort(keys: Array | Sequence[ArrayLike], axis: int = -1) -> Array:
    """Find the positions that sort by several keys, the last of which counts most.

    Args:
        keys: a sequence of arrays of one shape, or an array whose first dimension is that sequence.
        axis: the axis.

    Returns:
        An integer array.

    Raises:
        TypeError: for what is no array, or no sequence.
        ValueError: for shapes that differ, or an axis out of bounds.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.lexsort((np.array([1, 0, 2]), np.array([1, 1, 0])))
    Array([2, 1, 0], dtype=int32)
    """
    parts = [getitem(keys, i) for i in range(len(keys))] if isinstance(keys, Array) else list(keys)
    if not parts:
        raise TypeError("lexsort requires at least one key")
    check_array_like("lexsort", *parts)
    made = [array_operand("lexsort", part, position) for position, part in enumerate(parts)]
    shapes = {x.aval.shape for x in made}
    if len(shapes) > 1:
        raise ValueError(f"lexsort: keys must have one shape, got {', '.join(map(str, shapes))}")
    if not made[0].ndim:
        return convert(array_operand("lexsort", 0), dtypes.default_int_dtype())
    dimension = canonical_axis("lexsort", axis, made[0].ndim)
    positions = _positions(made[0], dimension, dtypes.default_int_dtype())
    found = sort_p.bind(*made[::-1], positions, dimension=dimension, is_stable=True, num_keys=len(made))
    return found[-1]


def _checked_kth(name: str, x: Array, kth: object, axis: int) -> None:
    size = x.aval.shape[axis]
    position = index_argument(name, kth, "kth")
    if not -size <= position < size:
        raise ValueError(f"{name}: kth {kth} is out of bounds for axis {axis} of shape {x.aval.shape}")


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Arrange elements so that one of them stands where sorting would put it, smaller ones before, greater ones after.

    Args:
        a: an array.
        kth: which position.
        axis: the axis.

    Returns:
        An array of the shape of `a`.

    Raises:
        TypeError: `a` is no array, `kth` no integer.
        ValueError: the axis or the position is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.partition(tangrad.numpy.array([3, 1, 2]), 1)
    Array([1, 2, 3], dtype=int32)
    """
    x, dimension = _prepared("partition", a, axis, None, None)
    _checked_kth("partition", x, kth, dimension)
    return sort(x, dimension)


def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Find the positions that arrange elements as `partition` does.

    Args:
        a: an array.
        kth: which position.
        axis: the axis.

    Returns:
        An integer array of the shape of `a`.

    Raises:
        TypeError: `a` is no array, `kth` no integer.
        ValueError: the axis or the position is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.argpartition(tangrad.numpy.array([3, 1, 2]), 1)
    Array([1, 2, 0], dtype=int32)
    """
    x, dimension = _prepared("argpartition", a, axis, None, None)
    _checked_kth("argpartition", x, kth, dimension)
    return argsort(x, dimension, dtype="int32")


def sort_complex(a: ArrayLike) -> Array:
    """Sort along the last axis, as complex numbers: by real part, then imaginary.

    Args:
        a: an array.

    Returns:
        A complex array.

    Raises:
        TypeError: `a` is no array.

    >>> import tangrad
    >>> tangrad.numpy.sort_complex(tangrad.numpy.array([2, 1]))
    Array([1.+0.j, 2.+0.j], dtype=complex64)
    """
    x = sort(a)
    return convert(x, dtypes.to_complex_dtype(x.dtype))


def top_k(
    a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> tuple[Array, Array]:
    """Find the greatest, or the least, elements along an axis, and where they are.

    Args:
        a: an array, boolean, integer or floating. NaN counts as greater than any number.
        k: how many, at most the size of the axis.
        axis: the axis.
        mode: "largest" or "smallest".
        sorted: they are in order whether it is True or False.

    Returns:
        The elements, and their positions along the axis; of equal elements the first one comes first.

    Raises:
        TypeError: `a` is no array; `k` or the axis is no integer.
        ValueError: `a` is complex, `mode` is another word, the axis or `k` is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.top_k(tangrad.numpy.array([3, 1, 2]), 2)
    (Array([3, 2], dtype=int32), Array([0, 2], dtype=int32))
    >>> tangrad.numpy.top_k(tangrad.numpy.array([3, 1, 2]), 2, mode="smallest")
    (Array([1, 2], dtype=int32), Array([1, 2], dtype=int32))
    """
    x = array_operand("top_k", a)
    if dtypes.issubdtype(x.aval.dtype, np.complexfloating):
        raise ValueError(f"top_k: a must be ordered, and complex numbers are not, got {x.aval.str_short()}")
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', got {mode!r}")
    dimension = canonical_axis("top_k", axis, x.ndim)
    if mode == "largest":
        return largest(x, k, axis=dimension)
    values, positions = largest(_in_reverse_order(x), k, axis=dimension)
    return as_array(_in_reverse_order(values)), positions


def _in_reverse_order(x: Array) -> Array:
    """Values that are ordered the other way round, and of which it makes the first again."""
    return neg_p.bind(x) if dtypes.issubdtype(x.aval.dtype, np.floating) else not_p.bind(x)
