"""Where in its grid a kernel runs: `program_id`, `num_programs`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from tangrad.core import Array, api_boundary


class Grid(NamedTuple):
    """The grid of a kernel that is traced: its program ids, and its sizes."""

    ids: tuple[Any, ...]
    sizes: tuple[Any, ...]


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


def _entry(name: str, axis: int, what: str) -> Any:
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
