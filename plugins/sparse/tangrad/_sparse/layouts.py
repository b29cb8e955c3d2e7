"""The layout of sparse arrays: which dimensions are batches, and which are kept in full."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad.numpy as tnp
from tangrad._sparse import algebra
from tangrad.core.arguments import product

if TYPE_CHECKING:
    from tangrad._sparse.coordinates import BCOO


def converted(mat: Any, n_batch: int, n_dense: int) -> BCOO:
    """The same array with other numbers of batch and dense dimensions."""
    data, indices = mat.data, mat.indices
    shape = mat.shape
    for axis in reversed(range(n_batch, mat.n_batch)):
        data, indices = _batch_as_coordinate(data, indices, axis)
    for axis in range(mat.ndim - mat.n_dense, mat.ndim - n_dense):
        data, indices = _dense_as_coordinate(data, indices, shape[axis])
    for axis in range(mat.n_batch, n_batch):
        data, indices = _coordinate_as_batch(data, indices, shape[axis : mat.ndim - min(n_dense, mat.n_dense)])
    for axis in reversed(range(mat.ndim - n_dense, mat.ndim - mat.n_dense)):
        data, indices = _coordinate_as_dense(data, indices, shape[n_batch : axis + 1])
    return type(mat)((data, indices), shape=shape)


def _batch_as_coordinate(data: Any, indices: Any, axis: int) -> algebra.Pair:
    """With the last batch dimension as the first coordinate."""
    size, nse = indices.shape[axis : axis + 2]
    place = np.broadcast_to(np.arange(size)[:, None, None], (*indices.shape[:-1], 1)).astype(indices.dtype)
    merged = (*indices.shape[:axis], size * nse)
    whole = tnp.concatenate([place, indices], -1)
    return data.reshape((*merged, *data.shape[axis + 2 :])), whole.reshape((*merged, whole.shape[-1]))


def _dense_as_coordinate(data: Any, indices: Any, size: int) -> algebra.Pair:
    """With the first dense dimension as the last coordinate."""
    n_batch = indices.ndim - 2
    nse = indices.shape[-2] * size
    places = np.broadcast_to(np.arange(size)[:, None], (*indices.shape[:-1], size, 1)).astype(indices.dtype)
    repeated = tnp.broadcast_to(indices[..., None, :], (*indices.shape[:-1], size, indices.shape[-1]))
    whole = tnp.concatenate([repeated, places], -1)
    batch = indices.shape[:n_batch]
    return data.reshape((*batch, nse, *data.shape[n_batch + 2 :])), whole.reshape((*batch, nse, whole.shape[-1]))


def _coordinate_as_batch(data: Any, indices: Any, sizes: Sequence[int]) -> algebra.Pair:
    """With the first coordinate as the last batch dimension: each batch has room for all elements."""
    n_batch = indices.ndim - 2
    batch, nse = indices.shape[:n_batch], indices.shape[-2]
    mine = indices[..., None, :, 0] == np.arange(sizes[0])[:, None]
    data = tnp.broadcast_to(tnp.expand_dims(data, n_batch), (*batch, sizes[0], *data.shape[n_batch:]))
    outside = np.array(sizes[1:]).astype(indices.dtype)
    rest = tnp.broadcast_to(indices[..., None, :, 1:], (*batch, sizes[0], nse, len(outside)))
    return algebra.values_where(mine, data), tnp.where(mine[..., None], rest, outside)


def _coordinate_as_dense(data: Any, indices: Any, sizes: Sequence[int]) -> algebra.Pair:
    """With the last coordinate as the first dense dimension."""
    mine = indices[..., -1:] == np.arange(sizes[-1])
    wide = mine.reshape((*mine.shape, *[1] * (data.ndim - mine.ndim + 1)))
    spread = tnp.where(wide, tnp.expand_dims(data, indices.ndim - 1), tnp.zeros((), data.dtype))
    return algebra.without_coordinates(spread, indices, sizes, range(len(sizes) - 1))


class SparseEfficiencyError(ValueError):
    """A layout in which more has to be kept than before.

    >>> from tangrad.experimental import sparse
    >>> sparse.eye(3).update_layout(n_batch=1)
    Traceback (most recent call last):
        ...
    tangrad._sparse.layouts.SparseEfficiencyError: update_layout: with n_batch=1 and n_dense=0 there are 9...
    """


class SparseEfficiencyWarning(UserWarning):
    """As `SparseEfficiencyError`, where that was asked for.

    >>> from tangrad.experimental import sparse
    >>> issubclass(sparse.SparseEfficiencyWarning, UserWarning)
    True
    """


def updated(mat: Any, n_batch: int | None, n_dense: int | None, on_inefficient: str | None) -> BCOO:
    """As `bcoo_update_layout`."""
    n_batch = mat.n_batch if n_batch is None else operator.index(n_batch)
    n_dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(
            f"update_layout: n_batch={n_batch} and n_dense={n_dense} are not those of an array of {mat.ndim} dimensions"
        )
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(f"update_layout: on_inefficient must be 'error', 'warn' or None, got {on_inefficient!r}")
    kept, whole = mat.data.size, converted_size(mat, n_batch, n_dense)
    if whole > kept and on_inefficient is not None:
        message = (
            f"update_layout: with n_batch={n_batch} and n_dense={n_dense} there are {whole} values to be kept "
            f"instead of {kept}; on_inefficient=None allows it"
        )
        if on_inefficient == "error":
            raise SparseEfficiencyError(message)
        warnings.warn(message, SparseEfficiencyWarning, stacklevel=3)
    if (n_batch, n_dense) == (mat.n_batch, mat.n_dense):
        return mat
    return converted(mat, n_batch, n_dense)


def converted_size(mat: Any, n_batch: int, n_dense: int) -> int:
    """How many values are kept in another layout."""
    new_batches = mat.shape[mat.n_batch : n_batch]
    new_dense = mat.shape[mat.ndim - n_dense : mat.ndim - mat.n_dense]
    return int(mat.data.size * product(new_batches) * product(new_dense))
