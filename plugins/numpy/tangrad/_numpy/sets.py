"""Arrays as sets: `tangrad.numpy.unique`, `isin`, `union1d`, …

How many elements a set has depends on its contents, so these need known arrays, or a `size` for the result.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from tangrad._numpy.at import at
from tangrad._numpy.axes import moveaxis
from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import full, ones, zeros
from tangrad._numpy.fusing import Fused, as_one
from tangrad._numpy.indexing import getitem
from tangrad._numpy.joining import concatenate
from tangrad._numpy.on_host import contents_on_host, unique_on_host
from tangrad._numpy.operands import (
    INT32,
    array_operand,
    broadcast,
    canonical_axis,
    check_array_like,
    convert,
    index_argument,
    promote,
)
from tangrad._numpy.operations import whole_arrays
from tangrad._numpy.reductions import any as any_of
from tangrad._numpy.searching import searchsorted
from tangrad._numpy.selection import nonzero, where
from tangrad._numpy.set_orders import first_ones, order_of, starts_of
from tangrad._numpy.shapes import expand_dims, ravel, reshaped
from tangrad.core import Array, concrete_or_error, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import and_p, eq_p, not_p, or_p, size_operand, sort_p
from tangrad.typing import ArrayLike

_UniqueAll = namedtuple("_UniqueAll", ("values", "indices", "inverse_indices", "counts"))
_UniqueCounts = namedtuple("_UniqueCounts", ("values", "counts"))
_UniqueInverse = namedtuple("_UniqueInverse", ("values", "inverse_indices"))
COPIES_FROM_HOST = {"unique": True}  # transfer guards ask it

# --- unique --------------------------------------------------------------------------------------------------------


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Any:
    """Find the different elements of an array, in order.

    Args:
        ar: an array.
        return_index: whether to return where each occurs first.
        return_inverse: whether to return the positions that make the array of the different elements.
        return_counts: whether to return how often each occurs.
        axis: slices along which axis are compared; None: elements.
        equal_nan: whether NaN equals NaN.
        size: how many to return; needed while a function is traced.
        fill_value: what fills up where there are fewer; None: the least element.
        sorted: ignored: they are.

    Returns:
        An array, or a tuple of arrays.

    Raises:
        TypeError: for what is no array; ConcretizationTypeError where it is traced and `size` is not given.
        ValueError: the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.unique(tangrad.numpy.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    x = array_operand("unique", ar)
    if size is None:
        _check_known("unique", x)
    shape = x.aval.shape
    if axis is None:
        rows, dimension = ravel(x), 0
    else:
        dimension = canonical_axis("unique", axis, x.ndim)
        rows = moveaxis(x, dimension, 0)
    count = None if size is None else index_argument("unique", size, "size")
    wanted = bool(return_index), bool(return_inverse), bool(return_counts)
    values, first, inverse, counts = _unique_rows(rows, count, fill_value, equal_nan, wanted)
    values = values if axis is None else moveaxis(values, 0, dimension)
    inverse = reshaped(inverse, shape) if axis is None and return_inverse else inverse
    results = [values]
    results += [first] if return_index else []
    results += [inverse] if return_inverse else []
    results += [counts] if return_counts else []
    return results[0] if len(results) == 1 else tuple(results)


def _unique_rows(
    rows: Any, size: int | None, fill_value: Any, equal_nan: bool, wanted: tuple[bool, bool, bool]
) -> tuple[Any, ...]:
    """The different rows; and, where wanted, where each is first, the positions that rebuild all, and the counts."""
    length = rows.aval.shape[0]
    if not length:
        if size and fill_value is None:
            raise ValueError(f"unique: an empty array has nothing to fill up {size} elements with; give a fill_value")
        count = size or 0
        empty = full((count, *rows.aval.shape[1:]), 0 if fill_value is None else fill_value, rows.aval.dtype)
        return empty, zeros(count, int), zeros(0, int), zeros(count, int)
    contents = contents_on_host(rows) if size is None and rows.ndim == 1 else None
    if contents is not None:
        return unique_on_host(contents, rows.aval.weak_type, bool(equal_nan), wanted)
    order, ordered, starts = _in_order(rows, equal_nan=bool(equal_nan))
    # One more than is wanted, where the number is given: where the last one that is kept ends.
    (bounds,) = nonzero(starts, size=size if size is None else size + 1, fill_value=length)
    places = bounds if size is None else bounds[:-1]
    values = getitem(ordered, where(places >= length, 0, places) if size is not None else places)
    if size is not None and fill_value is not None:
        missing = reshaped(places >= length, (-1, *(1,) * (rows.ndim - 1)))
        values = where(missing, asarray(fill_value, dtype=values.dtype), values)
    first = _firsts(order, places, length, size) if wanted[0] else None
    rebuilt = _inverse(starts, order) if wanted[1] else None
    return values, first, rebuilt, _counts(bounds, length, size) if wanted[2] else None


def _firsts(order: Any, places: Any, length: Any, size: int | None) -> Any:
    first = getitem(order, where(places >= length, 0, places) if size is not None else places)
    return convert(first, dtypes.default_int_dtype())


def _counts(bounds: Any, length: Any, size: int | None) -> Any:
    """How often each occurs, from where each begins; of cut-off ones, only the first is known."""
    if size is not None:
        return bounds[1:] - bounds[:-1]
    return concatenate([bounds[1:], reshaped(size_operand(length, INT32), (1,))]) - bounds


def _sorted_rows(rows: Any, *, equal_nan: bool) -> tuple[Any, Any, Any]:
    """The positions that sort rows, the sorted rows, and which of these differs from the one before."""
    order = order_of(rows)
    ordered = getitem(rows, order)
    return order, ordered, starts_of(ordered, equal_nan)


_in_order = Fused("unique", _sorted_rows, multiple_results=True)


def _inverse(starts: Any, order: Any) -> Any:
    """The number of each element among the different ones; of elements that a `size` cuts off, too."""
    return at(zeros(order.aval.shape[0], int))[order].set(starts.astype(INT32).cumsum() - 1, unique_indices=True)


def unique_all(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> _UniqueAll:
    """Find the different elements, where each is first, the positions that rebuild the array, and the counts.

    Args:
        x: an array.
        size, fill_value: as of `unique`.

    Returns:
        A named tuple: values, indices, inverse_indices, counts. NaNs are all different.

    Raises:
        TypeError: for what is no array; ConcretizationTypeError where it is traced and `size` is not given.

    >>> import tangrad
    >>> tangrad.numpy.unique_all(tangrad.numpy.array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)
    """
    return _UniqueAll(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> _UniqueCounts:
    """Find the different elements, and how often each occurs.

    Args:
        x: an array.
        size, fill_value: as of `unique`.

    Returns:
        A named tuple: values, counts. NaNs are all different.

    Raises:
        TypeError: for what is no array; ConcretizationTypeError where it is traced and `size` is not given.

    >>> import tangrad
    >>> tangrad.numpy.unique_counts(tangrad.numpy.array([3, 1, 3])).values
    Array([1, 3], dtype=int32)
    """
    return _UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> _UniqueInverse:
    """Find the different elements, and the positions that rebuild the array.

    Args:
        x: an array.
        size, fill_value: as of `unique`.

    Returns:
        A named tuple: values, inverse_indices. NaNs are all different.

    Raises:
        TypeError: for what is no array; ConcretizationTypeError where it is traced and `size` is not given.

    >>> import tangrad
    >>> tangrad.numpy.unique_inverse(tangrad.numpy.array([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int32)
    """
    return _UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """Find the different elements.

    Args:
        x: an array.
        size, fill_value: as of `unique`.

    Returns:
        An array. NaNs are all different.

    Raises:
        TypeError: for what is no array; ConcretizationTypeError where it is traced and `size` is not given.

    >>> import tangrad
    >>> tangrad.numpy.unique_values(tangrad.numpy.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# --- membership ----------------------------------------------------------------------------------------------------


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
        (ordered,) = sort_p.bind(others, dimension=0, is_stable=False, num_keys=1)
        places = searchsorted(ordered, x).clip(0, others.aval.size - 1)
        found = eq_p.bind(getitem(ordered, places), x)
    return not_p.bind(found) if invert else found


def _all_pairs(x: Any, others: Any) -> Any:
    wide = reshaped(others, (*(1,) * x.ndim, others.aval.size))
    return broadcast("isin", [expand_dims(x, x.ndim), wide])


# --- operations on sets --------------------------------------------------------------------------------------------


def _vectors(name: str, ar1: Any, ar2: Any) -> tuple[Any, Any]:
    check_array_like(name, ar1, ar2)
    first, second = [convert(x, x.aval.dtype) for x in promote(name, ar1, ar2)]  # the numbers in a set are strong
    return ravel(array_operand(name, first)), ravel(array_operand(name, second))


def _check_known(name: str, *arrays: Any) -> None:
    for x in arrays:
        concrete_or_error(x, f"the number of results of {name}, which size= would fix")


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
        _check_known("setdiff1d", first, second)
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


def _sorted_starts(x: Any) -> tuple[Any, Any]:
    (ordered,) = sort_p.bind(x, dimension=0, is_stable=True, num_keys=1)
    return ordered, starts_of(ordered, True)


def _selected(x: Any, mask: Any, size: int, fill_value: Any) -> Any:
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
        _check_known("setxor1d", first, second)
        first, second = unique(first), unique(second)
    x = concatenate([first, second])
    if not x.aval.size:
        return full(size or 0, 0 if fill_value is None else fill_value, x.aval.dtype)
    # A NaN is in neither of them by comparison: that of either array counts once, as every other element.
    new = ones(x.aval.shape, bool) if size is None else concatenate([first_ones(first), first_ones(second)])
    x, new = sort_p.bind(x, new, dimension=0, is_stable=True, num_keys=1)
    alone = and_p.bind(new, or_p.bind(not_p.bind(isin(x, first)), not_p.bind(isin(x, second))))
    if size is None:
        return getitem(x, alone)
    found = _selected(x, alone, size, fill_value)
    return where(np.arange(size) < alone.sum(), found, found[0]) if size and fill_value is None else found


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
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
        _check_known("intersect1d", first, second)
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


def _found_in_order(first: Any, second: Any) -> tuple[Any, Any, Any]:
    """The positions that sort the first vector, it sorted, and which of that are new and in the second one, too."""
    order = order_of(first)
    x = getitem(first, order)
    return order, x, and_p.bind(starts_of(x, True), isin(x, second))


_in_both = Fused("intersect1d", _found_in_order, multiple_results=True)


def _nothing_common(first: Any, second: Any, size: int | None, fill_value: Any, return_indices: bool) -> Any:
    """The intersection with an empty array."""
    values = full(size or 0, 0 if fill_value is None else fill_value, first.aval.dtype)
    if not return_indices:
        return values
    return values, full(size or 0, first.aval.size, int), full(size or 0, second.aval.size, int)
