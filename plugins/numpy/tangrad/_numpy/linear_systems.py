"""Linear systems, inverses, determinants and ranks, as in `numpy.linalg`."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from tangrad._numpy.analytic import log
from tangrad._numpy.arithmetic import abs as absolute
from tangrad._numpy.axes import moveaxis, swapaxes
from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import zeros
from tangrad._numpy.dtype_functions import finfo
from tangrad._numpy.fusing import as_one
from tangrad._numpy.matrices import diagonal
from tangrad._numpy.matrix_factors import inexact_matrix, norm, real_dtype, square_matrix, svd, svdvals
from tangrad._numpy.operands import check_array_like, index_argument, shape_of
from tangrad._numpy.products import matmul
from tangrad._numpy.ranges import eye
from tangrad._numpy.reductions import max as maximum_of
from tangrad._numpy.reductions import prod as product_of
from tangrad._numpy.reductions import sum as sum_of
from tangrad._numpy.selection import where
from tangrad._numpy.settings import check_dtypes, check_rank_promotion
from tangrad._numpy.shapes import broadcast_to
from tangrad.core import Array, dtypes, transfers
from tangrad.extend import lax
from tangrad.extend.lax import determinant_p, log_determinant_p, pseudoinverse_p, solve_p
from tangrad.extend.lax import sign as sign_of
from tangrad.typing import ArrayLike, Value

# Of what transfer guards ask: which norm is no operand.
COPIES_FROM_HOST = {"cond": lambda given: transfers.is_from_host(given["x"])}


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: object
    logabsdet: object


@as_one()
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The solution x of a x = b.

    Args:
        a: an array (..., n, n).
        b: a vector (n,), or an array (..., n, k); dimensions before the last two are broadcast.

    Returns:
        An array of the shape of `b`; infinities or NaN where `a` is singular.

    Raises:
        TypeError: for what is no number.
        ValueError: for matrices that are not square, and shapes that do not fit.

    >>> import tangrad.numpy as np
    >>> np.linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    matrix, right = square_matrix("solve", a), inexact_matrix("solve", b)
    if right.ndim == 0 or right.shape[0 if right.ndim == 1 else -2] != matrix.shape[-1]:
        raise ValueError(f"solve: b must have as many rows as a, got shapes {matrix.shape} and {right.shape}")
    dtype = dtypes.result_type(matrix, right)
    is_vector = right.ndim == 1
    if is_vector:
        right = right[:, None]
    matrix, right = matrix.astype(dtype), right.astype(dtype)
    try:
        batch = np.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    except ValueError:
        raise ValueError(
            "solve: the dimensions of a and b before the last two must fit, "
            f"got shapes {matrix.shape} and {right.shape}"
        ) from None
    if matrix.ndim == 2 and batch:
        out = _solve_for_all(matrix, right)
    else:
        out = solve_p.bind(
            broadcast_to(matrix, (*batch, *matrix.shape[-2:])), broadcast_to(right, (*batch, *right.shape[-2:]))
        )
    return out[..., 0] if is_vector else out


def _solve_for_all(matrix: Value, right: Value) -> Array:
    """One matrix for a batch of right-hand sides, which stand side by side: it is factored once."""
    moved = moveaxis(right, -2, 0)
    out = solve_p.bind(matrix, moved.reshape(moved.shape[0], prod(moved.shape[1:])))
    return moveaxis(out.reshape(moved.shape), 0, -2)


@as_one()
def inv(a: ArrayLike) -> Array:
    """The inverse of square matrices; infinities or NaN where there is none.

    Args:
        a: an array (..., n, n).

    Raises:
        TypeError: for what is no number.
        ValueError: for matrices that are not square.

    >>> import tangrad.numpy as np
    >>> np.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    matrix = square_matrix("inv", a)
    return solve_p.bind(matrix, broadcast_to(eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape))


