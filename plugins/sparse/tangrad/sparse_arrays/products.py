"""Products of sparse arrays."""

from __future__ import annotations

from typing import Any

from tangrad.core import api_boundary, as_array
from tangrad.sparse_arrays import algebra
from tangrad.sparse_arrays.bcoo import BCOO
from tangrad.sparse_arrays.conversions import checked


@api_boundary
def bcoo_dot_general(lhs: Any, rhs: Any, *, dimension_numbers: Any) -> Any:
    """A contraction as `lax.dot_general`, of arrays of which one or both are sparse.

    Args:
        lhs, rhs: the arrays, without dense dimensions where they are sparse.
        dimension_numbers: `((lhs contracting, rhs contracting), (lhs batch, rhs batch))` dimensions.

    Returns:
        a dense array; where both are sparse a sparse one, with an element for each pair of elements.

    Raises:
        ValueError: for dimensions that do not fit; NotImplementedError: for sparse arrays with dense dimensions.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> sparse.bcoo_dot_general(sparse.eye(2), np.array([3.0, 4.0]), dimension_numbers=numbers)
    Array([3., 4.], dtype=float32)
    """
    lhs, rhs = [one if isinstance(one, BCOO) else as_array(one) for one in (lhs, rhs)]
    if not isinstance(lhs, BCOO) and not isinstance(rhs, BCOO):
        raise TypeError("bcoo_dot_general: one of the arrays must be a BCOO")
    return algebra.dot_general(lhs, rhs, dimension_numbers, BCOO)


@api_boundary
def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> BCOO:
    """A sparse array times a dense one that can be repeated to its shape, element by element.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_multiply_dense(sparse.eye(2), np.array([3.0, 4.0])).data
    Array([3., 4.], dtype=float32)
    """
    return algebra.multiplied(checked("bcoo_multiply_dense", sp_mat), as_array(v), BCOO)


@api_boundary
def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Two sparse arrays of one shape multiplied element by element.

    >>> from tangrad.experimental import sparse
    >>> sparse.bcoo_multiply_sparse(sparse.eye(2), sparse.eye(2)).sum_duplicates().data
    Array([1., 1.], dtype=float32)
    """
    for one in (lhs, rhs):
        checked("bcoo_multiply_sparse", one)
    return algebra.multiplied(lhs, rhs, BCOO)
