"""Sparse arrays from nothing: empty ones, diagonals, random ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad import random
from tangrad.core import api_boundary, product
from tangrad.sparse_arrays.bcoo import BCOO


@api_boundary
def empty(shape: Sequence[int], dtype: Any = None, index_dtype: Any = "int32") -> BCOO:
    """An array of zeros, of which nothing is kept.

    >>> from tangrad.experimental import sparse
    >>> sparse.empty((2, 3))
    BCOO(float32[2, 3], nse=0)
    """
    data = tnp.zeros(0, dtype)
    return BCOO((data, tnp.zeros((0, len(shape)), index_dtype)), shape=shape, indices_sorted=True, unique_indices=True)


@api_boundary
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = "int32") -> BCOO:
    """A matrix (N, M) with ones on the diagonal that is `k` above the main one.

    >>> from tangrad.experimental import sparse
    >>> sparse.eye(2, 3, k=1).todense()
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    M = N if M is None else M
    rows = np.arange(max(0, -k), max(max(0, -k), min(N, M - k)))
    indices = np.stack([rows, rows + k], 1).astype(index_dtype)
    return BCOO((tnp.ones(len(rows), dtype), indices), shape=(N, M), indices_sorted=True, unique_indices=True)


@api_boundary
def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = np.float32,
    indices_dtype: Any = None,
    nse: float = 0.2,
    unique_indices: bool = True,
    generator: Callable[..., Any] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """An array with random values at random coordinates.

    Args:
        key: a random key.
        shape: of the array; all dimensions are sparse.
        dtype: of the values; `indices_dtype`: of the coordinates, int32 where it is None.
        nse: how many elements are kept; below 1, which part of all.
        unique_indices: whether no coordinate may be there twice.
        generator: makes the values: `generator(key, shape, dtype=..., **kwds)`.

    Raises ValueError for more elements than there are places.

    >>> import tangrad
    >>> from tangrad.experimental import sparse
    >>> sparse.random_bcoo(tangrad.random.key(0), (10, 10), nse=0.1)
    BCOO(float32[10, 10], nse=10)
    """
    size = product(tuple(shape))
    count = int(np.ceil(nse * size)) if 0 < nse < 1 else int(nse)
    if count < 0 or (unique_indices and count > size):
        raise ValueError(f"random_bcoo: nse={nse} elements of an array of shape {tuple(shape)}")
    for_places, for_values = random.split(key)
    places = random.choice(for_places, size, (count,), replace=not unique_indices)
    indices = tnp.stack(tnp.unravel_index(places, tuple(shape)), -1).astype(indices_dtype or np.int32)
    data = generator(for_values, (count,), dtype=dtype, **kwds)
    return BCOO((data, indices), shape=shape, unique_indices=unique_indices)
