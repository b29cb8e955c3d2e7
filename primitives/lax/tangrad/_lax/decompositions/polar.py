"""The polar decomposition by the dynamically weighted Halley iteration, in terms of QR and Cholesky decompositions.

Source: Nakatsukasa, Bai, Gygi, Optimizing Halley's iteration for computing the matrix polar decomposition, SIAM J.
Matrix Anal. Appl. 31, 2010, doi:10.1137/090774999.
"""

from __future__ import annotations

import numpy as np

from tangrad._lax.checks import INEXACT, check_dtype, check_int
from tangrad._lax.control_flow.conditionals import cond
from tangrad._lax.control_flow.loops import while_loop
from tangrad._lax.decompositions.functions import qr
from tangrad._lax.elementwise import functions as e
from tangrad._lax.linalg.functions import cholesky, triangular_solve
from tangrad._lax.linalg.primitives import adjoint, product, symmetrized
from tangrad._lax.operands import operand
from tangrad._lax.reductions import functions as r
from tangrad._lax.structure import functions as s
from tangrad.core import Array, dtypes, literal
from tangrad.typing import ArrayLike, Value, Values

MOST_ITERATIONS = 10  # six are enough for any matrix of full rank in double precision
LARGE_WEIGHT = 100  # from here on a Cholesky decomposition would lose digits
INT32 = np.dtype(np.int32)


def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[ArrayLike, ArrayLike] | None = None,
) -> tuple[Array, Array, Value, Value]:
    """The polar decomposition x = U H of a matrix of full rank, by iteration.

    Forward mode differentiates it; for reverse mode `scipy.linalg.polar` is there.

    Args:
        x: a matrix (m, n) with m >= n, of float32, float64, complex64 or complex128.
        is_hermitian: has no effect.
        max_iterations: after how many steps to stop in any case; None: 10.
        eps: the iteration stops when it moves a matrix by less than (4 eps)^(1/3) of it; None: that of the dtype.
        dynamic_shape: the shape of the upper left part that counts, two integers which may be traced; None: all.

    Returns:
        U with orthonormal columns (m, n), the Hermitian H (n, n), the number of steps as int32, and whether the
        iteration came to its end within them.

    Raises:
        TypeError: for other dtypes.
        ValueError: for what is no matrix, or has more columns than rows.

    >>> import numpy as np
    >>> import tangrad
    >>> u, h, steps, is_converged = tangrad.lax.linalg.qdwh(np.array([[3.0, 1.0], [1.0, -2.0]], np.float32))
    >>> bool(is_converged), bool(abs(np.asarray(u).T @ np.asarray(u) - np.eye(2)).max() < 1e-6)
    (True, True)
    """
    matrix = operand("qdwh", x, "x")
    check_dtype("qdwh", matrix.aval, INEXACT, "x")
    shape = matrix.aval.shape
    if len(shape) != 2 or shape[0] < shape[1]:
        raise ValueError(f"qdwh takes a matrix with at least as many rows as columns, got shape {shape}")
    most = MOST_ITERATIONS if max_iterations is None else check_int("qdwh", max_iterations, "max_iterations")
    precision = float(dtypes.finfo(matrix.aval.dtype).eps) if eps is None else float(eps)
    if dynamic_shape is not None:
        matrix = _part(matrix, dynamic_shape)
    u, steps, is_converged = _iterated(matrix, most, precision)
    # One step of Newton's method more takes away what rounding left.
    u = e.sub(e.mul(u, 1.5), e.mul(product(u, product(adjoint(u), u)), 0.5))
    return u, symmetrized(product(adjoint(u), matrix)), steps, is_converged


def _part(x: Value, shape: tuple[ArrayLike, ArrayLike]) -> Array:
    """The upper left part of a matrix, with zeros around it."""
    within = [
        e.lt(s.broadcasted_iota(INT32, x.aval.shape, axis), e.convert_element_type(size, INT32))
        for axis, size in enumerate(shape)
    ]
    return e.select(e.bitwise_and(*within), x, s.full_like(x, 0))


def _norm(x: ArrayLike) -> Array:
    return e.sqrt(r.reduce_sum(e.square(e.abs(x)), (0, 1)))


