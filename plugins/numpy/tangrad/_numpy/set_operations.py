"""Operations on arrays as sets: `tangrad.numpy.isin`, `union1d`, `intersect1d`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np

from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import full, ones, zeros
from tangrad._numpy.fusing import Fused, as_one
from tangrad._numpy.indexing import getitem
from tangrad._numpy.joining import concatenate
from tangrad._numpy.operands import (
    array_operand,
    broadcast,
    check_array_like,
    convert,
    promote,
)
from tangrad._numpy.operations import whole_arrays
from tangrad._numpy.reductions import any as any_of
from tangrad._numpy.searching import searchsorted
from tangrad._numpy.selection import nonzero, where
from tangrad._numpy.sets import check_known, first_ones, order_of, starts_of, unique, with_nan_last
from tangrad._numpy.shapes import expand_dims, ravel, reshaped
from tangrad.core import Array
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import and_p, eq_p, not_p, or_p, sort_p
from tangrad.typing import ArrayLike, Value


@as_one("assume_unique", "invert", "method", family=whole_arrays.name)
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Find which elements of an array are in another one.

    Args:
        element: an array.
        test_elements: the others.
        assume_unique: ignored.
        invert: whether to find those that are not.
        method: "auto", "compare_all", "binary_search", "sort": all give the same.

    Returns:
        A boolean array of the shape of `element`.

    Raises:
        TypeError: for what is no array.
        ValueError: `method` is unknown.

    >>> import tangrad
    >>> tangrad.numpy.isin(tangrad.numpy.array([1, 2]), tangrad.numpy.array([2, 3]))
    Array([False,  True], dtype=bool)
    """
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(f"isin: unknown method {method!r}")
    check_array_like("isin", element, test_elements)
    x, others = promote("isin", element, test_elements)
    x, others = array_operand("isin", x), ravel(array_operand("isin", others))
    if not others.aval.size or not x.aval.size:
        found = zeros(x.aval.shape, bool)
    elif method == "compare_all" or (not is_symbolic(others.aval.size) and others.aval.size <= 16):
        found = any_of(eq_p.bind(*_all_pairs(x, others)), axis=-1)
    else:
        (ordered,) = sort_p.bind(with_nan_last(others), dimension=0, is_stable=False, num_keys=1)
        places = searchsorted(ordered, x).clip(0, others.aval.size - 1)
        found = eq_p.bind(getitem(ordered, places), x)
    return not_p.bind(found) if invert else found


def _all_pairs(x: Array, others: Value) -> Sequence[Value]:
    wide = reshaped(others, (*(1,) * x.ndim, others.aval.size))
    return broadcast("isin", [expand_dims(x, x.ndim), wide])


# --- operations on sets ---


def _vectors(name: str, ar1: object, ar2: object) -> tuple[Array, Array]:
    check_array_like(name, ar1, ar2)
    first, second = [convert(x, x.aval.dtype) for x in promote(name, ar1, ar2)]  # the numbers in a set are strong
    return ravel(array_operand(name, first)), ravel(array_operand(name, second))


