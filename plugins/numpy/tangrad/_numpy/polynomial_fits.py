"""Polynomials from points and from coefficients: `tangrad.numpy.polyfit` and `roots`."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from tangrad._numpy.analytic import sqrt
from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import zeros
from tangrad._numpy.fusing import as_one
from tangrad._numpy.joining import concatenate
from tangrad._numpy.linear_systems import inv, lstsq
from tangrad._numpy.matrices import vander
from tangrad._numpy.matrix_factors import eigvals
from tangrad._numpy.operands import check_array_like, index_argument, promote_inexact
from tangrad.core import Array, dtypes
from tangrad.typing import ArrayLike

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["roots"], True)


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    cov: Literal[False] = False,
) -> Array: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    *,
    full: Literal[True],
    w: ArrayLike | None = None,
    cov: Any = False,
) -> tuple[Array, Array, Array, Array, Array]: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    *,
    cov: Literal[True, "unscaled"],
) -> tuple[Array, Array]: ...
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: Any = False,
) -> Array | tuple[Array, ...]:
    """The polynomial of a degree that fits points best, by least squares.

    Args:
        x: where, an array (n,).
        y: the values, an array (n,), or (n, k) for k polynomials.
        deg: the degree.
        rcond: singular values below this share of the greatest count as 0; None: n times the dtype's precision.
        full: whether to return how the equations were solved, too.
        w: weights of the residuals, an array (n,).
        cov: whether to return the covariances of the coefficients, too; "unscaled": for weights that are 1 / σ.

    Returns:
        The coefficients, the highest power first, an array (deg + 1,) or (deg + 1, k). With `full` also the sums of the
        squared residuals, the rank, the singular values, and `rcond`; with `cov` also the covariances.

    Raises:
        TypeError: `deg` is no integer; `x` is no vector, or empty; `y` has three dimensions.
        ValueError: a negative degree, arrays of different lengths, too few points for covariances.

    >>> import tangrad.numpy as np
    >>> np.round(np.polyfit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), 1), 3)
    Array([2., 1.], dtype=float32)
    """
    return (_fit_with_more if full or cov else _fit_alone)(x, y, deg, rcond, full, w, cov)


def _fit(x: ArrayLike, y: ArrayLike, deg: int, rcond: float | None, full: bool, w: Any, cov: Any) -> Any:
    """The coefficients, and what else was asked for."""
    degree = index_argument("polyfit", deg, "deg")
    if degree < 0:
        raise ValueError(f"polyfit: deg must not be negative, got {deg}")
    check_array_like("polyfit", x, y)
    places, values = [asarray(v) for v in promote_inexact("polyfit", x, y)]
    if places.ndim != 1 or not places.size:
        raise TypeError(f"polyfit: x must be a vector that is not empty, got shape {places.shape}")
    if values.ndim not in (1, 2):
        raise TypeError(f"polyfit: y must have one or two dimensions, got shape {values.shape}")
    if values.shape[0] != places.shape[0]:
        raise ValueError(f"polyfit: x and y must be of one length, got shapes {places.shape} and {values.shape}")
    count = places.shape[0]
    if rcond is None:
        rcond = count * float(dtypes.finfo(places.dtype).eps)
    matrix, right = vander(places, degree + 1), values
    if w is not None:
        weights = asarray(w).astype(places.dtype)
        if weights.shape != places.shape:
            raise ValueError(f"polyfit: w must have the shape of x, {places.shape}, got {weights.shape}")
        matrix = matrix * weights[:, None]
        right = right * (weights if right.ndim == 1 else weights[:, None])
    # Columns of one size, so that the singular values depend on the polynomial and not on the unit of x.
    scale = sqrt((abs(matrix) ** 2).sum(0))
    solution, residuals, rank, singular = lstsq(matrix / scale, right, rcond)
    coefficients = (solution.T / scale).T
    if full:
        return coefficients, residuals, rank, singular, asarray(rcond)
    if not cov:
        return (coefficients,)
    covariances = inv(matrix.T @ matrix)
    factor: Any = 1
    if cov != "unscaled":
        free = count - (degree + 1)
        if free <= 0:
            raise ValueError(f"polyfit: covariances need more than {degree + 1} points, got {count}")
        # The residuals themselves: lstsq leaves their sums out where the rank is short.
        factor = (abs(right - matrix @ coefficients) ** 2).sum(0) / free
    return coefficients, (covariances if values.ndim == 1 else covariances[:, :, None]) * factor


_fit_with_more = as_one("deg", "rcond", "full", "cov", name="polyfit", several=True)(_fit)


@as_one("deg", "rcond", "full", "cov", name="polyfit")
def _fit_alone(x: Any, y: Any, deg: int, rcond: float | None, full: bool, w: Any, cov: Any) -> Any:
    return _fit(x, y, deg, rcond, full, w, cov)[0]


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The roots of a polynomial: the eigenvalues of its companion matrix.

    Args:
        p: the coefficients, the highest power first, an array (n,).
        strip_zeros: whether coefficients 0 at both ends are left out first, for which they must be known. Without it
            the results are NaN where the first one is 0.

    Returns:
        A complex array of as many roots as the polynomial has.

    Raises:
        ValueError: `p` is no vector.
        TracerArrayConversionError: with `strip_zeros`, coefficients that are traced.

    >>> import tangrad.numpy as np
    >>> np.sort(np.roots(np.array([1.0, -3.0, 2.0])).real)
    Array([1., 2.], dtype=float32)
    """
    check_array_like("roots", p)
    coefficients = asarray(promote_inexact("roots", p)[0])
    if coefficients.ndim != 1:
        raise ValueError(f"roots: p must have one dimension, got shape {coefficients.shape}")
    at_zero = 0
    if strip_zeros:
        known = np.flatnonzero(np.asarray(coefficients))
        if not known.size:
            return zeros(0, dtypes.to_complex_dtype(coefficients.dtype))
        at_zero = coefficients.shape[0] - 1 - int(known[-1])
        coefficients = coefficients[int(known[0]) : int(known[-1]) + 1]
    degree = coefficients.shape[0] - 1
    if degree < 1:
        return zeros(at_zero, dtypes.to_complex_dtype(coefficients.dtype))
    return _eigenvalues_of_companion(coefficients, at_zero)


@as_one("at_zero", name="roots")
def _eigenvalues_of_companion(coefficients: Any, at_zero: int) -> Any:
    """The roots of a polynomial whose first coefficient is not 0, and as many zeros."""
    kind = dtypes.to_complex_dtype(coefficients.dtype)
    below = np.eye(coefficients.shape[0] - 1, k=-1)
    companion = asarray(below, coefficients.dtype).at[0].set(-coefficients[1:] / coefficients[0])
    return concatenate([eigvals(companion).astype(kind), zeros(at_zero, kind)])
