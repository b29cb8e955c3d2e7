"""Coordinates in order, and each there once."""

from __future__ import annotations

from tangrad._sparse.bcoo import BCOO
from tangrad._sparse.conversions import checked
from tangrad.core import api_boundary


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