def union1d(ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """Find the elements of either array, in order.

    Args:
        ar1, ar2: arrays.
        size: how many to return; needed while a function is traced.
        fill_value: what fills up where there are fewer; None: the least element.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: for what is no array; ConcretizationTypeError where they are traced and `size` is not given.

    >>> import tangrad
    >>> tangrad.numpy.union1d(tangrad.numpy.array([1, 3]), tangrad.numpy.array([2, 3]))
    Array([1, 2, 3], dtype=int32)
    """
    return unique(concatenate(_vectors("union1d", ar1, ar2)), size=size, fill_value=fill_value)


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Find the elements of one array that are not in another, in order.

    Args:
        ar1, ar2: arrays.
        assume_unique: that the first holds no element twice: it is not sorted then.
        size: how many to return; needed while a function is traced.
        fill_value: what fills up where there are fewer; None: 0.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: for what is no array; ConcretizationTypeError where they are traced and `size` is not given.

    >>> import tangrad
    >>> tangrad.numpy.setdiff1d(tangrad.numpy.array([1, 2, 3]), tangrad.numpy.array([2]))
    Array([1, 3], dtype=int32)
    """
    check_array_like("setdiff1d", ar1, ar2)
    first, second = ravel(array_operand("setdiff1d", ar1)), ravel(array_operand("setdiff1d", ar2))
    if size is None:
        check_known("setdiff1d", first, second)
    if not first.aval.size:
        return full(size or 0, 0 if fill_value is None else fill_value, first.aval.dtype)
    if size is None:
        x = first if assume_unique else unique(first)
        return getitem(x, isin(x, second, invert=True))
    filling = asarray(0 if fill_value is None else fill_value, dtype=first.dtype)
    if assume_unique:
        return _selected(first, isin(first, second, invert=True), size, filling)
    x, starts = _sorted_starts(first)
    kept = and_p.bind(starts, isin(x, second, invert=True))
    return _selected(x, kept, size, filling)


def _sorted_starts(x: Value) -> tuple[Array, Array]:
    (ordered,) = sort_p.bind(with_nan_last(x), dimension=0, is_stable=True, num_keys=1)
    return ordered, starts_of(ordered, True)


def _selected(x: Value, mask: Value, size: int, fill_value: ArrayLike | None) -> Array:
    """The first elements under a mask, filled up with a value that may widen the dtype; None: zeros, which do not."""
    length = x.aval.shape[0]
    (places,) = nonzero(mask, size=size, fill_value=length)
    found = getitem(x, where(places >= length, 0, places))
    return where(places >= length, full((), 0, x.aval.dtype) if fill_value is None else fill_value, found)


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Find the elements that are in exactly one of two arrays, in order.

    Args:
        ar1, ar2: arrays.
        assume_unique: that neither holds an element twice.
        size: how many to return; needed while a function is traced.
        fill_value: what fills up where there are fewer, and may widen the dtype; None: the first of them.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: for what is no array; ConcretizationTypeError where they are traced and `size` is not given.

    >>> import tangrad
    >>> tangrad.numpy.setxor1d(tangrad.numpy.array([1, 2]), tangrad.numpy.array([2, 3]))
    Array([1, 3], dtype=int32)
    """
    first, second = _vectors("setxor1d", ar1, ar2)
    if size is None:
        check_known("setxor1d", first, second)
        first, second = unique(first), unique(second)
    x = concatenate([first, second])
    if not x.aval.size:
        return full(size or 0, 0 if fill_value is None else fill_value, x.aval.dtype)
    # A NaN is in neither of them by comparison: that of either array counts once, as every other element.
    new = ones(x.aval.shape, bool) if size is None else concatenate([first_ones(first), first_ones(second)])
    x, new = sort_p.bind(with_nan_last(x), new, dimension=0, is_stable=True, num_keys=1)
    alone = and_p.bind(new, or_p.bind(not_p.bind(isin(x, first)), not_p.bind(isin(x, second))))
    if size is None:
        return getitem(x, alone)
    found = _selected(x, alone, size, fill_value)
    return where(np.arange(size) < alone.sum(), found, found[0]) if size and fill_value is None else found


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: Literal[False] = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array: ...
@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    return_indices: Literal[True],
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, Array, Array]: ...
@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, Array, Array]: ...
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, Array, Array]:
    """Find the elements that are in both of two arrays, in order.

    Args:
        ar1, ar2: arrays.
        assume_unique: that neither holds an element twice.
        return_indices: whether to return where each is first, in either array.
        size: how many to return; needed while a function is traced.
        fill_value: what fills up where there are fewer, and may widen the dtype; None: the least of them, 0 of none.

    Returns:
        An array of one dimension, or a tuple of three.

    Raises:
        TypeError: for what is no array; ConcretizationTypeError where they are traced and `size` is not given.

    >>> import tangrad
    >>> tangrad.numpy.intersect1d(tangrad.numpy.array([1, 2, 3]), tangrad.numpy.array([2, 3, 4]))
    Array([2, 3], dtype=int32)
    """
    first, second = _vectors("intersect1d", ar1, ar2)
    if size is None:
        check_known("intersect1d", first, second)
    if not first.aval.size or not second.aval.size:
        return _nothing_common(first, second, size, fill_value, return_indices)
    order, x, common = _in_both(first, second)
    if size is None:
        values = getitem(x, common)
    else:
        nothing = full((), 0, x.aval.dtype)
        least = where(common.any(), getitem(x, common.argmax()), nothing) if fill_value is None else fill_value
        values = _selected(x, common, size, least)
    if not return_indices:
        return values
    place = getitem(order, common) if size is None else _selected(order, common, size, first.aval.size)
    other = order_of(second)
    found = getitem(other, searchsorted(getitem(second, other), values).clip(0, max(second.aval.size - 1, 0)))
    if size is not None:
        found = where(place >= first.aval.size, second.aval.size, found)
    return values, place, found


def _found_in_order(first: Value, second: Value) -> tuple[Array, Array, Array]:
    """The positions that sort the first vector, it sorted, and which of that are new and in the second one, too."""
    order = order_of(first)
    x = getitem(first, order)
    return order, x, and_p.bind(starts_of(x, True), isin(x, second))


_in_both = Fused("intersect1d", _found_in_order, multiple_results=True)


def _nothing_common(
    first: Array, second: Array, size: int | None, fill_value: ArrayLike | None, return_indices: bool
) -> Array | tuple[Array, Array, Array]:
    """The intersection with an empty array."""
    values = full(size or 0, 0 if fill_value is None else fill_value, first.aval.dtype)
    if not return_indices:
        return values
    return values, full(size or 0, first.aval.size, int), full(size or 0, second.aval.size, int)
