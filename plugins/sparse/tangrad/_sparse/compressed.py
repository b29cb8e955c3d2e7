"""`BCSR`: batches of matrices by rows, and functions of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

import tangrad.numpy as tnp
from tangrad._sparse import algebra
from tangrad._sparse.base import JAXSparse
from tangrad._sparse.bcoo import BCOO
from tangrad._sparse.products import placed_product
from tangrad._sparse.structure import bcoo_broadcast_in_dim, bcoo_concatenate
from tangrad.core import Array, api_boundary, as_array, class_boundary
from tangrad.lax import PrecisionLike
from tangrad.typing import ArrayLike, DTypeLike, ShardingLike

# --- `BCSR`: batches of matrices by rows: columns and values, and where each row begins -------------------------------


@class_boundary
class BCSR(JAXSparse):
    """An array of matrices of which only some elements are kept, row after row.

    Its dimensions are, in this order, batches, rows and columns, and those that are kept in full at each place.

    Args:
        args: `(data, indices, indptr)`: the values (*batch, nse, *dense), their columns (*batch, nse), and where the
            elements of each row begin among them (*batch, rows + 1): both integers.
        shape: of the array.
        indices_sorted, unique_indices: whether columns are known to be in order within rows, and each there once.

    Raises ValueError for shapes that do not fit together, TypeError for indices that are no integers.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.sparse import BCSR
    >>> matrix = BCSR.fromdense(np.array([[0.0, 2.0], [3.0, 4.0]]))
    >>> matrix.indptr
    Array([0, 1, 3], dtype=int32)
    >>> matrix @ np.array([1.0, 10.0])
    Array([20., 43.], dtype=float32)
    """

    coordinates = ("indices", "indptr")
    indptr: Array

    n_batch = property(lambda self: self.indices.ndim - 1, doc="How many dimensions are batches.")
    n_sparse = property(lambda self: 2, doc="How many dimensions have coordinates: rows and columns.")

    def _check(self, shape: tuple[int, ...]) -> None:
        n_batch = self.n_batch
        if n_batch < 0 or self.n_dense < 0 or n_batch + 2 + self.n_dense != len(shape):
            raise ValueError(
                f"BCSR: data of shape {self.data.shape} and indices of shape {self.indices.shape} are not of an array "
                f"of shape {shape}"
            )
        batch, rows, dense = shape[:n_batch], shape[n_batch], shape[n_batch + 2 :]
        expected = (*batch, self.nse, *dense), (*batch, self.nse), (*batch, rows + 1)
        found = self.data.shape, self.indices.shape, self.indptr.shape
        if found != expected:
            raise ValueError(
                f"BCSR: for the shape {shape} with {n_batch} batch dimensions, data, indices and indptr must be of "
                f"shapes {expected}, got {found}"
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
    ) -> BCSR:
        """The elements of an array that are not 0; see `bcsr_fromdense`."""
        if np.ndim(mat) - n_batch - n_dense != 2:
            raise ValueError(
                f"BCSR: an array of shape {np.shape(mat)} with n_batch={n_batch} and n_dense={n_dense} has no rows and "
                "columns left, or more dimensions than these"
            )
        found = BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)
        return cls.from_bcoo(found)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """The elements of a `BCOO` with two sparse dimensions, in order. Raises ValueError for another number."""
        if arr.n_sparse != 2:
            raise ValueError(f"BCSR.from_bcoo expects an array with 2 sparse dimensions, got {arr.n_sparse}: {arr}")
        arr = arr.sort_indices()
        rows, columns = arr.indices[..., :1], arr.indices[..., 1]
        n_batch = arr.n_batch
        ones = tnp.ones(columns.shape, columns.dtype)
        counts = algebra.to_dense(ones, rows, arr.shape[: n_batch + 1])
        ends = tnp.cumsum(counts, -1, dtype=columns.dtype)
        indptr = tnp.concatenate([tnp.zeros((*ends.shape[:-1], 1), ends.dtype), ends], -1)
        return cls((arr.data, columns, indptr), shape=arr.shape, **arr.flags)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: object = None, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """A matrix of SciPy's. Raises NotImplementedError for batch and dense dimensions, which it does not have."""
        if n_dense or n_batch:
            raise NotImplementedError("BCSR.from_scipy_sparse: SciPy's matrices have sparse dimensions alone")
        rows = mat.tocsr()
        places = [one.astype(index_dtype or np.int32) for one in (rows.indices, rows.indptr)]
        return cls((rows.data, *places), shape=mat.shape)

    def to_bcoo(self) -> BCOO:
        """The same elements with their rows as coordinates."""
        n_batch, nse = self.n_batch, self.nse
        ends = self.indptr[..., 1:]
        marks = algebra.to_dense(tnp.ones(ends.shape, ends.dtype), ends[..., None], (*self.shape[:n_batch], nse + 1))
        # As many rows have ended before an element as its own number is; behind the last one it stands outside.
        rows = tnp.cumsum(marks, -1, dtype=self.indices.dtype)[..., :nse]
        return BCOO((self.data, tnp.stack([rows, self.indices], -1)), shape=self.shape, **self.flags)

    def todense(self) -> Array:
        """The array with its zeros."""
        return self.to_bcoo().todense()

    def __getitem__(self, index: object) -> BCSR:
        """The part at slices, with `...` and None, and of batches at integers; two sparse dimensions must be left."""
        return BCSR.from_bcoo(self.to_bcoo()[index])

    # --- structure --------------------------------------------------------------------------------------------------

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """With each element once, in order; see `bcsr_sum_duplicates`."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))

    def transpose(self, axes: Sequence[int] | None = None) -> BCSR:
        """With the dimensions in another order, those of each kind among themselves; None: in reverse order."""
        return BCSR.from_bcoo(self.to_bcoo().transpose(axes))


# --- Functions of `BCSR`: conversions, products, and what makes larger ones -------------------------------------------


def _checked(name: str, mat: object) -> BCSR:
    if not isinstance(mat, BCSR):
        raise TypeError(f"{name} expects a BCSR, got {mat!r} of type {type(mat).__name__}")
    return mat


@api_boundary
def bcsr_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: DTypeLike = np.int32
) -> BCSR:
    """The elements of an array that are not 0, row by row.

    Args:
        mat: the array; without its batch and dense dimensions it has two, rows and columns.
        nse: how many are kept of each batch, the first ones; None: as many as there are in the fullest batch.
        n_batch, n_dense: how many dimensions, at the front and at the end, are batches, and are kept in full.
        index_dtype: the dtype of the columns.

    Raises ValueError for layouts that do not fit, and without `nse` in a function that is traced.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.bcsr_fromdense(np.array([[0.0, 2.0], [3.0, 0.0]])).indptr
    Array([0, 1, 2], dtype=int32)
    """
    return BCSR.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


@api_boundary
def bcsr_todense(mat: BCSR) -> Array:
    """The array with its zeros.

    >>> from tangrad.experimental import sparse
    >>> sparse.bcsr_todense(sparse.eye(2, sparse_format="bcsr"))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _checked("bcsr_todense", mat).todense()


