"""Sparse arrays in other orders, shapes and layouts, parts of them, several joined, sums."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from tangrad._sparse import parts
from tangrad._sparse.bcoo import BCOO
from tangrad._sparse.conversions import all_sparse, checked
from tangrad.core import api_boundary
from tangrad.typing import ArrayLike


@api_boundary
def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """With the dimensions in another order, those of each kind (batch, sparse, dense) among themselves.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> mat = sparse.bcoo_fromdense(np.array([[0.0, 2.0, 0.0]]))
    >>> sparse.bcoo_transpose(mat, permutation=(1, 0)).shape
    (3, 1)
    """
    return checked("bcoo_transpose", mat).transpose(permutation)


@api_boundary
def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sums over dimensions, as a sparse array whose coordinates may repeat.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> mat = sparse.bcoo_fromdense(np.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> sparse.bcoo_reduce_sum(mat, axes=(0,)).todense()
    Array([1., 5.], dtype=float32)
    """
    return checked("bcoo_reduce_sum", mat).sums(axes)


# --- parts -----------------------------------------------------------------------------------------------------------


@api_boundary
def bcoo_slice(
    mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> BCOO:
    """The part of an array from `start_indices` up to `limit_indices`, in steps of `strides`, as `lax.slice`.

    As many elements are kept as before, or as there are places, if those are fewer.

    Raises ValueError for what is not within the array.

    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_slice(sparse.eye(4), start_indices=(1, 0), limit_indices=(4, 2)).todense()
    Array([[0., 1.],
           [0., 0.],
           [0., 0.]], dtype=float32)
    """
    checked("bcoo_slice", mat)
    starts, limits = _of_dimensions("bcoo_slice", mat, start_indices=start_indices, limit_indices=limit_indices)
    (steps,) = _of_dimensions("bcoo_slice", mat, strides=strides or (1,) * mat.ndim)
    for start, limit, size in zip(starts, limits, mat.shape, strict=True):
        if not 0 <= start <= limit <= size:
            raise ValueError(
                f"bcoo_slice: start_indices {tuple(starts)} and limit_indices {tuple(limits)} are not within the "
                f"shape {mat.shape}"
            )
    if any([step < 1 for step in steps]):
        raise ValueError(f"bcoo_slice: strides must be positive, got {tuple(steps)}")
    return parts.sliced(mat, starts, limits, steps)


@api_boundary
def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[ArrayLike], slice_sizes: Sequence[int]) -> BCOO:
    """The part of `slice_sizes` from places that may be traced, moved so that it is within, as `lax.dynamic_slice`.

    Raises ValueError for sizes beyond those of the array.

    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_dynamic_slice(sparse.eye(4), (1, 9), (2, 2)).todense()
    Array([[0., 0.],
           [1., 0.]], dtype=float32)
    """
    checked("bcoo_dynamic_slice", mat)
    (sizes,) = _of_dimensions("bcoo_dynamic_slice", mat, slice_sizes=slice_sizes)
    if len(start_indices) != mat.ndim:
        raise ValueError(f"bcoo_dynamic_slice: {len(start_indices)} start_indices of an array of {mat.ndim} dimensions")
    if any([not 0 <= size <= whole for size, whole in zip(sizes, mat.shape, strict=True)]):
        raise ValueError(f"bcoo_dynamic_slice: slice_sizes {tuple(sizes)} do not fit into the shape {mat.shape}")
    return parts.dynamically_sliced(mat, start_indices, sizes)


def _of_dimensions(name: str, mat: BCOO, **arguments: Sequence[int]) -> list[list[int]]:
    """Arguments with an integer for each dimension; raises ValueError for another number."""
    for argument, values in arguments.items():
        if len(values) != mat.ndim:
            raise ValueError(f"{name}: {len(values)} {argument} of an array of {mat.ndim} dimensions")
    return [[operator.index(value) for value in values] for values in arguments.values()]


@api_boundary
def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """With the elements in reverse order along dimensions, as `lax.rev`.

    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_rev(sparse.eye(2), (0,)).todense()
    Array([[0., 1.],
           [1., 0.]], dtype=float32)
    """
    found = parts.check_dimensions("bcoo_rev", checked("bcoo_rev", operand), dimensions)
    return parts.reversed_along(operand, found)


