"""The public functions of the family."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad._lax.indexing import primitives as p
from tangrad._lax.indexing.primitives import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from tangrad._lax.operands import operand as as_named_operand
from tangrad._lax.structure.primitives import concatenate_p, reshape_p
from tangrad.core import Array, Primitive, as_operand, dtypes, literal
from tangrad.core.arguments import canonicalize_shape
from tangrad.typing import ArrayLike, DType


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: GatherScatterMode | str | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Slices of `operand` that begin at the given indices, in one array.

    Args:
        operand: the array to read.
        start_indices: integers; the last dimension holds the components of each index.
        dimension_numbers: what the dimensions mean.
        slice_sizes: the size of the slices along each dimension of the operand.
        unique_indices, indices_are_sorted: what the caller promises, to make it faster.
        mode: for indices out of bounds: "fill", "clip" or "promise_in_bounds" (the default).
        fill_value: what slices out of bounds are filled with; default: NaN, the least integer, the greatest unsigned
            one, True.

    Raises ValueError for shapes and numbers that do not fit, TypeError for indices that are not integers.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> lax.gather(np.arange(6).reshape(3, 2), np.array([[2], [0]]), numbers, (1, 2))
    Array([[4, 5],
           [0, 1]], dtype=int32)
    """
    operand = as_named_operand("gather", operand, "operand")
    parsed = GatherScatterMode.from_any("promise_in_bounds" if mode is None else mode)
    if parsed is not GatherScatterMode.FILL_OR_DROP:
        fill_value = None
    else:
        fill_value = default_fill(operand.aval.dtype) if fill_value is None else _scalar(fill_value, operand.aval.dtype)
    return p.gather_p.bind(
        operand,
        as_operand(start_indices),
        dimension_numbers=dimension_numbers,
        slice_sizes=canonicalize_shape(slice_sizes),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=parsed,
        fill_value=fill_value,
    )


def default_fill(dtype: DType) -> int | float | bool:
    """What a gather puts where there is nothing to read."""
    if isinstance(dtype, dtypes.ExtendedDType):
        return 0xFFFFFFFF  # of its words
    if dtypes.issubdtype(dtype, np.inexact):
        return float("nan")
    if dtypes.issubdtype(dtype, np.signedinteger):
        return int(dtypes.iinfo(dtype).min)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return int(dtypes.iinfo(dtype).max)
    return True


def _scalar(value: object, dtype: np.dtype) -> Any:
    """A fill value as a hashable Python number of the dtype's kind."""
    return np.asarray(value).astype(dtype).item()


def _scatter_function(primitive: Primitive, does: str, example: str) -> Callable[..., Array]:
    def scatter_like(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: GatherScatterMode | str | None = None,
    ) -> Array:
        x, new = as_named_operand(primitive.name, operand, "operand"), as_operand(updates)
        if new.aval.dtype != x.aval.dtype and new.aval.weak_type and not new.aval.shape:
            new = literal(np.asarray(new).item(), x.aval.dtype, True)
        return primitive.bind(
            x,
            as_operand(scatter_indices),
            new,
            dimension_numbers=dimension_numbers,
            indices_are_sorted=bool(indices_are_sorted),
            unique_indices=bool(unique_indices),
            mode=GatherScatterMode.from_any(mode),
        )

    scatter_like.__name__ = scatter_like.__qualname__ = primitive.name
    scatter_like.__doc__ = f"""{does}

    Args:
        operand: the array to start from; it is not changed.
        scatter_indices: integers; the last dimension holds the components of each index.
        updates: the windows, of the operand's dtype.
        dimension_numbers: what the dimensions mean.
        indices_are_sorted, unique_indices: what the caller promises, to make it faster.
        mode: for windows out of bounds: "drop" (the default), "clip" or "promise_in_bounds".

    Raises ValueError for shapes and numbers that do not fit, TypeError for dtypes.

    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.{primitive.name}(np.array([1.0, 2.0, 3.0]), np.array([[2], [0]]), np.array([5.0, 7.0]), numbers)
    {example}
    """
    return scatter_like


_ARRAY = "Array([{}], dtype=float32)"
scatter = _scatter_function(
    p.scatter_p, "A copy of `operand` with windows replaced by `updates`.", _ARRAY.format("7., 2., 5.")
)
scatter_add = _scatter_function(p.scatter_add_p, "A copy with `updates` added to windows.", _ARRAY.format("8., 2., 8."))
scatter_sub = _scatter_function(
    p.scatter_sub_p, "A copy with `updates` subtracted from windows.", _ARRAY.format("-6.,  2., -2.")
)
scatter_mul = _scatter_function(
    p.scatter_mul_p, "A copy with windows multiplied by `updates`.", _ARRAY.format(" 7.,  2., 15.")
)
scatter_min = _scatter_function(
    p.scatter_min_p, "A copy with the lesser of windows and `updates`.", _ARRAY.format("1., 2., 3.")
)
scatter_max = _scatter_function(
    p.scatter_max_p, "A copy with the greater of windows and `updates`.", _ARRAY.format("7., 2., 5.")
)


def index_take(src: ArrayLike, idxs: Sequence[object], axes: Sequence[int]) -> Array:
    """Slices of `src` of size 1 along `axes`, at the vectors of indices `idxs`, one for each axis.

    Returns an array with the vectors' dimension in front, followed by the other dimensions of `src`.

    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> lax.index_take(np.arange(6).reshape(3, 2), (np.array([2, 0]), np.array([1, 1])), (0, 1))
    Array([5, 1], dtype=int32)
    """
    from_axes = tuple([operator.index(axis) for axis in axes])
    source = as_named_operand("index_take", src, "src")
    shape = source.aval.shape
    columns = [
        reshape_p.bind(as_operand(index), new_sizes=(*as_operand(index).aval.shape, 1), dimensions=None)
        for index in idxs
    ]
    indices = columns[0] if len(columns) == 1 else concatenate_p.bind(*columns, dimension=1)
    sizes = tuple([1 if dim in from_axes else size for dim, size in enumerate(shape)])
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, len(shape) - len(from_axes) + 1)),
        collapsed_slice_dims=tuple(sorted(from_axes)),
        start_index_map=from_axes,
    )
    return gather(source, indices, numbers, sizes, mode="clip")
