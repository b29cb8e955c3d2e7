"""Decompositions as in `scipy.linalg`.

`overwrite_a`, `check_finite` and the like are SciPy's; they have no effect.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack, overload

from tangrad.core import Array, dtypes
from tangrad.extend import lax
from tangrad.extend.lax import cholesky as lax_cholesky
from tangrad.extend.lax import geqp3_p, geqrf_p, householder_product_p, triangular_solve
from tangrad.extend.numpy import (
    arange,
    asarray,
    broadcast_to,
    eye,
    inexact_matrix,
    matmul,
    pad,
    square_matrix,
    swapaxes,
    tril,
    triu,
    zeros,
)
from tangrad.typing import ArrayLike


def _adjoint(x: ArrayLike) -> Array:
    return swapaxes(x, -1, -2).conj()


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> tuple[Array, Array, Array] | Array: ...
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> tuple[Array, Array, Array] | Array:
    """U, the singular values and Vᴴ, or the values alone; see `tangrad.lax.linalg.svd`.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.svd(np.diag(np.array([1.0, 4.0])), compute_uv=False)
    Array([4., 1.], dtype=float32)
    """
    return lax.svd(inexact_matrix("svd", a), full_matrices=full_matrices, compute_uv=compute_uv)


def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """The factors a = P L U, of a permutation, a lower triangular matrix with ones on its diagonal and an upper one.

    Args:
        a: an array (..., m, n).
        permute_l: whether to return P L and U.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> p, l, u = tangrad.scipy.linalg.lu(np.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> u
    Array([[2., 0.],
           [0., 1.]], dtype=float32)
    """
    matrix = inexact_matrix("lu", a)
    packed, _, order = lax.lu(matrix)
    rows, columns = matrix.shape[-2:]
    least = min(rows, columns)
    lower = tril(packed[..., :least], -1) + eye(rows, least, dtype=matrix.dtype)
    upper = triu(packed[..., :least, :])
    real = dtypes.to_floating_dtype(matrix.dtype)
    permutation = swapaxes((order[..., None] == _indices(order)).astype(real), -1, -2)
    if permute_l:
        return matmul(permutation.astype(matrix.dtype), lower), upper
    return permutation, lower, upper


def _indices(order: Array) -> Array:
    size = order.shape[-1]
    return broadcast_to(arange(size), (*order.shape[:-1], size))[..., None, :]


def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: object = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """The factors a = Q R; with pivoting a[:, p] = Q R.

    Args:
        a: an array (..., m, n).
        mode: "full" (Q is square), "economic" (Q has min(m, n) columns), or "r" (no Q is returned).
        pivoting: whether to choose an order of the columns, which is returned too.

    Returns:
        A tuple (Q, R), (R,), (Q, R, p) or (R, p).

    Raises:
        ValueError: for other modes.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> [part.shape for part in tangrad.scipy.linalg.qr(np.ones((3, 2)), mode="economic")]
    [(3, 2), (2, 2)]
    """
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"qr: mode must be 'full', 'economic' or 'r', got {mode!r}")
    outs = lax.qr(inexact_matrix("qr", a), pivoting=pivoting, full_matrices=mode != "economic")
    return outs[1:] if mode == "r" else outs


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """The product of Q and another matrix, and R, without making Q, for a = Q R.

    Args:
        a: an array (..., m, n).
        c: an array: (..., k, m) for C Q, (..., min(m, n), k) for Q C; or a vector, which stands for one row or column.
        mode: "right" for C Q, "left" for Q C.
        pivoting: as for `qr`.
        conjugate: whether to take the complex conjugate of Q.

    Returns:
        The product with the first min(m, n) columns of Q, R, and with pivoting the order of the columns.

    Raises:
        ValueError: for another mode, and shapes that do not fit.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.qr_multiply(np.eye(2), np.ones(2))[0].shape
    (2,)
    """
    if mode not in ("left", "right"):
        raise ValueError(f"qr_multiply: mode must be 'left' or 'right', got {mode!r}")
    matrix, other = inexact_matrix("qr_multiply", a), inexact_matrix("qr_multiply", c)
    dtype = dtypes.result_type(matrix, other)
    matrix, other = matrix.astype(dtype), other.astype(dtype)
    rows, columns = matrix.shape[-2:]
    least = min(rows, columns)
    is_vector = other.ndim == 1
    if is_vector:
        other = other[None] if mode == "right" else other[:, None]
    expected = rows if mode == "right" else least
    if other.shape[-1 if mode == "right" else -2] != expected:
        side = "columns" if mode == "right" else "rows"
        raise ValueError(f"qr_multiply: c must have {expected} {side}, got shape {other.shape}")
    batch = lax.broadcast_shapes(matrix.shape[:-2], other.shape[:-2])
    matrix, other = [broadcast_to(x, (*batch, *x.shape[-2:])) for x in (matrix, other)]
    packed, taus, *order = (geqp3_p if pivoting else geqrf_p).bind(matrix)
    if conjugate:
        other = other.conj()
    if mode == "right":
        out = lax.ormqr(packed[..., :least], taus, other, left=False)[..., :least]
    else:
        longer = pad(other, (*[(0, 0)] * len(batch), (0, rows - least), (0, 0)))
        out = lax.ormqr(packed[..., :least], taus, longer)
    out = out.conj() if conjugate else out
    return (out.squeeze(-2 if mode == "right" else -1) if is_vector else out), triu(packed[..., :least, :]), *order


@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: Literal[False] = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    *,
    eigvals_only: Literal[True],
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array: ...
@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> tuple[Array, Array] | Array: ...
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> tuple[Array, Array] | Array:
    """The eigenvalues and eigenvectors of Hermitian matrices, also with respect to a positive definite matrix.

    Args:
        a: an array (..., n, n), of which a triangle is read.
        b: an array (..., n, n): a v = w b v is solved (type 1), a b v = w v (type 2), or b a v = w v (type 3).
        lower: which triangle.
        eigvals_only: whether to return the values alone.

    Returns:
        The values in ascending order, and the vectors as columns, which have length 1 with respect to b (types 1 and
        2) or its inverse (type 3).

    Raises:
        ValueError: for matrices that are not square, and another `type`.
        NotImplementedError: for `eigvals`, which SciPy has removed.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.eigh(np.diag(np.array([4.0, 8.0])), 4 * np.eye(2), eigvals_only=True)
    Array([1., 2.], dtype=float32)
    """
    if eigvals is not None:
        raise NotImplementedError("eigh: eigvals is not supported; take a part of the results")
    if type not in (1, 2, 3):
        raise ValueError(f"eigh: type must be 1, 2 or 3, got {type!r}")
    matrix = square_matrix("eigh", a)
    if b is None:
        vectors, values = lax.eigh(matrix, lower=lower, symmetrize_input=False)
        return values if eigvals_only else (values, vectors)
    other = square_matrix("eigh", b, "b")
    dtype = dtypes.result_type(matrix, other)
    full = _mirrored(matrix.astype(dtype), lower)
    factor = lax_cholesky(_mirrored(other.astype(dtype), lower))
    factor, full = factor + full * 0, full + factor * 0  # of one batch
    if type == 1:
        half = triangular_solve(factor, full, left_side=True, lower=True)
        reduced = triangular_solve(factor, half, lower=True, transpose_a=True, conjugate_a=True)
    else:
        reduced = matmul(matmul(_adjoint(factor), full), factor)
    vectors, values = lax.eigh(reduced)
    if eigvals_only:
        return values
    if type == 3:
        return values, matmul(factor, vectors)
    return values, triangular_solve(factor, vectors, left_side=True, lower=True, transpose_a=True, conjugate_a=True)


def _mirrored(matrix: Array, lower: bool) -> Array:
    """Hermitian matrices from one of their triangles."""
    kept = tril(matrix, -1) if lower else triu(matrix, 1)
    return kept + _adjoint(kept) + tril(triu(matrix))


@overload
def hessenberg(
    a: ArrayLike, *, calc_q: Literal[False] = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array: ...
@overload
def hessenberg(
    a: ArrayLike, *, calc_q: Literal[True], overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]: ...
@overload
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array | tuple[Array, Array]: ...
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array | tuple[Array, Array]:
    """The Hessenberg form H with a = Q H Qᴴ.

    Args:
        a: an array (..., n, n).
        calc_q: whether to return Q too.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.hessenberg(np.eye(3)).shape
    (3, 3)
    """
    matrix = square_matrix("hessenberg", a)
    if matrix.size == 0:  # of the dtype given, as in JAX
        matrix = asarray(a)
        return (matrix, matrix) if calc_q else matrix
    packed, taus = lax.hessenberg(matrix)
    form = triu(packed, -1)
    if not calc_q:
        return form
    size = matrix.shape[-1]
    unitary = broadcast_to(eye(size, dtype=matrix.dtype), matrix.shape)
    if size > 1:
        inner = householder_product_p.bind(packed[..., 1:, :-1], taus)
        unitary = unitary.at[..., 1:, 1:].set(inner)
    return form, unitary


def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """The Schur form a = Z T Zᴴ.

    Args:
        a: an array (..., n, n).
        output: "real", where a real matrix has blocks of two rows for pairs of complex eigenvalues, or "complex".

    Returns:
        T and Z.

    Raises:
        ValueError: for another output.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.schur(np.array([[1.0, 2.0], [0.0, 3.0]]))[0]
    Array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur: output must be 'real' or 'complex', got {output!r}")
    matrix = square_matrix("schur", a)
    return lax.schur(complex_of(matrix) if output == "complex" else matrix)


def complex_of(x: Array) -> Array:
    """An array in the complex dtype of the same precision."""
    return x if x.dtype.kind == "c" else x + zeros((), dtypes.result_type(x.dtype, "complex64"))


def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """The factors a = U P, or with `side="left"` a = P U, where U has orthonormal columns or rows.

    Args:
        a: an array (..., m, n).
        side: on which side P is, which is positive semidefinite.
        method, eps, max_iterations: of the iteration that jax uses; here it is always the singular values that are
            computed.

    Returns:
        U and P.

    Raises:
        ValueError: for another side or method.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.polar(np.diag(np.array([-2.0, 4.0])))[0].round(3)
    Array([[-1.,  0.],
           [ 0.,  1.]], dtype=float32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"polar: side must be 'left' or 'right', got {side!r}")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar: method must be 'qdwh' or 'svd', got {method!r}")
    left, values, right = lax.svd(inexact_matrix("polar", a), full_matrices=False)
    basis = _adjoint(right) if side == "right" else left
    return matmul(left, right), matmul(basis * values[..., None, :].astype(left.dtype), _adjoint(basis))


class _Selection(TypedDict, total=False):
    select: str
    select_range: tuple[int, int] | None
    tol: float | None
    key: Any


@overload
def eigh_tridiagonal(
    d: ArrayLike, e: ArrayLike, *, eigvals_only: Literal[False] = False, **selection: Unpack[_Selection]
) -> tuple[Array, Array]: ...
@overload
def eigh_tridiagonal(
    d: ArrayLike, e: ArrayLike, *, eigvals_only: Literal[True], **selection: Unpack[_Selection]
) -> Array: ...
@overload
def eigh_tridiagonal(
    d: ArrayLike, e: ArrayLike, *, eigvals_only: bool = False, **selection: Unpack[_Selection]
) -> Array | tuple[Array, Array]: ...
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[int, int] | None = None,
    tol: float | None = None,
    key: object = None,
) -> Array | tuple[Array, Array]:
    """The eigenvalues and eigenvectors of a tridiagonal Hermitian matrix.

    Args:
        d: its diagonal, an array (..., n).
        e: the diagonal below it, an array (..., n - 1).
        eigvals_only: whether to return the values alone.
        select: "a" for all of them, or "i" for those of indices from `select_range[0]` to `select_range[1]`, both
            included.
        tol, key: of jax; here the whole matrix is decomposed.

    Returns:
        The values in ascending order, and the vectors as columns.

    Raises:
        ValueError: for shapes that do not fit, other selections and ranges that are none.
        NotImplementedError: for values that are selected by their size: how many there are is not known.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.eigh_tridiagonal(np.array([2.0, 4.0]), np.array([0.0]), eigvals_only=True)
    Array([2., 4.], dtype=float32)
    """
    main, below = inexact_matrix("eigh_tridiagonal", d), inexact_matrix("eigh_tridiagonal", e)
    size = main.shape[-1] if main.ndim else 0
    if main.ndim == 0 or below.ndim == 0 or below.shape[-1] != max(size - 1, 0):
        raise ValueError(f"eigh_tridiagonal: e must be one shorter than d, got shapes {main.shape} and {below.shape}")
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal: select='v' has results of unknown size; select by index")
    if select not in ("a", "i"):
        raise ValueError(f"eigh_tridiagonal: select must be 'a' or 'i', got {select!r}")
    if select == "i" and select_range is None:
        raise ValueError("eigh_tridiagonal: select='i' needs select_range")
    kept = None if select == "a" or select_range is None else (select_range[0], select_range[1] + 1)
    dtype = dtypes.result_type(main, below)
    beside = pad(below.astype(dtype), [(0, 0)] * (below.ndim - 1) + [(1, 0)])
    # Only the lower triangle is read.
    matrix = eye(size, dtype=dtype) * main.astype(dtype)[..., None, :]
    matrix = matrix + eye(size, k=-1, dtype=dtype) * beside[..., :, None]
    vectors, values = lax.eigh(matrix, symmetrize_input=False, subset_by_index=kept)
    return values if eigvals_only else (values, vectors)
