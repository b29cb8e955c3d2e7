"""`lobpcg_standard` and `spsolve`: eigenvectors of matrices that are only multiplied with, and sparse linear systems.

Sources: Knyazev, Toward the optimal preconditioned eigensolver: locally optimal block preconditioned conjugate gradient
method, SIAM J. Sci. Comput. 23 (2001); Duersch, Shao, Yang, Gu, A robust and efficient implementation of LOBPCG, SIAM
J. Sci. Comput. 40 (2018).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tangrad.numpy as tnp
from tangrad._sparse.base import JAXSparse
from tangrad._sparse.matrices import CSR
from tangrad.core import Array, ShapedArray, api_boundary, as_array, dtypes
from tangrad.extend.custom_rules import custom_linear_solve
from tangrad.extend.debug import pure_callback
from tangrad.extend.lax import while_loop
from tangrad.typing import ArrayLike

# --- eigenvectors ---------------------------------------------------------------------------------------------------


class _State(NamedTuple):
    """What an iteration begins with; k vectors are columns.

    Attributes:
        vectors: orthonormal, the approximations; `images`: what the matrix makes of them.
        values: their Rayleigh quotients, in descending order.
        directions: in which the last step went, orthogonal to the vectors before it; zeros at first.
        residuals: images less values times vectors.
        step: how many iterations there were.
        converged: whether all residuals are small.
    """

    vectors: Array
    images: object
    values: Any
    directions: Any
    residuals: Any
    step: Any
    converged: object


@api_boundary
def lobpcg_standard(A: object, X: ArrayLike, m: int = 100, tol: float | None = None) -> tuple[Array, Array, Array]:
    """The greatest eigenvalues of a Hermitian matrix and their vectors, by products with the matrix alone.

    Every iteration takes the best vectors from the span of the current ones, their residuals and the last step.

    Args:
        A: an array (n, n), Hermitian, dense or sparse; or a function that multiplies it with an array (n, j).
        X: an array (n, k), where the search begins: k linearly independent columns, with 5 k < n; none may be
            orthogonal to what is searched for.
        m: how many iterations at most.
        tol: an eigenpair (a, v) has converged where |A v - a v| < 10 n tol (a + |A v|); None: the epsilon of the dtype.

    Returns:
        The eigenvalues (k,) in descending order, the eigenvectors (n, k), and the number of iterations. There are no
        derivatives in reverse mode.

    Raises:
        TypeError: for dtypes that are not floating or complex, or that differ.
        ValueError: for shapes that do not fit, and a k that is 0 or too large.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.sparse.linalg import lobpcg_standard
    >>> values, vectors, steps = lobpcg_standard(np.diag(np.arange(12.0)), np.cos(np.arange(24.0)).reshape(12, 2))
    >>> abs(values - np.array([11.0, 10.0])).max() < 1e-4
    Array(True, dtype=bool)
    """
    start = as_array(X)
    multiply = _multiplication(A, start)
    rows, count = start.shape
    if tol is None:
        tol = dtypes.finfo(start.dtype).eps

    def state_of(vectors: Array, images: ArrayLike, directions: object, step: object) -> _State:
        values = tnp.sum(vectors.conj() * images, 0).real
        residuals = images - values * vectors
        bound = 10 * rows * tol * (values + tnp.linalg.norm(images, axis=0))
        return _State(
            vectors, images, values, directions, residuals, step, (tnp.linalg.norm(residuals, axis=0) < bound).all()
        )

    def better(state: _State) -> _State:
        # Householder's reflections make an orthonormal basis whatever the columns: where these depend on each other,
        # there are other directions in the place of what is missing, and the best of a larger space is no worse.
        basis = tnp.linalg.qr(tnp.concatenate([state.vectors, state.residuals, state.directions], 1)).Q
        of_basis = multiply(basis)
        _, mixtures = tnp.linalg.eigh(basis.conj().T @ of_basis)
        best = mixtures[:, ::-1][:, :count]
        directions = basis[:, count:] @ best[count:]  # the first columns span the vectors that there were
        return state_of(basis @ best, of_basis @ best, directions, state.step + 1)

    basis = tnp.linalg.qr(start).Q
    images = multiply(basis)
    _, mixtures = tnp.linalg.eigh(basis.conj().T @ images)
    mixtures = mixtures[:, ::-1]
    first = state_of(basis @ mixtures, images @ mixtures, tnp.zeros_like(start), tnp.asarray(0))
    last = while_loop(lambda state: (state.step < m) & ~state.converged, better, first)
    return last.values, last.vectors, last.step


def _multiplication(A: object, X: Array) -> Callable[[Array], Array]:
    """The product with a matrix, checked to fit `X` as it is promised."""
    if not dtypes.issubdtype(X.dtype, np.inexact):
        raise TypeError(f"lobpcg_standard: X must be floating or complex, got dtype {dtypes.dtype_name(X.dtype)}")
    if X.ndim != 2:
        raise ValueError(f"lobpcg_standard: X must have two dimensions, got shape {X.shape}")
    rows, count = X.shape
    if not 0 < 5 * count < rows:
        raise ValueError(f"lobpcg_standard: X must have k columns with 0 < 5 k < {rows}, got {count}")
    if callable(A) and not isinstance(A, JAXSparse):
        multiply: Callable[[Array], Array] = A
    else:
        matrix = A if isinstance(A, JAXSparse) else as_array(A)
        if matrix.shape != (rows, rows):
            raise ValueError(f"lobpcg_standard: A must be of shape {(rows, rows)}, as X has it, got {matrix.shape}")
        multiply = lambda vectors: matrix @ vectors

    def checked(vectors: Array) -> Array:
        images = multiply(vectors)
        if images.shape != vectors.shape:
            raise ValueError(f"lobpcg_standard: A makes {images.shape} of an array of shape {vectors.shape}")
        if images.dtype != vectors.dtype:
            names = dtypes.dtype_name(images.dtype), dtypes.dtype_name(vectors.dtype)
            raise TypeError(f"lobpcg_standard: A and X must have one dtype; products are {names[0]}, X is {names[1]}")
        return images

    return checked


# --- systems --------------------------------------------------------------------------------------------------------


@api_boundary
def spsolve(
    data: ArrayLike, indices: ArrayLike, indptr: ArrayLike, b: ArrayLike, tol: float = 1e-6, reorder: int = 1
) -> Array:
    """The solution x of a sparse linear system A x = b, with derivatives with respect to `data` and `b`.

    SciPy's direct solver finds it where SciPy is installed, called from within programs; else the matrix is made dense.

    Args:
        data, indices, indptr: the square matrix A by rows, as those of `CSR`.
        b: the right-hand side, a vector.
        tol, reorder: how solvers of accelerators judge and order pivots; ignored here, but for their being well-formed.

    Returns:
        An array of the shape and dtype of `b`; NaN where the matrix is singular.

    Raises:
        TypeError: for integers in `data` or `b`, or other dtypes in one than in the other.
        ValueError: for shapes that do not fit together, and another `reorder` than 0, 1, 2 and 3.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> matrix = sparse.CSR.fromdense(np.array([[2.0, 0.0], [1.0, 4.0]]))
    >>> sparse.linalg.spsolve(matrix.data, matrix.indices, matrix.indptr, np.array([2.0, 5.0]))
    Array([1., 1.], dtype=float32)
    """
    right = as_array(b)
    if right.ndim != 1:
        raise ValueError(f"spsolve: b must be a vector, got shape {right.shape}")
    if reorder not in (0, 1, 2, 3):
        raise ValueError(f"spsolve: reorder must be 0, 1, 2 or 3, got {reorder!r}")
    matrix = CSR((data, indices, indptr), shape=(right.shape[0], right.shape[0]))
    if matrix.dtype != right.dtype or not dtypes.issubdtype(right.dtype, np.inexact):
        names = dtypes.dtype_name(matrix.dtype), dtypes.dtype_name(right.dtype)
        raise TypeError(f"spsolve: data and b must have one floating or complex dtype, got {names[0]} and {names[1]}")

    def solve(transposed: bool) -> Callable[[object, Array], Array]:
        return lambda _, rest: _solution(matrix, rest, transposed)

    return custom_linear_solve(lambda x: matrix @ x, right, solve(False), transpose_solve=solve(True))


def _solution(matrix: CSR, b: Array, transposed: bool) -> Array:
    if importlib.util.find_spec("scipy") is None:
        dense = matrix.todense()
        return tnp.linalg.solve(dense.T if transposed else dense, b)
    parts = matrix.data, matrix.indices, matrix.indptr
    kind = ShapedArray(b.shape, b.dtype)
    solve = _solved_transposed if transposed else _solved
    return pure_callback(solve, kind, *parts, b, vmap_method="sequential")


def _solved(*operands: object) -> object:
    return _by_scipy(operands, transposed=False)


def _solved_transposed(*operands: object) -> object:
    return _by_scipy(operands, transposed=True)


def _by_scipy(operands: Sequence[object], transposed: bool) -> object:
    import warnings

    import scipy.sparse.linalg

    # The solver writes to nothing, and yet takes only arrays that it could write to.
    *parts, right = [np.array(operand) for operand in operands]
    matrix = scipy.sparse.csr_array(tuple(parts), shape=(len(right), len(right)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.sparse.linalg.MatrixRankWarning)  # the result is NaN
        return scipy.sparse.linalg.spsolve((matrix.T if transposed else matrix).tocsc(), right).astype(right.dtype)
