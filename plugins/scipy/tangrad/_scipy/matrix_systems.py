"""Linear systems by factors, as in `scipy.linalg`.

`overwrite_a`, `overwrite_b` and `check_finite` are SciPy's; they have no effect: arrays are not written to, and NaN is
computed with.
"""

from __future__ import annotations

from typing import Any

from tangrad.core import Array, dtypes
from tangrad.extend import lax, numpy
from tangrad.extend.lax import adjoint, lu_p, lu_pivots_to_permutation, solve_by_factors, triangular_solve
from tangrad.extend.numpy import asarray, broadcast_to, inexact_matrix, square_matrix
from tangrad.typing import ArrayLike, Dimensions, Value

_TRANSPOSES = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _trans(name: str, trans: object) -> int:
    found = _TRANSPOSES.get(trans) if isinstance(trans, (int, str)) else None
    if found is None:
        raise ValueError(f"{name}: trans must be 0, 1 or 2 ('N', 'T' or 'C'), got {trans!r}")
    return found


def _pair(name: str, given: object, argument: str, what: str) -> Any:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ValueError(f"{name}: {argument} must be a pair, {what}, got {given!r}")
    return given


def _right_hand_side(name: str, a: Value, b: ArrayLike) -> tuple[Array, Array, bool]:
    """A matrix and what stands beside it, of one dtype and batch; and whether that is a vector."""
    right = inexact_matrix(name, b)
    is_vector = right.ndim == 1
    if is_vector:
        right = right[:, None]
    if right.ndim < 2 or right.shape[-2] != a.shape[-1]:
        raise ValueError(f"{name}: b must have as many rows as a, got shapes {a.shape} and {right.shape}")
    dtype = dtypes.result_type(a, right)
    lead = _batch_of(name, a, right)
    a = broadcast_to(a.astype(dtype), (*lead, *a.shape[-2:]))
    return a, broadcast_to(right.astype(dtype), (*lead, *right.shape[-2:])), is_vector


def _batch_of(name: str, a: Value, b: Value) -> Dimensions:
    """The batch of two arrays of matrices."""
    if a.shape[:-2] == b.shape[:-2] or b.ndim == 2:
        return tuple(a.shape[:-2])
    if a.ndim == 2:
        return tuple(b.shape[:-2])
    raise ValueError(
        f"{name}: the dimensions of a and b before the last two must agree, got shapes {a.shape} and {b.shape}"
    )


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """The solution x of a x = b.

    Args:
        a: an array (..., n, n).
        b: an array (n,) or (..., n, k).
        lower: which triangle of `a` is read, where it is symmetric, Hermitian or positive definite.
        assume_a: "gen"; "sym" or "her", which change nothing; or "pos", for which Cholesky's factor is taken.

    Raises:
        ValueError: for shapes that do not fit, and other assumptions.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.solve(4 * np.eye(2), np.ones(2), assume_a="pos")
    Array([0.25, 0.25], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"solve: assume_a must be 'gen', 'sym', 'her' or 'pos', got {assume_a!r}")
    if assume_a != "pos":
        return numpy.solve(a, b)
    return cho_solve(cho_factor(a, lower=lower), b)


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: object = None,
    check_finite: bool = True,
) -> Array:
    """The solution x of op(a) x = b, for a triangular matrix.

    Args:
        a: an array (..., n, n).
        b: an array (n,) or (..., n, k).
        trans: op(a) is a (0 or "N"), its transpose (1 or "T"), or its adjoint (2 or "C").
        lower: which triangle of `a` is read.
        unit_diagonal: whether to take the diagonal for 1.

    Raises:
        ValueError: for shapes that do not fit, and another `trans`.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.solve_triangular(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([3.0, 2.0]))
    Array([2., 1.], dtype=float32)
    """
    kind = _trans("solve_triangular", trans)
    matrix, right, is_vector = _right_hand_side("solve_triangular", square_matrix("solve_triangular", a), b)
    options = {"transpose_a": kind > 0, "conjugate_a": kind == 2, "unit_diagonal": unit_diagonal}
    out = triangular_solve(matrix, right, left_side=True, lower=lower, **options)
    return out[..., 0] if is_vector else out


def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Cholesky's factor: the upper triangular Lᴴ, or with `lower` L; NaN where there is none.

    Only the triangle of `a` where the factor stands is read.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.cholesky(4 * np.eye(1))
    Array([[2.]], dtype=float32)
    """
    return _factor("cholesky", a, lower)