def _iterated(x: Value, most: int, eps: float) -> Values:
    dtype = dtypes.to_floating_dtype(x.aval.dtype)
    moves, ends = (4 * eps) ** (1 / 3), 5 * eps
    sizes = e.abs(x)
    # The norm of the matrix is at most this; the product of its factors' squares might not be a number that there is.
    greatest = [e.sqrt(r.reduce_max(r.reduce_sum(sizes, (axis,)), (0,))) for axis in (0, 1)]
    bound = e.mul(*greatest)
    scale = e.select(e.gt(bound, 0), bound, s.full_like(bound, 1))
    start = e.div(x, e.convert_element_type(scale, x.aval.dtype))

    def goes_on(state: Values) -> Value:
        step, _, _, is_converged = state
        return e.bitwise_and(e.lt(step, most), e.bitwise_not(is_converged))

    def body(state: Values) -> Values:
        step, before, least, _ = state
        a, b, c, least = _weights(least)
        after = cond(e.gt(c, LARGE_WEIGHT), _by_qr, _by_cholesky, before, a, b, c)
        close = e.lt(_norm(e.sub(after, before)), e.mul(_norm(after), moves))
        converged = e.lt(e.abs(e.sub(least, 1)), ends)
        return e.add(step, 1), after, least, e.bitwise_and(close, converged)

    # All singular values are at most 1 now, and of a matrix of full rank the least is not below rounding.
    least = literal(float(dtypes.finfo(dtype).eps), dtype)
    state = (literal(0, INT32), start, least, literal(False, np.dtype(bool)))
    steps, u, _, is_converged = while_loop(goes_on, body, state)
    return u, steps, is_converged


def _weights(least: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """The weights that bring singular values from [least, 1] closest to 1, and the new least one."""
    square = e.square(least)
    root = e.cbrt(e.div(e.mul(e.sub(1, square), 4), e.square(square)))
    first = e.sqrt(e.add(root, 1))
    inner = e.add(e.sub(8, e.mul(root, 4)), e.div(e.mul(e.sub(2, square), 8), e.mul(square, first)))
    a = e.add(first, e.div(e.sqrt(e.max(inner, 0)), 2))
    b = e.div(e.square(e.sub(a, 1)), 4)
    c = e.sub(e.add(a, b), 1)
    new = e.div(e.mul(least, e.add(a, e.mul(b, square))), e.add(e.mul(c, square), 1))
    return a, b, c, new


def _mixed(x: Value, other: Array, a: ArrayLike, b: ArrayLike, c: ArrayLike) -> Array:
    """(b / c) x + (a - b / c) other."""
    share = e.div(b, c)
    own, rest = [e.convert_element_type(w, x.aval.dtype) for w in (share, e.sub(a, share))]
    return e.add(e.mul(x, own), e.mul(other, rest))


def _identity(size: object, dtype: np.dtype) -> Array:
    rows, columns = [s.broadcasted_iota(INT32, (size, size), axis) for axis in (0, 1)]
    return e.convert_element_type(e.eq(rows, columns), dtype)


def _by_qr(x: Value, a: ArrayLike, b: ArrayLike, c: ArrayLike) -> Array:
    rows, columns = x.aval.shape
    root = e.convert_element_type(e.sqrt(c), x.aval.dtype)
    identity = _identity(columns, x.aval.dtype)
    q, _ = qr(s.concatenate([e.mul(x, root), identity], 0), full_matrices=False)
    upper, lower = s.slice_in_dim(q, 0, rows, axis=0), s.slice_in_dim(q, rows, rows + columns, axis=0)
    return _mixed(x, e.div(product(upper, adjoint(lower)), root), a, b, c)


def _by_cholesky(x: Value, a: ArrayLike, b: ArrayLike, c: ArrayLike) -> Array:
    columns = x.aval.shape[1]
    weight = e.convert_element_type(c, x.aval.dtype)
    gram = e.add(e.mul(product(adjoint(x), x), weight), _identity(columns, x.aval.dtype))
    factor = cholesky(gram, symmetrize_input=False)
    half = triangular_solve(factor, x, left_side=False, lower=True, transpose_a=True, conjugate_a=True)
    return _mixed(x, triangular_solve(factor, half, left_side=False, lower=True), a, b, c)
