"""`jax.experimental.sparse.linalg`: linear systems of sparse matrices, solved densely."""

from __future__ import annotations

from typing import Any

from tangrad import numpy as jnp

__all__ = ["spsolve"]


def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1) -> Any:
    """The solution of `A @ x = b`, where rows of the matrix `A` hold `data` at the columns `indices`.

    Args:
        data: the nonzero elements (nnz,). indices: their columns (nnz,). indptr: where rows begin in them (n + 1,).
        b: the right-hand side (n,).
        tol, reorder: steer solvers on GPUs; here the matrix is made dense, which takes memory in proportion to n².

    Raises ValueError for a right-hand side that is no vector of the matrix' size.
    """
    data, indices, indptr, b = (jnp.asarray(part) for part in (data, indices, indptr, b))
    size = indptr.shape[0] - 1
    if b.shape != (size,):
        raise ValueError(f"spsolve: the matrix has {size} rows, so b must have the shape ({size},), got {b.shape}")
    rows = jnp.searchsorted(indptr, jnp.arange(data.shape[0]), side="right") - 1
    dense = jnp.zeros((size, size), data.dtype).at[rows, indices].add(data)
    return jnp.linalg.solve(dense, b)
