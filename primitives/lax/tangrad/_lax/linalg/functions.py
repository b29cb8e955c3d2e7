"""The public functions `tangrad.lax.linalg.cholesky`, `cholesky_update` and `triangular_solve`."""

from __future__ import annotations

from tangrad._lax.checks import COMPLEX, is_kind
from tangrad._lax.linalg.primitives import cholesky_p, cholesky_update_p, symmetrized, triangular_solve_p
from tangrad._lax.operands import operand
from tangrad._lax.structure.primitives import broadcast_in_dim_p, squeeze_p
from tangrad.core import Array
from tangrad.typing import ArrayLike


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """Cholesky's factor of positive definite matrices: the lower triangular L with L Lᴴ = x.

    Args:
        x: an array of shape (..., n, n) of symmetric or Hermitian matrices, of float32, float64, complex64 or
            complex128.
        symmetrize_input: whether to take (x + xᴴ) / 2 for x; else what is above the diagonal is not read.

    Returns:
        An array of the same type. The factor of a matrix that is not positive definite is NaN on and below the
        diagonal.

    Raises:
        TypeError: for other dtypes.
        ValueError: for matrices that are not square.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 10.0]]))
    Array([[2., 0.],
           [1., 3.]], dtype=float32)
    """
    matrix = operand("cholesky", x, "x")
    if symmetrize_input:
        cholesky_p.infer((matrix.aval,), {})  # before anything is computed
        matrix = symmetrized(matrix)
    return cholesky_p.bind(matrix)


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The factor of RᵀR + wwᵀ from that of RᵀR, with a number of operations that grows as the square of the size.

    Args:
        r_matrix: an array of shape (..., n, n) of upper triangular matrices R.
        w_vector: an array of shape (..., n) and the same dtype.

    Returns:
        An array of upper triangular matrices, of the type of `r_matrix`.

    Raises:
        TypeError: for dtypes that are not floating, or differ.
        ValueError: for shapes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.linalg.cholesky_update(np.array([[3.0, 3.0], [0.0, 1.0]]), np.array([4.0, 4.0]))
    Array([[5., 5.],
           [0., 1.]], dtype=float32)
    """
    return cholesky_update_p.bind(
        operand("cholesky_update", r_matrix, "r_matrix"), operand("cholesky_update", w_vector, "w_vector")
    )


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """The solution X of op(A) X = B or X op(A) = B, for triangular A.

    Args:
        a: an array of shape (..., m, m).
        b: an array of the same dtype, of shape (..., m, n) with `left_side` and (..., n, m) without, or a batch of
            vectors, of shape (..., m).
        left_side: whether op(A) is on the left.
        lower: which triangle of A is read; the other may hold anything.
        transpose_a: whether op(A) is the transpose.
        conjugate_a: whether op(A) is the complex conjugate; with `transpose_a`, the adjoint.
        unit_diagonal: whether to take the diagonal for 1, whatever it holds.

    Returns:
        An array of the type of `b`.

    Raises:
        TypeError: for dtypes that are not floating or complex, or differ.
        ValueError: for shapes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> a, b = np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0])
    >>> tangrad.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    Array([1., 2.], dtype=float32)
    """
    name = "triangular_solve"
    a, b = operand(name, a, "a"), operand(name, b, "b")
    rank = a.aval.ndim
    is_vector = b.aval.ndim == rank - 1
    if is_vector:
        *batch, size = b.aval.shape
        kept = tuple(range(rank - 1)) if left_side else (*range(rank - 2), rank - 1)
        shape = (*batch, size, 1) if left_side else (*batch, 1, size)
        b = broadcast_in_dim_p.bind(b, shape=shape, broadcast_dimensions=kept)
    out = triangular_solve_p.bind(
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a) and is_kind(a.aval.dtype, (COMPLEX,)),
        unit_diagonal=bool(unit_diagonal),
    )
    return squeeze_p.bind(out, dimensions=(rank - 1 if left_side else rank - 2,)) if is_vector else out