def det(a: ArrayLike) -> Array:
    """The determinants of square matrices.

    Args:
        a: an array (..., n, n).

    Returns:
        An array of shape (...). Its derivative is right where the matrix is singular, too.

    Raises:
        TypeError: for what is no number.
        ValueError: for matrices that are not square.

    >>> import tangrad.numpy as np
    >>> float(np.linalg.det(np.array([[2.0, 0.0], [0.0, 4.0]])))
    8.0
    """
    matrix = square_matrix("det", a)
    if matrix.dtype.itemsize > 2:
        return determinant_p.bind(matrix)
    return determinant_p.bind(matrix.astype("float32")).astype(matrix.dtype)  # there is no factoring of narrow floats


def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The signs of determinants and the logarithms of their sizes, which do not overflow.

    Args:
        a: an array (..., n, n).
        method: "lu" (the default) or "qr".

    Returns:
        A named tuple (sign, logabsdet); of a singular matrix (0, -inf). The sign of a complex determinant is a number
        of size 1.

    Raises:
        TypeError: for what is no number.
        ValueError: for matrices that are not square, and other methods.

    >>> import tangrad.numpy as np
    >>> np.linalg.slogdet(-np.eye(3)).sign
    Array(-1., dtype=float32)
    """
    return SlogdetResult(*_slogdet(a, method=method))


@as_one("method", name="slogdet", several=True)
def _slogdet(a: ArrayLike, method: str | None) -> tuple[Array, Array]:
    matrix = square_matrix("slogdet", a)
    if method not in (None, "lu", "qr"):
        raise ValueError(f"slogdet: method must be 'lu', 'qr' or None, got {method!r}")
    if method != "qr":
        return log_determinant_p.bind(matrix)
    q, r = lax.qr(matrix, full_matrices=False)
    factors = diagonal(r, 0, -2, -1)
    signs = product_of(sign_of(factors), axis=-1)
    return determinant_p.bind(q) * signs, sum_of(log(absolute(factors)), axis=-1)


def pinv(
    a: ArrayLike, rtol: ArrayLike | None = None, hermitian: bool = False, *, rcond: ArrayLike | None = None
) -> Array:
    """Moore and Penrose's inverse.

    Args:
        a: an array (..., m, n).
        rtol: singular values up to this times the greatest are taken for 0; by default 10 max(m, n) times the
            precision of the dtype. An array (...) has one for each matrix.
        hermitian: whether the matrices are Hermitian, which takes less time.
        rcond: another name of `rtol`.

    Returns:
        An array (..., n, m).

    Raises:
        TypeError: for what is no number.
        ValueError: for fewer than two dimensions, and both of `rtol` and `rcond`.

    >>> import tangrad.numpy as np
    >>> np.linalg.pinv(np.array([[2.0], [0.0]]))
    Array([[0.5, 0. ]], dtype=float32)
    """
    matrix = _matrix("pinv", a)
    if rcond is not None:
        if rtol is not None:
            raise ValueError("pinv: rtol and rcond are two names of one argument; give one of them")
        rtol = rcond
    real = real_dtype(matrix)
    if rtol is None:
        rtol = 10.0 * max(matrix.shape[-2:]) * float(finfo(real).eps)
    limits = broadcast_to(asarray(rtol).astype(real), matrix.shape[:-2])
    return pseudoinverse_p.bind(matrix, limits, hermitian=bool(hermitian))


def _matrix(name: str, x: ArrayLike, argument: str = "a") -> Value:
    array = inexact_matrix(name, x)
    if array.ndim < 2:
        raise ValueError(f"{name}: {argument} must have at least two dimensions, got shape {array.shape}")
    return array


def matrix_rank(
    M: ArrayLike, rtol: ArrayLike | None = None, *, hermitian: bool = False, tol: ArrayLike | None = None
) -> Array:
    """How many singular values are not 0.

    Args:
        M: an array (..., m, n), or one of fewer dimensions, whose rank is 1 unless all is 0.
        rtol: singular values up to this times the greatest are taken for 0; by default max(m, n) times the precision
            of the dtype.
        hermitian: whether the matrices are Hermitian, which takes less time.
        tol: singular values up to this are taken for 0.

    Returns:
        An array of integers (...).

    Raises:
        TypeError: for what is no number.
        ValueError: for both of `rtol` and `tol`.

    >>> import tangrad.numpy as np
    >>> int(np.linalg.matrix_rank(np.ones((3, 3))))
    1
    """
    array = inexact_matrix("matrix_rank", M)
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank: only one of rtol and tol may be given")
    if array.ndim < 2:
        return (array != 0).any().astype(int)
    for limit in (rtol, tol):
        if limit is not None:
            check_rank_promotion("matrix_rank", [array.shape[:-2], shape_of(limit)])
    values = svd(array, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = max(array.shape[-2:]) * float(finfo(array.dtype).eps)
        greatest = maximum_of(values, axis=-1, initial=0)
        tol = greatest * asarray(rtol)
    return sum_of(values > asarray(tol)[..., None], axis=-1)


def cond(x: ArrayLike, p: float | str | None = None) -> Array:
    """The condition number: the norm of a matrix times that of its inverse.

    Args:
        x: an array (..., n, n); for `p` None, 2 or -2 an array (..., m, n).
        p: the order of the norm, as for `norm`.

    Returns:
        An array (...); infinite where there is no inverse.

    Raises:
        TypeError: for what is no number.
        ValueError: for empty matrices, other orders, and matrices that are not square.

    >>> import tangrad.numpy as np
    >>> float(np.linalg.cond(np.diag(np.array([1.0, 4.0]))))
    4.0
    """
    array = _matrix("cond", x, "x")
    if 0 in array.shape[-2:]:
        raise ValueError(f"cond: an empty matrix has no condition number, got shape {array.shape}")
    if p in (None, 2, -2):
        values = svdvals(array)
        greatest, least = values[..., 0], values[..., -1]
        return least / greatest if p == -2 else greatest / least
    square_matrix("cond", array, "x")
    result = norm(array, p, (-2, -1)) * norm(inv(array), p, (-2, -1))
    # What is NaN because the inverse is, and not the matrix, is infinite.
    has_nan = (array != array).any(axis=(-2, -1))
    return where((result != result) & ~has_nan, np.inf, result)


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """The x for which |a x - b| is least, and of those the shortest.

    Args:
        a: an array (m, n).
        b: an array (m,) or (m, k).
        rcond: singular values below this times the greatest are taken for 0; by default max(m, n) times the precision
            of the dtype. Negative: that precision.
        numpy_resid: whether the residuals are empty where NumPy's are: for matrices whose rank is less than n, or
            that have no more rows than columns. It needs concrete values.

    Returns:
        x, of shape (n,) or (n, k); the sums of squares |a x - b|², of shape (1,) or (k,); the rank; the singular
        values.

    Raises:
        TypeError: for what is no number.
        ValueError: for other numbers of dimensions, and shapes that do not fit.

    >>> import tangrad.numpy as np
    >>> x, _, rank, _ = np.linalg.lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))
    >>> x.round(4), int(rank)
    (Array([2.], dtype=float32), 1)
    """
    check_dtypes("lstsq", a, b)
    if rcond is not None:
        check_array_like("lstsq", rcond)
        if shape_of(rcond):
            raise ValueError(f"lstsq: rcond must be a number, got shape {shape_of(rcond)}")
    x, squares, rank, values = _solved(a, b, rcond)
    if numpy_resid and (shape_of(a)[0] <= x.shape[0] or int(rank) < x.shape[0]):
        squares = zeros((0,), squares.dtype)
    return x, squares, rank, values


@as_one("rcond", name="lstsq", several=True)
def _solved(a: ArrayLike, b: ArrayLike, rcond: float | None) -> tuple[Array, Array, Array, Array]:
    matrix, right = inexact_matrix("lstsq", a), inexact_matrix("lstsq", b)
    if matrix.ndim != 2:
        raise ValueError(f"lstsq: a must have two dimensions, got shape {matrix.shape}")
    if right.ndim not in (1, 2):
        raise ValueError(f"lstsq: b must have one or two dimensions, got shape {right.shape}")
    if right.shape[0] != matrix.shape[0]:
        raise ValueError(f"lstsq: a and b must have as many rows, got shapes {matrix.shape} and {right.shape}")
    dtype = dtypes.result_type(matrix, right)
    matrix, right = matrix.astype(dtype), right.astype(dtype)
    rows, columns = matrix.shape
    is_vector = right.ndim == 1
    if is_vector:
        right = right[:, None]
    precision = float(finfo(dtype).eps)
    limit = precision * max(rows, columns) if rcond is None else rcond
    if isinstance(limit, (int, float)) and limit < 0:
        limit = precision
    x, values, rank = _least_squares(matrix, right, limit)
    residual = right - matmul(matrix, x, precision="highest")
    squares = sum_of((residual * residual.conj()).real, axis=0)
    return (x[:, 0] if is_vector else x), squares, rank, values


def _least_squares(matrix: Value, right: Value, limit: float) -> tuple[Array, Array, Array]:
    """The solution by singular values, these, and how many are not taken for 0."""
    least = min(matrix.shape)
    if least == 0:
        return (
            zeros((matrix.shape[1], right.shape[1]), matrix.dtype),
            zeros((0,), real_dtype(matrix)),
            asarray(0),
        )
    u, values, vh = svd(matrix, full_matrices=False)
    kept = (values >= limit * values[0]) & (values > 0)
    inverse = where(kept, 1 / where(kept, values, 1), 0).astype(matrix.dtype)
    projected = matmul(swapaxes(u.conj(), -1, -2), right, precision="highest")
    x = matmul(swapaxes(vh.conj(), -1, -2), inverse[:, None] * projected, precision="highest")
    return x, values, sum_of(kept)


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of `tensordot(a, x, ind)`.

    Args:
        a: an array whose first `ind` dimensions have as many elements as the others.
        ind: how many dimensions of the result are summed over.

    Returns:
        An array of shape a.shape[ind:] + a.shape[:ind].

    Raises:
        ValueError: for an `ind` that is not positive, and shapes that do not fit.

    >>> import tangrad.numpy as np
    >>> np.linalg.tensorinv(np.eye(6).reshape(6, 2, 3), ind=1).shape
    (2, 3, 6)
    """
    array = inexact_matrix("tensorinv", a)
    count = index_argument("tensorinv", ind, "ind")
    if count <= 0:
        raise ValueError(f"tensorinv: ind must be positive, got {ind}")
    rows, columns = array.shape[:count], array.shape[count:]
    if prod(rows) != prod(columns):
        raise ValueError(
            f"tensorinv: the first {count} dimensions of a must have as many elements as the others, got shape "
            f"{array.shape}"
        )
    return inv(array.reshape(prod(rows), prod(columns))).reshape(*columns, *rows)


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: tuple[int, ...] | None = None) -> Array:
    """The x with tensordot(a, x, x.ndim) = b.

    Args:
        a: an array of shape b.shape + x.shape, with as many elements in x as in b.
        b: an array.
        axes: dimensions of `a` to move to its end first.

    Returns:
        x.

    Raises:
        ValueError: for shapes that do not fit, and axes that `a` has not.

    >>> import tangrad.numpy as np
    >>> np.linalg.tensorsolve(2 * np.eye(4).reshape(2, 2, 4), np.ones((2, 2)))
    Array([0.5, 0.5, 0.5, 0.5], dtype=float32)
    """
    array, right = inexact_matrix("tensorsolve", a), inexact_matrix("tensorsolve", b)
    if axes is not None:
        moved = tuple(axes)
        array = moveaxis(array, moved, tuple(range(-len(moved), 0)))
    shape = array.shape[right.ndim :]
    if array.shape[: right.ndim] != right.shape or prod(shape) != right.size:
        raise ValueError(
            f"tensorsolve: a must have the shape of b and then dimensions with as many elements, got shapes "
            f"{array.shape} and {right.shape}"
        )
    return solve(array.reshape(right.size, right.size), right.ravel()).reshape(shape)
