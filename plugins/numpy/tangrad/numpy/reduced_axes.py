"""The axes of reductions: which are meant, the parameters that name them, and keeping them with size 1."""

from __future__ import annotations

from typing import Any

from tangrad.core import FixedParams
from tangrad.lax.structure.primitives import broadcast_in_dim_p
from tangrad.numpy.operands import canonical_axes

_ALL_AXES = tuple([tuple(range(rank)) for rank in range(17)])


class _AxesParams(dict[Any, FixedParams]):
    """Axes -> the parameters of a reduction over them, made once. Bounded: there are only so many axes."""

    def __missing__(self, axes: tuple[int, ...]) -> FixedParams:
        if len(self) >= 1024:
            self.clear()
        made = self[axes] = FixedParams(axes=axes)
        return made


axes_params = _AxesParams()


def all_axes(rank: int) -> tuple[int, ...]:
    """Every axis of an array of that rank."""
    return _ALL_AXES[rank] if rank < 17 else tuple(range(rank))


def reduction_axes(name: str, axis: Any, rank: int) -> tuple[int, ...]:
    """The axes that are named, sorted; all of them for None."""
    if axis is None:
        return all_axes(rank)
    if type(axis) is int and -rank <= axis < rank:
        return (axis + rank if axis < 0 else axis,)
    return tuple(sorted(canonical_axes(name, axis, rank)))


def with_kept_axes(x: Any, shape: tuple[Any, ...], axes: tuple[int, ...]) -> Any:
    """A reduced array with the axes that it lost, of size 1."""
    kept = tuple([position for position in range(len(shape)) if position not in axes])
    sizes = tuple([1 if position in axes else size for position, size in enumerate(shape)])
    return broadcast_in_dim_p.bind(x, shape=sizes, broadcast_dimensions=kept)
