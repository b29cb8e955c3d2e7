"""Gather, and the scatters that set, add, subtract, multiply, and take the extremum; how they read their indices."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._lax.checks import NUMERIC, ORDERED, check_dtype
from tangrad.core import Primitive, PrimitiveSet, ShapedArray, class_boundary, dtypes
from tangrad.core.caches import exact_equality
from tangrad.typing import Dimensions


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
    _hash: int

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
    def from_saved(cls, value: Any) -> _Numbers:
        """The dimensions that were written."""
        return cls(*value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and self.astuple() == other.astuple())

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        inside = ", ".join([f"{name}={getattr(self, name)}" for name in self.fields])
        return f"{type(self).__name__}({inside})"

    def __reduce__(self) -> tuple[type[_Numbers], tuple[tuple[int, ...], ...]]:
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
    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...]
    start_indices_batching_dims: tuple[int, ...]

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
    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...]
    scatter_indices_batching_dims: tuple[int, ...]

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
    numbers: ScatterDimensionNumbers, operand_shape: Sequence[int], updates_shape: Sequence[int]
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


# --- the primitives ---

indexing = PrimitiveSet("indexing", api=1)


def _check_dimensions(name: str, what: str, dims: Sequence[int], rank: int, ordered: bool = True) -> None:
    for dim in dims:
        if not 0 <= dim < rank:
            raise ValueError(f"{name}: {what} {tuple(dims)} must be from 0 to {rank - 1}")
    if len(set(dims)) != len(dims):
        raise ValueError(f"{name}: {what} {tuple(dims)} must not repeat")
    if ordered and list(dims) != sorted(dims):
        raise ValueError(f"{name}: {what} {tuple(dims)} must be sorted")


def _check_common(name: str, operand: ShapedArray, indices: ShapedArray, numbers: _Numbers) -> None:
    """What gather and scatter have in common: indices, and the dimensions of the operand that they are along."""
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise TypeError(f"{name}: indices must be integers, got dtype {dtypes.dtype_name(indices.dtype)}")
    if indices.ndim == 0:
        raise ValueError(f"{name}: indices need a last dimension with the components of each index, got shape ()")
    _, left_out, index_map, operand_batching, indices_batching = numbers.astuple()
    names = numbers.fields
    _check_dimensions(name, names[1], left_out, operand.ndim)
    _check_dimensions(name, names[2], index_map, operand.ndim, ordered=False)
    _check_dimensions(name, names[3], operand_batching, operand.ndim)
    _check_dimensions(name, names[4], indices_batching, indices.ndim - 1, ordered=False)
    if len(index_map) != indices.shape[-1]:
        raise ValueError(
            f"{name}: {names[2]} has {len(index_map)} entries, but the last dimension of indices {indices.shape} "
            f"has {indices.shape[-1]}"
        )
    if set(left_out) & set(operand_batching) or set(index_map) & set(operand_batching):
        raise ValueError(f"{name}: {names[3]} {operand_batching} must not be in {names[1]} or {names[2]}")
    sizes = [operand.shape[dim] for dim in operand_batching]
    if sizes != [indices.shape[dim] for dim in indices_batching]:
        raise ValueError(f"{name}: the batching dimensions of operand and indices must have equal sizes")


@indexing.primitive(name="gather", weak_type="own")
def gather_p(
    operand: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Dimensions,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    fill_value: object,
) -> ShapedArray:
    """Slices of the operand that begin at the given indices."""
    numbers = dimension_numbers
    _check_common("gather", operand, indices, numbers)
    if len(slice_sizes) != operand.ndim:
        raise ValueError(f"gather: slice_sizes {slice_sizes} must have an entry for each dimension of {operand.shape}")
    for dim, (size, whole) in enumerate(zip(slice_sizes, operand.shape)):
        if not 0 <= size <= whole:
            raise ValueError(f"gather: slice size {size} of dimension {dim} must be from 0 to its size {whole}")
    left_out = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    for dim in left_out:
        if slice_sizes[dim] > 1:
            raise ValueError(
                f"gather: dimension {dim} is collapsed or batching, so its slice size must be 1, not {slice_sizes[dim]}"
            )
    window = [size for dim, size in enumerate(slice_sizes) if dim not in left_out]
    rank = indices.ndim - 1 + len(window)
    _check_dimensions("gather", "offset_dims", numbers.offset_dims, rank)
    if len(window) != len(numbers.offset_dims):
        raise ValueError(
            f"gather: offset_dims {numbers.offset_dims} must have {len(window)} entries, one for each slice dimension"
        )
    batch, offset = iter(indices.shape[:-1]), iter(window)
    shape = tuple([next(offset if dim in numbers.offset_dims else batch) for dim in range(rank)])
    return ShapedArray(shape, operand.dtype, operand.weak_type)


def _scatter(name: str, documentation: str) -> Primitive:
    def abstract_eval(
        operand: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: GatherScatterMode,
    ) -> ShapedArray:
        _check_scatter(name, operand, indices, updates, dimension_numbers)
        return ShapedArray(operand.shape, operand.dtype, operand.weak_type and updates.weak_type)

    abstract_eval.__doc__ = documentation
    return indexing.primitive(abstract_eval, name=name, weak_type="own")


def _check_scatter(
    name: str, operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, numbers: ScatterDimensionNumbers
) -> None:
    _check_common(name, operand, indices, numbers)
    if operand.dtype != updates.dtype:
        found = f"{dtypes.dtype_name(operand.dtype)} and {dtypes.dtype_name(updates.dtype)}"
        raise TypeError(f"{name}: operand and updates must have one dtype, got {found}")
    if name in ("scatter_min", "scatter_max"):
        check_dtype(name, operand, ORDERED, "operand")
    if name == "scatter_sub":
        check_dtype(name, operand, NUMERIC, "operand")
    _check_dimensions(name, "update_window_dims", numbers.update_window_dims, updates.ndim)
    window_rank = operand.ndim - len(numbers.inserted_window_dims) - len(numbers.operand_batching_dims)
    if len(numbers.update_window_dims) != window_rank:
        raise ValueError(
            f"{name}: update_window_dims {numbers.update_window_dims} must have {window_rank} entries, one for each "
            f"dimension of "
            f"the operand {operand.shape} that is neither inserted nor batching"
        )
    if updates.ndim != window_rank + indices.ndim - 1:
        raise ValueError(
            f"{name}: updates of shape {updates.shape} must have {window_rank} window dimensions and "
            f"{indices.ndim - 1} for the indices {indices.shape}"
        )
    batch = [size for dim, size in enumerate(updates.shape) if dim not in numbers.update_window_dims]
    if batch != list(indices.shape[:-1]):
        raise ValueError(
            f"{name}: updates {updates.shape} do not have the batch dimensions of the indices {indices.shape[:-1]}"
        )
    for size, whole in zip(window_sizes(numbers, operand.shape, updates.shape), operand.shape):
        if size > whole:
            raise ValueError(f"{name}: windows of the updates {updates.shape} exceed the operand {operand.shape}")


scatter_p = _scatter("scatter", "The operand with windows replaced by updates.")
scatter_add_p = _scatter("scatter_add", "The operand with updates added to windows.")
scatter_sub_p = _scatter("scatter_sub", "The operand with updates subtracted from windows.")
scatter_mul_p = _scatter("scatter_mul", "The operand with windows multiplied by updates.")
scatter_min_p = _scatter("scatter_min", "The operand with the lesser of windows and updates.")
scatter_max_p = _scatter("scatter_max", "The operand with the greater of windows and updates.")
SCATTERS = (scatter_p, scatter_add_p, scatter_sub_p, scatter_mul_p, scatter_min_p, scatter_max_p)