def _factor(name: str, a: ArrayLike, lower: bool) -> Array:
    matrix = square_matrix(name, a)
    if lower:
        return lax.cholesky(matrix, symmetrize_input=False)
    return adjoint(lax.cholesky(adjoint(matrix), symmetrize_input=False))


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Cholesky's factor and which it is, as `cho_solve` takes them. Only that triangle of `a` is read.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.cho_factor(4 * np.eye(1))
    (Array([[2.]], dtype=float32), False)
    """
    return _factor("cho_factor", a, lower), bool(lower)


def cho_solve(
    c_and_lower: tuple[object, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """The solution x of a x = b, for the result of `cho_factor(a)`.

    Raises ValueError for shapes that do not fit.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg as linalg
    >>> linalg.cho_solve(linalg.cho_factor(4 * np.eye(2)), np.ones(2))
    Array([0.25, 0.25], dtype=float32)
    """
    factor, lower = _pair("cho_solve", c_and_lower, "c_and_lower", "the result of cho_factor")
    matrix, right, is_vector = _right_hand_side("cho_solve", square_matrix("cho_solve", factor, "c"), b)
    for conjugate in (False, True) if lower else (True, False):
        right = triangular_solve(
            matrix, right, left_side=True, lower=bool(lower), transpose_a=conjugate, conjugate_a=conjugate
        )
    return right[..., 0] if is_vector else right


def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """L and U in one matrix, and the pivots, as `lu_solve` takes them.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.lu_factor(np.array([[0.0, 1.0], [2.0, 0.0]]))[1]
    Array([1, 1], dtype=int32)
    """
    factors, pivots, _ = lu_p.bind(inexact_matrix("lu_factor", a))
    return factors, pivots


def lu_solve(
    lu_and_piv: tuple[object, object],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solution x of op(a) x = b, for the result of `lu_factor(a)`; `trans` as for `solve_triangular`.

    Raises ValueError for shapes that do not fit, and another `trans`.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg as linalg
    >>> linalg.lu_solve(linalg.lu_factor(np.array([[0.0, 1.0], [2.0, 0.0]])), np.array([1.0, 4.0]))
    Array([2., 1.], dtype=float32)
    """
    factors, pivots = _pair("lu_solve", lu_and_piv, "lu_and_piv", "the result of lu_factor")
    kind = _trans("lu_solve", trans)
    matrix, right, is_vector = _right_hand_side("lu_solve", square_matrix("lu_solve", factors, "lu"), b)
    size = matrix.shape[-1]
    swaps = asarray(pivots)
    if swaps.shape[-1:] != (size,):
        raise ValueError(f"lu_solve: piv must have as many elements as lu has rows, got {swaps.shape}, {matrix.shape}")
    order = lu_pivots_to_permutation(broadcast_to(swaps, (*matrix.shape[:-2], size)), size)
    out = solve_by_factors(matrix, order, right, kind)
    return out[..., 0] if is_vector else out


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverse: `tangrad.numpy.linalg.inv`.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.inv(4 * np.eye(1))
    Array([[0.25]], dtype=float32)
    """
    return numpy.inv(a)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinant: `tangrad.numpy.linalg.det`.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> float(tangrad.scipy.linalg.det(4 * np.eye(2)))
    16.0
    """
    return numpy.det(a)
