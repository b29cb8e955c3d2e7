"""The different elements of arrays: `tangrad.numpy.unique`, `unique_counts`, …"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack, overload

from tangrad._numpy.at import at
from tangrad._numpy.axes import moveaxis
from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import full, ones, zeros
from tangrad._numpy.fusing import Fused
from tangrad._numpy.indexing import getitem
from tangrad._numpy.joining import concatenate
from tangrad._numpy.new_arrays import contents_on_host, unique_on_host
from tangrad._numpy.operands import (
    INT32,
    array_operand,
    canonical_axis,
    convert,
    index_argument,
    is_complex,
    is_inexact,
)
from tangrad._numpy.reductions import any as any_of
from tangrad._numpy.selection import nonzero, where
from tangrad._numpy.shapes import ravel, reshaped
from tangrad.core import Array, concrete_or_error, dtypes
from tangrad.extend.lax import and_p, iota_p, ne_p, not_p, size_operand, sort_p
from tangrad.typing import ArrayLike, Value

# ----------------------------------------------------------------------------------------------------------------------
# The order of the elements of a set, and which of them are new: what `tangrad.numpy.unique` and its like share.


def order_of(rows: Value) -> Array:
    """The positions that sort rows, the first column counting most."""
    length = rows.aval.shape[0]
    positions = iota_p.bind(dtype=dtypes.default_int_dtype(), shape=(length,), dimension=0)
    flat = with_nan_last(reshaped(rows, (length, -1) if rows.aval.size else (length, 0)))
    columns = [flat[:, i] for i in range(flat.aval.shape[1])]
    if not columns:
        return positions
    return sort_p.bind(*columns, positions, dimension=0, is_stable=True, num_keys=len(columns))[-1]


def with_nan_last(x: Value) -> Value:
    """Numbers whose order NumPy has when they are sorted: complex ones with a NaN in either part after all others."""
    return where(ne_p.bind(x, x), complex("nan+nanj"), x) if is_complex(x) else x


def starts_of(ordered: Value, equal_nan: bool) -> Array:
    """Which of the sorted rows differs from the one before."""
    earlier, later = ordered[:-1], ordered[1:]
    different = ne_p.bind(earlier, later)
    if equal_nan and is_inexact(ordered):
        both = and_p.bind(ne_p.bind(earlier, earlier), ne_p.bind(later, later))
        different = and_p.bind(different, not_p.bind(both))
    if different.ndim > 1:
        different = any_of(different, axis=tuple(range(1, different.ndim)))
    return concatenate([ones(1, bool), different])


def first_ones(x: Value) -> Array:
    """Which elements of a vector are the first that equal them."""
    order = order_of(x)
    starts = starts_of(getitem(x, order), True)
    return at(zeros(order.aval.shape[0], bool))[order].set(starts, unique_indices=True)


# --- The different elements of arrays: `tangrad.numpy.unique`, `unique_counts`, … ---
# How many elements a set has depends on its contents, so these need known arrays, or a `size` for the result.


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Array
    inverse_indices: Array


class _Options(TypedDict, total=False):
    axis: int | None
    equal_nan: bool
    size: int | None
    fill_value: ArrayLike | None
    sorted: bool


_No: TypeAlias = Literal[False]
_Yes: TypeAlias = Literal[True]
_Pair: TypeAlias = tuple[Array, Array]
_Triple: TypeAlias = tuple[Array, Array, Array]
COPIES_FROM_HOST = {"unique": True}  # transfer guards ask it


@overload
def unique(
    ar: ArrayLike,
    return_index: _No = False,
    return_inverse: _No = False,
    return_counts: _No = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: _Yes,
    return_inverse: _No = False,
    return_counts: _No = False,
    **options: Unpack[_Options],
) -> _Pair: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: _No = False,
    *,
    return_inverse: _Yes,
    return_counts: _No = False,
    **options: Unpack[_Options],
) -> _Pair: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: _No = False,
    return_inverse: _No = False,
    *,
    return_counts: _Yes,
    **options: Unpack[_Options],
) -> _Pair: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: _Yes,
    return_inverse: _Yes,
    return_counts: _No = False,
    **options: Unpack[_Options],
) -> _Triple: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: _Yes,
    return_inverse: _No = False,
    *,
    return_counts: _Yes,
    **options: Unpack[_Options],
) -> _Triple: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: _No = False,
    *,
    return_inverse: _Yes,
    return_counts: _Yes,
    **options: Unpack[_Options],
) -> _Triple: ...
@overload
def unique(
    ar: ArrayLike, return_index: _Yes, return_inverse: _Yes, return_counts: _Yes, **options: Unpack[_Options]
) -> tuple[Array, Array, Array, Array]: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    **options: Unpack[_Options],
) -> Array | tuple[Array, ...]: ...
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
) -> Array | tuple[Array, ...]:
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
        check_known("unique", x)
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
    rows: Value, size: int | None, fill_value: ArrayLike | None, equal_nan: bool, wanted: tuple[bool, bool, bool]
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


def _firsts(order: Value, places: Value, length: int, size: int | None) -> Value:
    first = getitem(order, where(places >= length, 0, places) if size is not None else places)
    return convert(first, dtypes.default_int_dtype())


def _counts(bounds: Value, length: int, size: int | None) -> Value:
    """How often each occurs, from where each begins; of cut-off ones, only the first is known."""
    if size is not None:
        return bounds[1:] - bounds[:-1]
    return concatenate([bounds[1:], reshaped(size_operand(length, INT32), (1,))]) - bounds


def _sorted_rows(rows: Value, *, equal_nan: bool) -> tuple[Array, Array, Array]:
    """The positions that sort rows, the sorted rows, and which of these differs from the one before."""
    order = order_of(rows)
    ordered = getitem(rows, order)
    return order, ordered, starts_of(ordered, equal_nan)


_in_order = Fused("unique", _sorted_rows, multiple_results=True)


def _inverse(starts: Value, order: Value) -> Value:
    """The number of each element among the different ones; of elements that a `size` cuts off, too."""
    return at(zeros(order.aval.shape[0], int))[order].set(starts.astype(INT32).cumsum() - 1, unique_indices=True)


def unique_all(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> UniqueAll:
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
    return UniqueAll(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> UniqueCounts:
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
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> UniqueInverse:
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
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


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


def check_known(name: str, *arrays: Value) -> None:
    for x in arrays:
        concrete_or_error(x, f"the number of results of {name}, which size= would fix")
