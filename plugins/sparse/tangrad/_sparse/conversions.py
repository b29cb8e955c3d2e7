"""From dense arrays to sparse ones and back, and coordinates in order, each there once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from tangrad import tree
from tangrad._sparse import algebra
from tangrad._sparse.base import JAXSparse
from tangrad._sparse.bcoo import BCOO
from tangrad._sparse.sparsify import dense_within
from tangrad.core import Array, api_boundary, as_array
from tangrad.typing import ArrayLike, DTypeLike, PyTree

# --- From dense arrays to sparse ones, and back -----------------------------------------------------------------------


@api_boundary
def bcoo_fromdense(
    mat: ArrayLike, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: DTypeLike = np.int32
) -> BCOO:
    """The elements of an array that are not 0, in order.

    Args:
        mat: the array.
        nse: how many are kept of each batch, the first ones; None: as many as there are in the fullest batch.
        n_batch, n_dense: how many dimensions, at the front and at the end, are batches, and are kept in full.
        index_dtype: the dtype of the coordinates.

    Raises ValueError for layouts that do not fit, and without `nse` in a function that is traced.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_fromdense(np.array([[0.0, 2.0], [3.0, 0.0]])).indices
    Array([[0, 1],
           [1, 0]], dtype=int32)
    """
    return BCOO.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


@api_boundary
def bcoo_todense(mat: BCOO) -> Array:
    """The array with its zeros.

    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_todense(sparse.eye(2))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return checked("bcoo_todense", mat).todense()


@api_boundary
def bcoo_extract(sparr: BCOO, arr: ArrayLike, *, assume_unique: bool | None = None) -> BCOO:
    """The values of a dense array at the coordinates of a sparse one of the same shape.

    Args:
        sparr: the sparse array.
        arr: the dense one.
        assume_unique: whether each element has the value at its coordinates; else, of several that have the same, the
            first has it, and the others are 0. None: as `sparr.unique_indices`.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_extract(sparse.eye(2), np.array([[5.0, 6.0], [7.0, 8.0]])).data
    Array([5., 8.], dtype=float32)
    """
    dense = as_array(arr)
    if dense.shape != checked("bcoo_extract", sparr).shape:
        raise ValueError(f"bcoo_extract: the arrays have shapes {sparr.shape} and {dense.shape}, which must be equal")
    data = algebra.extracted(dense, sparr.indices)
    if not (sparr.unique_indices if assume_unique is None else assume_unique):
        data = algebra.values_where(algebra.first_of_each(sparr.indices, sparr.shape), data)
    return sparr.like(data)


@overload
def todense(arr: JAXSparse | ArrayLike) -> Array: ...
@overload
def todense(arr: PyTree) -> PyTree: ...
@api_boundary
def todense(arr: PyTree) -> PyTree:
    """A tree with dense arrays in the place of sparse ones, also of those that a function sees within `sparsify`.

    >>> from tangrad.experimental import sparse
    >>> sparse.todense([sparse.eye(1), 2.0])
    [Array([[1.]], dtype=float32), 2.0]
    """
    is_sparse = lambda leaf: isinstance(leaf, JAXSparse)
    return tree.map(lambda leaf: leaf.todense() if is_sparse(leaf) else dense_within(leaf), arr, is_leaf=is_sparse)


def checked(name: str, mat: BCOO) -> BCOO:
    """Raise TypeError for what is no `BCOO`."""
    if not isinstance(mat, BCOO):
        raise TypeError(f"{name} expects a BCOO, got {mat!r} of type {type(mat).__name__}")
    return mat


def all_sparse(name: str, operands: Sequence[Any]) -> list[BCOO]:
    """Raise TypeError unless all of several arrays are `BCOO`s, ValueError unless they are alike in their layout."""
    if not operands:
        raise ValueError(f"{name} expects an array at least")
    mats = [checked(name, one) for one in operands]
    layouts = {(mat.n_batch, mat.n_sparse, mat.n_dense) for mat in mats}
    if len(layouts) > 1:
        raise ValueError(f"{name}: arrays must have equal numbers of batch and dense dimensions, got {mats}")
    return mats


# --- Coordinates in order, and each there once ------------------------------------------------------------------------


@api_boundary
def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """With the coordinates in order.

    >>> import numpy
    >>> from tangrad.experimental import sparse
    >>> mat = sparse.BCOO((numpy.float32([1, 2]), numpy.int32([[1], [0]])), shape=(2,))
    >>> sparse.bcoo_sort_indices(mat).data
    Array([2., 1.], dtype=float32)
    """
    return checked("bcoo_sort_indices", mat).sort_indices()


@api_boundary
def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
    """With each coordinate once, in order: values at the same one are added.

    Args:
        mat: the array.
        nse: how many elements are kept of each batch; None: as many as there are, or, in a function that is traced, as
            there were.
        remove_zeros: whether elements that are 0 are left out.

    >>> import numpy
    >>> from tangrad.experimental import sparse
    >>> mat = sparse.BCOO((numpy.float32([1, 2, 4]), numpy.int32([[1], [0], [1]])), shape=(2,))
    >>> sparse.bcoo_sum_duplicates(mat).data
    Array([2., 5.], dtype=float32)
    """
    return checked("bcoo_sum_duplicates", mat).sum_duplicates(nse, remove_zeros)
