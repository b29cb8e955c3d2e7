"""The public functions of `tangrad.lax.linalg` for matrices in reduced forms: Schur's, Hessenberg's, tridiagonal."""

from __future__ import annotations

from typing import Any

from tangrad._lax.decompositions import primitives as p
from tangrad._lax.decompositions.systems import tridiagonal_solve_p
from tangrad._lax.operands import operand
from tangrad.core import Array
from tangrad.typing import ArrayLike


def schur(x: ArrayLike, *, compute_schur_vectors: bool = True) -> tuple[Any, ...]:
    """The Schur form x = Z T Zᴴ.

    Args:
        x: an array of shape (..., n, n), of float32, float64, complex64 or complex128.
        compute_schur_vectors: whether to return Z too.

    Returns:
        T, an upper triangular matrix; for real dtypes with blocks of two rows on its diagonal, where eigenvalues are
        not real; and the unitary Z. Both are of the type of `x`.

    Raises:
        TypeError: for other dtypes.
        ValueError: for matrices that are not square.

    >>> import numpy as np
    >>> import tangrad
    >>> t, z = tangrad.lax.linalg.schur(np.array([[2.0, 1.0], [0.0, 3.0]]))
    >>> t
    Array([[2., 1.],
           [0., 3.]], dtype=float32)
    """
    return tuple(p.schur_p.bind(operand("schur", x, "x"), compute_schur_vectors=bool(compute_schur_vectors)))


def hessenberg(a: ArrayLike) -> tuple[Any, Any]:
    """The Hessenberg form a = Q H Qᴴ, as LAPACK keeps it.

    Args:
        a: an array of shape (..., n, n), of float32, float64, complex64 or complex128.

    Returns:
        An array of the type of `a` with H from the first diagonal below the main one up, and below it the Householder
        vectors of Q; and their factors, of shape (..., n - 1).

    Raises:
        TypeError: for other dtypes.
        ValueError: for matrices that are not square.

    >>> import numpy as np
    >>> import tangrad
    >>> h, taus = tangrad.lax.linalg.hessenberg(np.eye(3))
    >>> h.shape, taus.shape
    ((3, 3), (2,))
    """
    return tuple(p.hessenberg_p.bind(operand("hessenberg", a, "a")))


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """The tridiagonal form a = Q T Qᴴ of symmetric or Hermitian matrices, as LAPACK keeps it.

    Args:
        a: an array of shape (..., n, n), of float32, float64, complex64 or complex128.
        lower: which triangle is read, and holds the Householder vectors of Q.

    Returns:
        An array of the type of `a` with the vectors; the diagonal of T, of shape (..., n) and the real dtype of `a`;
        the diagonal beside it, of shape (..., n - 1); and the factors of the reflections, likewise.

    Raises:
        TypeError: for other dtypes.
        ValueError: for matrices that are not square.

    >>> import numpy as np
    >>> import tangrad
    >>> _, diagonal, beside, _ = tangrad.lax.linalg.tridiagonal(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> diagonal
    Array([2., 3.], dtype=float32)
    """
    return tuple(p.tridiagonal_p.bind(operand("tridiagonal", a, "a"), lower=bool(lower)))


def tridiagonal_solve(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike) -> Array:
    """The solution X of T X = B, for a tridiagonal T.

    Args:
        dl: the diagonal below the main one, of shape (..., n); its first element is not read.
        d: the diagonal, of shape (..., n).
        du: the diagonal above it, of shape (..., n); its last element is not read.
        b: an array of shape (..., n, k) and the same dtype.

    Returns:
        An array of the type of `b`; infinities and NaN where T is singular.

    Raises:
        TypeError: for dtypes that are not float32, float64, complex64 or complex128, or differ.
        ValueError: for shapes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.linalg.tridiagonal_solve(
    ...     np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([0.0, 0.0]), np.array([[1.0], [5.0]])
    ... )
    Array([[1.],
           [2.]], dtype=float32)
    """
    name = "tridiagonal_solve"
    operands = [operand(name, x, argument) for x, argument in ((dl, "dl"), (d, "d"), (du, "du"), (b, "b"))]
    return tridiagonal_solve_p.bind(*operands)
