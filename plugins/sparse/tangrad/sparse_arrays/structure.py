"""Dimensions in another order, and sums over them."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad.core import api_boundary
from tangrad.sparse_arrays.bcoo import BCOO
from tangrad.sparse_arrays.conversions import checked


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
    return checked("bcoo_reduce_sum", mat).sum(tuple(axes))
