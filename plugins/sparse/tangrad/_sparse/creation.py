"""Sparse arrays from nothing: empty ones, diagonals, random ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

import tangrad
import tangrad.numpy as tnp
from tangrad import random
from tangrad._sparse.base import JAXSparse
from tangrad._sparse.bcoo import BCOO
from tangrad._sparse.compressed import BCSR
from tangrad._sparse.matrices import COO, CSC, CSR
from tangrad.core import api_boundary
from tangrad.core.arguments import product
from tangrad.typing import DTypeLike, Key

FORMATS: dict[str, Callable[[BCOO], JAXSparse]] = {
    "bcoo": lambda mat: mat,
    "bcsr": BCSR.from_bcoo,
    "coo": COO.from_bcoo,
    "csr": CSR.from_bcoo,
    "csc": CSC.from_bcoo,
}


def _of_format(name: str, mat: BCOO, sparse_format: str) -> JAXSparse:
    if sparse_format not in FORMATS:
        raise ValueError(f"{name}: sparse_format must be one of {sorted(FORMATS)}, got {sparse_format!r}")
    return FORMATS[sparse_format](mat)


@overload
def empty(
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: Literal["bcoo"] = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 0,
) -> BCOO: ...
@overload
def empty(
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    *,
    sparse_format: Literal["bcsr"],
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 0,
) -> BCSR: ...
@overload
def empty(
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 0,
) -> JAXSparse: ...
@api_boundary
def empty(
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 0,
) -> JAXSparse:
    """An array of zeros.

    Args:
        shape, dtype: of the array; `index_dtype`: of the coordinates.
        sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
        n_batch, n_dense: how many dimensions, at the front and at the end, are batches, and are kept in full.
        nse: how many elements of each batch there is room for.

    Raises ValueError for layouts and formats that there are not.

    >>> from tangrad.experimental import sparse
    >>> sparse.empty((2, 3))
    BCOO(float32[2, 3], nse=0)
    """
    n_sparse = len(shape) - n_batch - n_dense
    if min(n_batch, n_dense, n_sparse, nse) < 0:
        raise ValueError(f"empty: n_batch={n_batch}, n_dense={n_dense}, nse={nse} of an array of shape {tuple(shape)}")
    batch, sizes = tuple(shape[:n_batch]), tuple(shape[n_batch : n_batch + n_sparse])
    data = tnp.zeros((*batch, nse, *shape[n_batch + n_sparse :]), dtype)
    indices = np.broadcast_to(np.array(sizes, index_dtype), (*batch, nse, n_sparse))
    mat = BCOO((data, indices), shape=shape, indices_sorted=True, unique_indices=True)
    return _of_format("empty", mat, sparse_format)


@overload
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: Literal["bcoo"] = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
) -> BCOO: ...
@overload
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    *,
    sparse_format: Literal["bcsr"],
    n_batch: int = 0,
    n_dense: int = 0,
) -> BCSR: ...
@overload
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
) -> JAXSparse: ...
@api_boundary
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
) -> JAXSparse:
    """A matrix (N, M) with ones on the diagonal that is `k` above the main one.

    Args:
        N, M: the numbers of rows and columns; None: as many columns as rows.
        k: which diagonal; below 0: under the main one.
        dtype: of the values; `index_dtype`: of the coordinates.
        sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
        n_batch, n_dense: how many dimensions are batches, and are kept in full.

    >>> from tangrad.experimental import sparse
    >>> sparse.eye(2, 3, k=1).todense()
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    M = N if M is None else M
    if n_batch or n_dense:
        dense: Any = np.eye(N, M, k)
        there = dense.any(tuple(range(2 - n_dense, 2))).reshape(product(dense.shape[:n_batch]), -1)
        nse = int(there.sum(1).max(initial=0))
        dense = tnp.asarray(dense, tnp.zeros(0, dtype).dtype)
        mat = BCOO.fromdense(dense, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
        return _of_format("eye", mat, sparse_format)
    rows = np.arange(max(0, -k), max(max(0, -k), min(N, M - k)))
    indices = np.stack([rows, rows + k], 1).astype(index_dtype)
    mat = BCOO((tnp.ones(len(rows), dtype), indices), shape=(N, M), indices_sorted=True, unique_indices=True)
    return _of_format("eye", mat, sparse_format)


@api_boundary
def random_bcoo(
    key: Key,
    shape: Sequence[int],
    *,
    dtype: DTypeLike = np.float32,
    indices_dtype: DTypeLike | None = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., object] = random.uniform,
    **kwds: object,
) -> BCOO:
    """An array with random values at random coordinates.

    Args:
        key: a random key.
        shape: of the array.
        dtype: of the values; `indices_dtype`: of the coordinates, int32 where it is None.
        nse: how many elements of each batch are kept; below 1, which part of its places.
        n_batch, n_dense: how many dimensions, at the front and at the end, are batches, and are kept in full.
        unique_indices: whether no coordinate may be there twice.
        sorted_indices: whether coordinates are in order.
        generator: makes the values: `generator(key, shape, dtype=..., **kwds)`.

    Raises ValueError for more elements than there are places, and for layouts that there are not.

    >>> import tangrad
    >>> from tangrad.experimental import sparse
    >>> sparse.random_bcoo(tangrad.random.key(0), (10, 10), nse=0.1)
    BCOO(float32[10, 10], nse=10)
    """
    n_sparse = len(shape) - n_batch - n_dense
    if min(n_batch, n_dense, n_sparse) < 0:
        raise ValueError(f"random_bcoo: n_batch={n_batch}, n_dense={n_dense} of an array of shape {tuple(shape)}")
    batch, sizes = tuple(shape[:n_batch]), tuple(shape[n_batch : n_batch + n_sparse])
    room = product(sizes)
    count = int(np.ceil(nse * room)) if 0 < nse < 1 else int(nse)
    if count < 0 or (unique_indices and count > room):
        raise ValueError(f"random_bcoo: nse={nse} elements of an array of shape {tuple(shape)}")
    for_places, for_values = random.split(key)
    draw = lambda key: random.choice(key, room, (count,), replace=not unique_indices)
    places = draw(for_places) if not batch else tangrad.vmap(draw)(random.split(for_places, product(batch)))
    columns = tnp.unravel_index(places.reshape((*batch, count)), sizes) if sizes else []
    indices = tnp.stack(columns, -1) if sizes else tnp.zeros((*batch, count, 0), int)
    data = generator(for_values, (*batch, count, *shape[n_batch + n_sparse :]), dtype=dtype, **kwds)
    pair = data, indices.astype(indices_dtype or np.int32)
    mat = BCOO(pair, shape=shape, unique_indices=unique_indices)
    return mat.sort_indices() if sorted_indices else mat