@api_boundary
def bcsr_extract(indices: object, indptr: object, mat: object) -> Array:
    """The values of a dense array at the places that columns and the beginnings of rows say.

    Args:
        indices, indptr: as of a `BCSR`.
        mat: the array, of that `BCSR`'s shape.

    >>> import numpy
    >>> from tangrad.experimental import sparse
    >>> places = numpy.array([1, 0]), numpy.array([0, 1, 2])
    >>> sparse.bcsr_extract(*places, numpy.float32([[5, 6], [7, 8]]))
    Array([6., 7.], dtype=float32)
    """
    dense, columns = as_array(mat), as_array(indices)
    n_batch = columns.ndim - 1
    values = np.zeros((*columns.shape, *dense.shape[n_batch + 2 :]), dense.dtype)
    pattern = BCSR((values, columns, indptr), shape=dense.shape)
    return algebra.extracted(dense, pattern.to_bcoo().indices)


@api_boundary
def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """With each element once, in order: values at the same place are added; see `bcoo_sum_duplicates`.

    >>> import numpy
    >>> from tangrad.experimental import sparse
    >>> places = numpy.array([1, 1]), numpy.array([0, 2])
    >>> sparse.bcsr_sum_duplicates(sparse.BCSR((numpy.float32([1, 2]), *places), shape=(1, 2))).data
    Array([3.], dtype=float32)
    """
    return _checked("bcsr_sum_duplicates", mat).sum_duplicates(nse)


@overload
def bcsr_dot_general(
    lhs: BCSR,
    rhs: BCSR,
    *,
    dimension_numbers: object,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> BCSR: ...
@overload
def bcsr_dot_general(
    lhs: BCSR,
    rhs: ArrayLike,
    *,
    dimension_numbers: object,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array: ...
@overload
def bcsr_dot_general(
    lhs: ArrayLike,
    rhs: BCSR,
    *,
    dimension_numbers: object,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array: ...
@api_boundary
def bcsr_dot_general(
    lhs: object,
    rhs: object,
    *,
    dimension_numbers: object,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> BCSR | Array:
    """A contraction as `lax.dot_general`, of arrays of which one or both are sparse; see `bcoo_dot_general`.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> sparse.bcsr_dot_general(sparse.eye(2, sparse_format="bcsr"), np.ones(2), dimension_numbers=numbers)
    Array([1., 1.], dtype=float32)
    """
    if not isinstance(lhs, JAXSparse) and not isinstance(rhs, JAXSparse):
        raise TypeError("bcsr_dot_general: one of the arrays must be a BCSR")
    return placed_product(
        "bcsr_dot_general", lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding
    )


@api_boundary
def bcsr_broadcast_in_dim(mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> BCSR:
    """Repeated along new dimensions, batches or dense ones; see `bcoo_broadcast_in_dim`.

    >>> from tangrad.experimental import sparse
    >>> mat = sparse.eye(2, sparse_format="bcsr")
    >>> sparse.bcsr_broadcast_in_dim(mat, shape=(3, 2, 2), broadcast_dimensions=(1, 2))
    BCSR(float32[3, 2, 2], nse=2, n_batch=1)
    """
    coordinates = _checked("bcsr_broadcast_in_dim", mat).to_bcoo()
    return BCSR.from_bcoo(bcoo_broadcast_in_dim(coordinates, shape=shape, broadcast_dimensions=broadcast_dimensions))


@api_boundary
def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Arrays of one layout, one after the other along a dimension; see `bcoo_concatenate`.

    >>> from tangrad.experimental import sparse
    >>> mat = sparse.eye(1, sparse_format="bcsr")
    >>> sparse.bcsr_concatenate([mat, mat], dimension=1).todense()
    Array([[1., 1.]], dtype=float32)
    """
    mats: list[BCOO] = [_checked("bcsr_concatenate", one).to_bcoo() for one in operands]
    return BCSR.from_bcoo(bcoo_concatenate(mats, dimension=dimension))
