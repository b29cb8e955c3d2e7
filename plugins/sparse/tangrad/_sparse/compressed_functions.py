"""Functions of `BCSR`: conversions, products, and what makes larger ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from tangrad._sparse import algebra
from tangrad._sparse.bcoo import BCOO
from tangrad._sparse.compressed import BCSR
from tangrad._sparse.products import placed_product
from tangrad._sparse.structure import bcoo_broadcast_in_dim, bcoo_concatenate
from tangrad.core import Array, api_boundary, as_array
from tangrad.typing import ArrayLike, DTypeLike


def _checked(name: str, mat: Any) -> BCSR:
    if not isinstance(mat, BCSR):
        raise TypeError(f"{name} expects a BCSR, got {mat!r} of type {type(mat).__name__}")
    return mat


@api_boundary
def bcsr_fromdense(
    mat: ArrayLike, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: DTypeLike = np.int32
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
def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Array:
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
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> BCSR: ...
@overload
def bcsr_dot_general(
    lhs: BCSR,
    rhs: ArrayLike,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array: ...
@overload
def bcsr_dot_general(
    lhs: ArrayLike,
    rhs: BCSR,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array: ...
@api_boundary
def bcsr_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> BCSR | Array:
    """A contraction as `lax.dot_general`, of arrays of which one or both are a `BCSR`; see `bcoo_dot_general`.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> sparse.bcsr_dot_general(sparse.eye(2, sparse_format="bcsr"), np.ones(2), dimension_numbers=numbers)
    Array([1., 1.], dtype=float32)
    """
    if not isinstance(lhs, BCSR) and not isinstance(rhs, BCSR):
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
