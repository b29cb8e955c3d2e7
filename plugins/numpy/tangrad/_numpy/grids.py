"""Coordinates of grids, and helpers to write indices: `tangrad.numpy.meshgrid`, `indices`, `mgrid`, `ix_`, `r_`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from tangrad._numpy.conversion import asarray
from tangrad._numpy.joining import concatenate, stack
from tangrad._numpy.operands import (
    array_operand,
    canonical_shape,
    check_array_like,
    promote,
    user_dtype,
)
from tangrad._numpy.ranges import arange
from tangrad._numpy.selection import nonzero
from tangrad._numpy.sequences import linspace
from tangrad._numpy.shapes import broadcast_arrays, expand_dims, ravel, reshaped
from tangrad.core import Array, class_boundary, concrete_or_error, dtypes, transfers
from tangrad.extend.lax import iota_p
from tangrad.typing import ArrayLike, DTypeLike

# Of what transfer guards ask: ranges between the brackets are made of numbers.
COPIES_FROM_HOST = {"__getitem__": lambda given: transfers.is_from_host(given["key"]) or _has_slices(given["key"])}

# NumPy's own: they only hand on what stands between the brackets.
s_ = np.s_
index_exp = np.index_exp


def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Array, ...]:
    """Make the coordinates of a grid from those along each axis.

    Args:
        xi: arrays of one dimension, or numbers.
        copy: must be True.
        sparse: whether the results keep size 1 along the other axes.
        indexing: "ij": axes in the order of the arguments; "xy": the first two exchanged.

    Returns:
        A tuple of arrays, one for each argument.

    Raises:
        TypeError: for what is no array.
        ValueError: for more dimensions, or an unknown `indexing`.

    >>> import tangrad
    >>> [x.shape for x in tangrad.numpy.meshgrid(tangrad.numpy.arange(2), tangrad.numpy.arange(3))]
    [(3, 2), (3, 2)]
    """
    if not copy:
        raise NotImplementedError("meshgrid: copy=False is not supported, since arrays have no views")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    check_array_like("meshgrid", *xi)
    arrays = [array_operand("meshgrid", x) for x in xi]
    for position, x in enumerate(arrays):
        if x.ndim > 1:
            raise ValueError(f"meshgrid: argument {position} must have at most one dimension, got shape {x.aval.shape}")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = [1, 0]
    placed = []
    for axis, x in zip(order, arrays):
        sizes = [1] * len(arrays)
        sizes[axis] = x.aval.size
        placed.append(reshaped(x, tuple(sizes)))
    return tuple(placed) if sparse else broadcast_arrays(*placed)


@overload
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: Literal[False] = False) -> Array: ...
@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, *, sparse: Literal[True]
) -> tuple[Array, ...]: ...
@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False
) -> Array | tuple[Array, ...]: ...
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False
) -> Array | tuple[Array, ...]:
    """Make the positions of the elements of an array.

    Args:
        dimensions: the shape.
        dtype: the dtype; None: the default integer.
        sparse: whether to return a tuple of arrays with size 1 along the other axes.

    Returns:
        An array whose first dimension is that of the axes, or the tuple.

    Raises:
        TypeError: for what is no shape, `dtype` is no dtype.

    >>> import tangrad
    >>> tangrad.numpy.indices((2, 2))[1]
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    wanted = dtypes.default_int_dtype() if dtype is None else user_dtype("indices", dtype)
    shape = canonical_shape("indices", dimensions, "dimensions")
    rank = len(shape)
    grids = []
    for axis, size in enumerate(shape):
        sizes = tuple([size if position == axis else 1 for position in range(rank)]) if sparse else shape
        grids.append(iota_p.bind(dtype=wanted, shape=sizes, dimension=axis))
    if sparse:
        return tuple(grids)
    return stack(grids) if grids else asarray(np.zeros((0,), wanted))


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Make index arrays that select the product of positions along each axis: `x[ix_([0, 2], [1])]`.

    Args:
        args: arrays of one dimension, of integers or booleans.

    Returns:
        A tuple of integer arrays, each along its own axis.

    Raises:
        TypeError: for what is no array.
        ValueError: for more dimensions.

    >>> import tangrad
    >>> [x.shape for x in tangrad.numpy.ix_(tangrad.numpy.arange(2), tangrad.numpy.arange(3))]
    [(2, 1), (1, 3)]
    """
    results = []
    for position, value in enumerate(args):
        x = asarray(value) if isinstance(value, (list, tuple)) else array_operand("ix_", value, position)
        if x.ndim != 1:
            raise ValueError(f"ix_: argument {position} must have one dimension, got shape {x.aval.shape}")
        if x.dtype == np.bool_:
            (x,) = nonzero(x)
        elif not x.aval.size:
            x = x.astype(dtypes.default_int_dtype())
        others = tuple([axis for axis in range(len(args)) if axis != position])
        results.append(expand_dims(x, others))
    return tuple(results)


# --- written with brackets ---


def _axis_of(item: slice, name: str) -> Array:
    """The numbers of a slice: with an imaginary step so many, the end included; else in steps."""
    start, stop, step = [_known(value, name) for value in (item.start, item.stop, item.step)]
    start = 0 if start is None else start
    if isinstance(step, complex):
        return linspace(start, stop, int(abs(step)), endpoint=True)
    return arange(start, stop, 1 if step is None else step)


def _known(value: object, name: str) -> Any:
    return concrete_or_error(value, f"a bound of {name}") if isinstance(value, Array) else value


def _has_slices(key: object) -> bool:
    return any([isinstance(one, slice) for one in (key if isinstance(key, tuple) else (key,))])


@class_boundary
class _Grid:
    """What is written with slices in brackets; `mgrid[0:2, 0:1:3j]`."""

    def __init__(self, name: str, sparse: bool, documentation: str) -> None:
        self.name = name
        self.sparse = sparse
        self.__doc__ = documentation

    def __repr__(self) -> str:
        return f"<tangrad.numpy.{self.name}>"

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Array | list[Array]:
        if isinstance(key, slice):
            return _axis_of(key, self.name)
        if not key:  # () is a grid of no axes
            return [] if self.sparse else asarray(np.zeros(0, dtypes.default_int_dtype()))
        axes = promote(self.name, *[_axis_of(item, self.name) for item in key])
        grids = meshgrid(*axes, indexing="ij", sparse=self.sparse)
        return list(grids) if self.sparse else stack(grids)


mgrid = _Grid("mgrid", False, "The coordinates of a grid, written with slices: `mgrid[0:2, 0:1:3j]`, in one array.")
ogrid = _Grid("ogrid", True, "The coordinates along each axis of a grid, written with slices: `ogrid[0:2, 0:1:3j]`.")


@class_boundary
class _Joiner:
    """Arrays, numbers and slices written in brackets, joined; a string first gives the axis, the rank, the place."""

    def __init__(self, name: str, axis: int, rank: int, place: int, documentation: str) -> None:
        self.name = name
        self.defaults = axis, rank, place
        self.__doc__ = documentation

    def __repr__(self) -> str:
        return f"<tangrad.numpy.{self.name}>"

    def __getitem__(self, key: Any) -> Array:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, rank, place = self.defaults
        if items and isinstance(items[0], str):
            axis, rank, place, as_matrix = self._directive(items.pop(0))
            if as_matrix:
                raise NotImplementedError(f"{self.name}: matrices are not supported; use '0,2' or '1,2'")
        parts = [self._part(item, rank, place) for item in items]
        return concatenate(parts, axis=axis)

    def _directive(self, text: str) -> tuple[int, int, int, bool]:
        if text in ("r", "c"):
            return (*self.defaults, True)
        try:
            numbers = [int(word) for word in text.split(",")]
        except ValueError:
            raise ValueError(f"{self.name}: {text!r} is no directive; expected 'axis,rank,place' as integers") from None
        axis, rank, place = [*numbers, *self.defaults[len(numbers) :]][:3]
        return axis, rank, place, False

    def _part(self, item: int, rank: int, place: int) -> Array:
        x = _axis_of(item, self.name) if isinstance(item, slice) else asarray(item)
        own = x.ndim
        x = ravel(x) if not own else x
        added = rank - x.ndim
        if added <= 0:
            return x
        if not own:
            return reshaped(x, (1,) * (rank - 1) + x.aval.shape)
        first = max(place + added + 1, 0) if place < 0 else min(place, added)
        return reshaped(x, (1,) * first + x.aval.shape + (1,) * (added - first))


r_ = _Joiner("r_", 0, 1, -1, "Arrays joined along the first axis, written in brackets: `r_[1:4, 0, [7, 8]]`.")
c_ = _Joiner("c_", -1, 2, 0, "Vectors joined as columns, written in brackets: `c_[x, y]`.")
