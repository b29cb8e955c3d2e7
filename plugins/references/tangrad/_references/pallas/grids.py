"""Grids and blocks: where in its grid a kernel runs, and which part of an array it gets there."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tangrad.core import Array, api_boundary, class_boundary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tangrad.typing import ArrayLike

# --- Where in its grid a kernel runs: `program_id`, `num_programs` ----------------------------------------------------


class Grid(NamedTuple):
    """The grid of a kernel that is traced: its program ids, and its sizes."""

    ids: tuple[object, ...]
    sizes: tuple[ArrayLike, ...]


class _Grids(threading.local):
    current: Grid | None = None


_grids = _Grids()


@contextmanager
def within(grid: Grid | None) -> Iterator[None]:
    """While a kernel is traced."""
    previous, _grids.current = _grids.current, grid
    try:
        yield
    finally:
        _grids.current = previous


def _entry(name: str, axis: int, what: str) -> object:
    if _grids.current is None:
        raise ValueError(f"{name}: there is no grid outside of a kernel; call it in the function given to pallas_call")
    values = getattr(_grids.current, what)
    if type(axis) is not int or not 0 <= axis < len(values):
        raise ValueError(
            f"{name}: axis must be an integer below {len(values)}, the number of dimensions of the grid, got {axis!r}"
        )
    return values[axis]


@api_boundary
def program_id(axis: int) -> Array:
    """The place of this run of the kernel along one dimension of the grid: an int32 scalar.

    Raises ValueError outside of a kernel, and for a dimension that the grid does not have.

    >>> import tangrad
    >>> from tangrad.experimental import pallas as pl
    >>> def places(o_ref):
    ...     o_ref[pl.program_id(0)] = pl.program_id(0)
    >>> pl.pallas_call(places, tangrad.ShapeDtypeStruct((3,), "int32"), grid=(3,))()
    Array([0, 1, 2], dtype=int32)
    """
    return cast("Array", _entry("program_id", axis, "ids"))


@api_boundary
def num_programs(axis: int) -> int | Array:
    """The size of the grid along one dimension: an integer, or an int32 scalar where the program computes it.

    Raises as `program_id` does.

    >>> import tangrad
    >>> from tangrad.experimental import pallas as pl
    >>> def last(o_ref):
    ...     o_ref[0] = pl.num_programs(0) - 1
    >>> pl.pallas_call(last, tangrad.ShapeDtypeStruct((1,), "int32"), grid=(3,))()
    Array([2], dtype=int32)
    """
    return cast("int | Array", _entry("num_programs", axis, "sizes"))


# ----------------------------------------------------------------------------------------------------------------------
# What a dimension of a block may be; blocks as the interpreter has them: sizes, and how indices become starts.


@class_boundary
@dataclass(frozen=True)
class Blocked:
    """A dimension in blocks of one size, of which the index map returns the number. An integer means the same.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.BlockSpec((pl.Blocked(8), 128), lambda i: (i, 0)).block_shape
    (Blocked(block_size=8), 128)
    """

    block_size: int


@class_boundary
@dataclass(frozen=True)
class Element:
    """A dimension in blocks that may start anywhere: the index map returns the element that a block starts with.

    Args:
        block_size: the size of a block.
        padding: how many elements are added before and after the array; positions count from the first of these.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.Element(4, padding=(1, 1))
    Element(block_size=4, padding=(1, 1))
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@class_boundary
@dataclass(frozen=True)
class Squeezed:
    """A dimension that the kernel does not see: of each block it gets one element. None means the same.

    >>> from tangrad.experimental import pallas as pl
    >>> pl.squeezed
    Squeezed()
    """


squeezed = Squeezed()


class Block(NamedTuple):
    """How an array is divided.

    Attributes:
        sizes: of a block, by dimension of the array.
        kinds: a letter for each dimension: `b` in blocks, `e` from an element on, `s` squeezed.
        padding: how many elements are added before and after each dimension.
    """

    sizes: tuple[int, ...]
    kinds: str
    padding: tuple[tuple[int, int], ...]

    @property
    def seen(self) -> tuple[int, ...]:
        """The shape of a block as the kernel sees it."""
        return tuple([size for size, kind in zip(self.sizes, self.kinds, strict=True) if kind != "s"])

    def padded(self, shape: Sequence[int]) -> list[tuple[int, int]]:
        """What is added before and after each dimension of an array, so that whole blocks fit."""
        widths = []
        for size, block, (low, high) in zip(shape, self.sizes, self.padding, strict=True):
            whole = size + low + high
            widths.append((low, high + -whole % block))
        return widths

    def mapped(self) -> Block:
        """The same with a squeezed dimension in front."""
        return Block((1, *self.sizes), f"s{self.kinds}", ((0, 0), *self.padding))


def as_block(what: str, block_shape: Iterable[int] | None, shape: tuple[int, ...]) -> Block:
    """The block that a user's `block_shape` means; None means the whole array.

    Raises TypeError for what is no dimension of a block, ValueError for another number of them than the array has, or
    a size below one.
    """
    dims = shape if block_shape is None else tuple(block_shape)
    if len(dims) != len(shape):
        raise ValueError(
            f"{what}: block_shape {dims} has {len(dims)} dimensions, the array has {len(shape)}, its shape is {shape}; "
            "None stands for a dimension that the kernel does not see"
        )
    parts = [_dimension(what, dim) for dim in dims]
    return Block(
        tuple([size for _, size, _ in parts]), "".join([kind for kind, _, _ in parts]), tuple([p for *_, p in parts])
    )


def _dimension(what: str, dim: object) -> tuple[str, int, tuple[int, int]]:
    if dim is None or isinstance(dim, Squeezed):
        return "s", 1, (0, 0)
    if isinstance(dim, Element):
        return "e", _size(what, dim.block_size), (int(dim.padding[0]), int(dim.padding[1]))
    return "b", _size(what, dim.block_size if isinstance(dim, Blocked) else dim), (0, 0)


def _size(what: str, value: Any) -> int:
    try:
        size = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{what}: a dimension of block_shape must be an integer, None, Blocked, Element or Squeezed, got {value!r} "
            f"of type {type(value).__name__}"
        ) from None
    if size < 0:
        raise ValueError(f"{what}: a dimension of block_shape must not be negative, got {size}")
    return max(size, 1)
