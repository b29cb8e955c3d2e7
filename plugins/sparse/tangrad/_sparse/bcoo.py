"""`BCOO`: batches of coordinates and the values there, and which dimensions are batches or kept in full."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad.numpy as tnp
from tangrad._sparse import algebra, parts
from tangrad._sparse.base import JAXSparse
from tangrad.core import Array, as_array, class_boundary
from tangrad.core.arguments import product

if TYPE_CHECKING:
    from tangrad.typing import DTypeLike, Value

# --- The layout of sparse arrays: which dimensions are batches, and which are kept in full ----------------------------


def converted(mat: BCOO, n_batch: int, n_dense: int) -> BCOO:
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


def _batch_as_coordinate(data: Array, indices: Array, axis: int) -> algebra.Pair:
    """With the last batch dimension as the first coordinate."""
    size, nse = indices.shape[axis : axis + 2]
    place = np.broadcast_to(np.arange(size)[:, None, None], (*indices.shape[:-1], 1)).astype(indices.dtype)
    merged = (*indices.shape[:axis], size * nse)
    whole = tnp.concatenate([place, indices], -1)
    return data.reshape((*merged, *data.shape[axis + 2 :])), whole.reshape((*merged, whole.shape[-1]))


def _dense_as_coordinate(data: Array, indices: Array, size: int) -> algebra.Pair:
    """With the first dense dimension as the last coordinate."""
    n_batch = indices.ndim - 2
    nse = indices.shape[-2] * size
    places = np.broadcast_to(np.arange(size)[:, None], (*indices.shape[:-1], size, 1)).astype(indices.dtype)
    repeated = tnp.broadcast_to(indices[..., None, :], (*indices.shape[:-1], size, indices.shape[-1]))
    whole = tnp.concatenate([repeated, places], -1)
    batch = indices.shape[:n_batch]
    return data.reshape((*batch, nse, *data.shape[n_batch + 2 :])), whole.reshape((*batch, nse, whole.shape[-1]))


def _coordinate_as_batch(data: Array, indices: Array, sizes: Sequence[int]) -> algebra.Pair:
    """With the first coordinate as the last batch dimension: each batch has room for all elements."""
    n_batch = indices.ndim - 2
    batch, nse = indices.shape[:n_batch], indices.shape[-2]
    mine = indices[..., None, :, 0] == np.arange(sizes[0])[:, None]
    data = tnp.broadcast_to(tnp.expand_dims(data, n_batch), (*batch, sizes[0], *data.shape[n_batch:]))
    outside = np.array(sizes[1:]).astype(indices.dtype)
    rest = tnp.broadcast_to(indices[..., None, :, 1:], (*batch, sizes[0], nse, len(outside)))
    return algebra.values_where(mine, data), tnp.where(mine[..., None], rest, outside)


def _coordinate_as_dense(data: Array, indices: Value, sizes: Sequence[int]) -> algebra.Pair:
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
    tangrad._sparse.bcoo.SparseEfficiencyError: update_layout: with n_batch=1 and n_dense=0 there are 9...
    """


class SparseEfficiencyWarning(UserWarning):
    """As `SparseEfficiencyError`, where that was asked for.

    >>> from tangrad.experimental import sparse
    >>> issubclass(sparse.SparseEfficiencyWarning, UserWarning)
    True
    """


def updated(mat: BCOO, n_batch: int | None, n_dense: int | None, on_inefficient: str | None) -> BCOO:
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


def converted_size(mat: BCOO, n_batch: int, n_dense: int) -> int:
    """How many values are kept in another layout."""
    new_batches = mat.shape[mat.n_batch : n_batch]
    new_dense = mat.shape[mat.ndim - n_dense : mat.ndim - mat.n_dense]
    return int(mat.data.size * product(new_batches) * product(new_dense))


# --- `BCOO`: batches of coordinates and the values there --------------------------------------------------------------