@api_boundary
def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Without dimensions of size 1, as `lax.squeeze`. Raises ValueError for those of another size.

    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_squeeze(sparse.eye(1, 3), dimensions=(0,)).todense()
    Array([1., 0., 0.], dtype=float32)
    """
    found = parts.check_dimensions("bcoo_squeeze", checked("bcoo_squeeze", arr), dimensions)
    if any([arr.shape[one] != 1 for one in found]):
        raise ValueError(f"bcoo_squeeze: dimensions {tuple(dimensions)} of shape {arr.shape} are not all of size 1")
    return parts.squeezed(arr, found)


# --- shapes and layouts ----------------------------------------------------------------------------------------------


@api_boundary
def bcoo_reshape(mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> BCOO:
    """The same elements in another shape, as `lax.reshape`.

    Args:
        mat: the array.
        new_sizes: the shape. Batch, sparse and dense dimensions stay apart: the sizes begin with some whose product is
            that of the batches, and end with some whose product is that of the dense ones.
        dimensions: in which order the dimensions are gone through; None: as they are.

    Raises ValueError for shapes of which that does not hold.

    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_reshape(sparse.eye(2), new_sizes=(4,)).todense()
    Array([1., 0., 0., 1.], dtype=float32)
    """
    turned = checked("bcoo_reshape", mat) if dimensions is None else mat.transpose(dimensions)
    return parts.reshaped(turned, parts.whole_shape(mat, new_sizes))


@api_boundary
def bcoo_broadcast_in_dim(mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> BCOO:
    """Repeated along new dimensions and along those of size 1, as `lax.broadcast_in_dim`.

    New dimensions before the first that is no batch are batches, those behind the first dense one are dense, others
    sparse: what is repeated along these is there as often.

    Args:
        mat: the array.
        shape: of the result.
        broadcast_dimensions: where its dimensions are in the result, in order.

    Raises ValueError for what does not fit together.

    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_broadcast_in_dim(sparse.eye(2), shape=(3, 2, 2), broadcast_dimensions=(1, 2))
    BCOO(float32[3, 2, 2], nse=2, n_batch=1)
    """
    checked("bcoo_broadcast_in_dim", mat)
    places = [operator.index(place) for place in broadcast_dimensions]
    fits = (
        len(places) == mat.ndim and places == sorted({*places}) and all([0 <= place < len(shape) for place in places])
    )
    if not fits or any([size not in (1, shape[place]) for place, size in zip(places, mat.shape, strict=True)]):
        raise ValueError(
            f"bcoo_broadcast_in_dim: an array of shape {mat.shape} cannot have the shape {tuple(shape)} with "
            f"broadcast_dimensions {tuple(broadcast_dimensions)}"
        )
    return mat.broadcast_in_dim(shape, places)


@api_boundary
def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Arrays of one layout, one after the other along a dimension, as `lax.concatenate`.

    Raises ValueError for layouts and shapes that differ, TypeError for dense arrays.

    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_concatenate([sparse.eye(1), sparse.eye(1)], dimension=1).todense()
    Array([[1., 1.]], dtype=float32)
    """
    mats = all_sparse("bcoo_concatenate", operands)
    (axis,) = parts.check_dimensions("bcoo_concatenate", mats[0], (dimension,))
    others = {(*mat.shape[:axis], *mat.shape[axis + 1 :]) for mat in mats}
    if len(others) > 1 or len({mat.ndim for mat in mats}) > 1:
        raise ValueError(
            f"bcoo_concatenate: shapes must be equal but for dimension {axis}, got {[mat.shape for mat in mats]}"
        )
    return parts.joined(mats, axis)


@api_boundary
def bcoo_update_layout(
    mat: BCOO, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
) -> BCOO:
    """The same array with other numbers of batch and dense dimensions.

    Args:
        mat: the array.
        n_batch, n_dense: how many dimensions are to be batches, and how many are to be kept in full; None: as many as
            before.
        on_inefficient: what to do where more than before has to be kept: "error", "warn", or None for nothing.

    Raises:
        SparseEfficiencyError: where more has to be kept, unless `on_inefficient` allows it.
        ValueError: for numbers that are not those of dimensions.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> mat = sparse.bcoo_fromdense(np.ones((2, 3)), n_batch=1)
    >>> sparse.bcoo_update_layout(mat, n_batch=0)
    BCOO(float32[2, 3], nse=6)
    """
    return checked("bcoo_update_layout", mat).update_layout(
        n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
    )
