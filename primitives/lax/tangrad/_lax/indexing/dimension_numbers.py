"""How gather and scatter read their indices: which dimension of which argument means what."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from tangrad.core import class_boundary
from tangrad.core.caches import exact_equality


@class_boundary
@exact_equality
class GatherScatterMode(enum.Enum):
    """What happens to indices out of bounds.

    CLIP: they are clamped, so that every slice is within. FILL_OR_DROP: a gathered slice is filled, a scattered
    update dropped, where any part of it is outside. PROMISE_IN_BOUNDS: the caller vouches for them.
    """

    CLIP = 0
    FILL_OR_DROP = 1
    PROMISE_IN_BOUNDS = 2

    @staticmethod
    def from_any(mode: GatherScatterMode | str | None) -> GatherScatterMode:
        """The mode for a mode, None (fill or drop) or a name: "clip", "fill", "drop", "promise_in_bounds"."""
        if isinstance(mode, GatherScatterMode):
            return mode
        if mode is None or mode in ("fill", "drop"):
            return GatherScatterMode.FILL_OR_DROP
        if mode == "clip":
            return GatherScatterMode.CLIP
        if mode == "promise_in_bounds":
            return GatherScatterMode.PROMISE_IN_BOUNDS
        raise ValueError(f"unknown index mode {mode!r}; expected 'fill', 'drop', 'clip' or 'promise_in_bounds'")

    def __repr__(self) -> str:
        return f"GatherScatterMode.{self.name}"


class _Numbers:
    """Tuples of dimensions, by name; equal if all are."""

    __slots__ = ("_hash",)
    fields: tuple[str, ...]

    def _fill(self, *values: Sequence[int]) -> None:
        for name, value in zip(self.fields, values):
            object.__setattr__(self, name, tuple([int(item) for item in value]))
        object.__setattr__(self, "_hash", hash((type(self), self.astuple())))

    def astuple(self) -> tuple[tuple[int, ...], ...]:
        return tuple([getattr(self, name) for name in self.fields])

    def to_saved(self) -> tuple[tuple[int, ...], ...]:
        """What is written of them in a file."""
        return self.astuple()

    @classmethod
    def from_saved(cls, value: Any) -> Any:
        """The dimensions that were written."""
        return cls(*value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and self.astuple() == other.astuple())

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        inside = ", ".join([f"{name}={getattr(self, name)}" for name in self.fields])
        return f"{type(self).__name__}({inside})"

    def __reduce__(self) -> Any:
        return type(self), self.astuple()


@class_boundary
@exact_equality
class GatherDimensionNumbers(_Numbers):
    """The dimensions of `gather`.

    Attributes:
        offset_dims: dimensions of the output that run along the slices.
        collapsed_slice_dims: dimensions of the operand, of slice size 1, that the output lacks.
        start_index_map: for each component of an index, the dimension of the operand that it is along.
        operand_batching_dims: dimensions of the operand that run in parallel with …
        start_indices_batching_dims: … these dimensions of the indices.
    """

    fields = (
        "offset_dims",
        "collapsed_slice_dims",
        "start_index_map",
        "operand_batching_dims",
        "start_indices_batching_dims",
    )
    __slots__ = fields

    def __init__(
        self,
        offset_dims: Sequence[int],
        collapsed_slice_dims: Sequence[int],
        start_index_map: Sequence[int],
        operand_batching_dims: Sequence[int] = (),
        start_indices_batching_dims: Sequence[int] = (),
    ) -> None:
        self._fill(
            offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims, start_indices_batching_dims
        )


@class_boundary
@exact_equality
class ScatterDimensionNumbers(_Numbers):
    """The dimensions of the scatter primitives.

    Attributes:
        update_window_dims: dimensions of the updates that run along the windows.
        inserted_window_dims: dimensions of the operand, of window size 1, that the updates lack.
        scatter_dims_to_operand_dims: for each component of an index, the dimension of the operand that it is along.
        operand_batching_dims: dimensions of the operand that run in parallel with …
        scatter_indices_batching_dims: … these dimensions of the indices.
    """

    fields = (
        "update_window_dims",
        "inserted_window_dims",
        "scatter_dims_to_operand_dims",
        "operand_batching_dims",
        "scatter_indices_batching_dims",
    )
    __slots__ = fields

    def __init__(
        self,
        update_window_dims: Sequence[int],
        inserted_window_dims: Sequence[int],
        scatter_dims_to_operand_dims: Sequence[int],
        operand_batching_dims: Sequence[int] = (),
        scatter_indices_batching_dims: Sequence[int] = (),
    ) -> None:
        self._fill(
            update_window_dims,
            inserted_window_dims,
            scatter_dims_to_operand_dims,
            operand_batching_dims,
            scatter_indices_batching_dims,
        )


def gather_of(numbers: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """The gather that reads what a scatter with these numbers writes."""
    return GatherDimensionNumbers(*numbers.astuple())


def scatter_of(numbers: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    """The scatter that writes what a gather with these numbers reads."""
    return ScatterDimensionNumbers(*numbers.astuple())


def window_sizes(
    numbers: ScatterDimensionNumbers, operand_shape: Sequence[Any], updates_shape: Sequence[Any]
) -> tuple[int, ...]:
    """The size of a scatter's window along each dimension of the operand. A batching dimension may be empty."""
    window_dims, inserted, _, batching, _ = numbers.astuple()
    sizes = iter([updates_shape[dim] for dim in window_dims])
    return tuple(
        [
            one_of(whole) if dim in batching else 1 if dim in inserted else next(sizes)
            for dim, whole in enumerate(operand_shape)
        ]
    )


def one_of(whole: int) -> int:
    """The size of a slice that takes one element along a batching dimension: none, where there is none."""
    return 1 if whole else 0