@class_boundary
class BCOO(JAXSparse):
    """An array of which only some elements are kept: the others are 0.

    The dimensions of `shape` are, in this order, batches (each with coordinates of its own), those that coordinates are
    along (sparse), and those that are kept in full at each coordinate (dense). Coordinates may repeat: their values add
    up. A coordinate that is not within the array stands for nothing, which fills up what is kept to a fixed number. A
    pytree, of data and indices.

    Args:
        args: `(data, indices)`: the values (*batch, nse, *dense), and their coordinates, integers (*batch, nse,
            n_sparse).
        shape: of the array.
        indices_sorted, unique_indices: whether the coordinates are known to be in order, and each there once.

    Raises ValueError for shapes that do not fit together, TypeError for indices that are no integers.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.sparse import BCOO
    >>> matrix = BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> matrix
    BCOO(float32[2, 2], nse=2)
    >>> matrix @ np.array([1.0, 10.0])
    Array([20.,  3.], dtype=float32)
    """

    coordinates = ("indices",)

    n_batch = property(lambda self: self.indices.ndim - 2, doc="How many dimensions are batches.")
    n_sparse = property(lambda self: self.indices.shape[-1], doc="How many dimensions coordinates are along.")

    def _check(self, shape: tuple[int, ...]) -> None:
        n_batch, n_sparse = self.n_batch, self.n_sparse if self.indices.ndim else 0
        if n_batch < 0 or self.n_dense < 0 or n_batch + n_sparse + self.n_dense != len(shape):
            raise ValueError(
                f"BCOO: data of shape {self.data.shape} and indices of shape {self.indices.shape} are not of "
                f"an array of shape {shape}"
            )
        batch, dense = shape[:n_batch], shape[n_batch + n_sparse :]
        if self.data.shape != (*batch, self.nse, *dense) or self.indices.shape != (*batch, self.nse, n_sparse):
            raise ValueError(
                f"BCOO: for the shape {shape}, with {n_batch} batch and {n_sparse} sparse dimensions, data must "
                f"be of shape {(*batch, self.nse, *dense)} and indices of shape {(*batch, self.nse, n_sparse)}, got "
                f"{self.data.shape} and {self.indices.shape}"
            )

    # --- conversions ------------------------------------------------------------------------------------------------

    @classmethod
    def fromdense(
        cls,
        mat: Any,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """The elements of an array that are not 0; see `bcoo_fromdense`."""
        data, indices = algebra.from_dense(as_array(mat), nse, n_batch, n_dense, index_dtype)
        return cls((data, indices), shape=np.shape(mat), indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: DTypeLike | None = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """A matrix of SciPy's. Raises NotImplementedError for batch and dense dimensions, which it does not have."""
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.from_scipy_sparse: SciPy's matrices have sparse dimensions alone")
        coordinates = mat.tocoo()
        indices = np.stack([coordinates.row, coordinates.col], axis=1).astype(index_dtype or np.int32)
        return cls((coordinates.data, indices), shape=mat.shape)

    def todense(self) -> Array:
        """The array with its zeros."""
        return algebra.to_dense(self.data, self.indices, self.shape)

    def to_bcoo(self) -> BCOO:
        """Itself."""
        return self

    # --- structure --------------------------------------------------------------------------------------------------

    def sort_indices(self) -> BCOO:
        """With the coordinates in order."""
        if self.indices_sorted:
            return self
        data, indices = algebra.in_order(self.data, self.indices)
        return BCOO((data, indices), shape=self.shape, indices_sorted=True, unique_indices=self.unique_indices)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """With each coordinate once, in order; see `bcoo_sum_duplicates`."""
        data, indices = algebra.without_duplicates(self.data, self.indices, self.shape, nse, remove_zeros)
        return BCOO((data, indices), shape=self.shape, indices_sorted=True, unique_indices=True)

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """With the dimensions in another order, those of each kind among themselves; None: in reverse order.

        Raises ValueError for an order that mixes batch, sparse and dense dimensions.
        """
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple([int(axis) % self.ndim for axis in axes])
        n_batch, n_sparse = self.n_batch, self.n_sparse
        kinds = [order[:n_batch], order[n_batch : n_batch + n_sparse], order[n_batch + n_sparse :]]
        places = [range(n_batch), range(n_batch, n_batch + n_sparse), range(n_batch + n_sparse, self.ndim)]
        if any([sorted(kind) != list(place) for kind, place in zip(kinds, places, strict=True)]):
            raise ValueError(
                f"BCOO.transpose: axes {order} must keep the {n_batch} batch, {n_sparse} sparse and {self.n_dense} "
                "dense dimensions apart"
            )
        dense = [axis - n_sparse + 1 for axis in kinds[2]]
        data = tnp.transpose(self.data, (*kinds[0], n_batch, *dense))
        indices = tnp.transpose(self.indices, (*kinds[0], n_batch, n_batch + 1))
        indices = indices[..., np.array([axis - n_batch for axis in kinds[1]], np.int32)]
        shape = [self.shape[axis] for axis in order]
        in_order = self.indices_sorted and kinds[1] == tuple(places[1])
        return BCOO((data, indices), shape=shape, indices_sorted=in_order, unique_indices=self.unique_indices)

    def sum(self, axis: int | Sequence[int] | None = None) -> Any:
        """The sums over dimensions, as a sparse array; over all of them (None), as a number."""
        axes = range(self.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
        out = self.sums(axes)
        return out if out.ndim else out.todense()

    def sums(self, axes: Sequence[int]) -> BCOO:
        """The sums over dimensions as a sparse array; see `bcoo_reduce_sum`."""
        return algebra.reduced(self, sorted(parts.check_dimensions("sum", self, axes)))

    def reshape(self, *shape: object) -> BCOO:
        """The same elements in another shape; see `bcoo_reshape`. A size may be -1."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return parts.reshaped(self, parts.whole_shape(self, sizes))

    def broadcast_in_dim(self, shape: Sequence[int], dimensions: Sequence[int]) -> BCOO:
        """Repeated along new dimensions; see `bcoo_broadcast_in_dim`."""
        return parts.broadcast(self, shape, dimensions)

    def update_layout(
        self, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
    ) -> BCOO:
        """With other numbers of batch and dense dimensions; see `bcoo_update_layout`."""
        return updated(self, n_batch, n_dense, on_inefficient)

    def __getitem__(self, index: object) -> BCOO:
        """The part at integers, which may be traced, and slices, with `...` and None."""
        return parts.indexed(self, index)

    def __iter__(self) -> Iterator[BCOO]:
        return iter([self[place] for place in range(len(self))])
