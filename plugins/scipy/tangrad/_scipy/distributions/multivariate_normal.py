"""The normal distribution of vectors."""

from __future__ import annotations

from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import HALF_LOG_2PI
from tangrad.extend.lax import triangular_solve
from tangrad.extend.numpy import asarray, broadcast_shape, cholesky, promote_inexact


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """The logarithm of the density at x.

    Args:
        x: an array (..., n).
        mean: an array (..., n), or a number.
        cov: the covariances, an array (..., n, n) or (n, n), positive definite; or one variance for all.
        allow_singular: must be None: singular matrices have no density.

    Returns:
        An array of the shape to which the dimensions before the last broadcast.

    Raises:
        NotImplementedError: `allow_singular` is given.
        ValueError: for shapes that do not fit.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.stats import multivariate_normal
    >>> f"{multivariate_normal.logpdf(np.zeros(2), np.zeros(2), np.eye(2)):.4f}"
    '-1.8379'
    """
    if allow_singular is not None:
        raise NotImplementedError(f"multivariate_normal: allow_singular is not supported, got {allow_singular!r}")
    x, mean, cov = [asarray(value) for value in promote_inexact("multivariate_normal", x, mean, cov)]
    if not mean.ndim and cov.ndim < 2:
        return -0.5 * (x - mean) ** 2 / cov - HALF_LOG_2PI - 0.5 * tnp.log(cov)
    size = mean.shape[-1] if mean.ndim else cov.shape[-1]
    if cov.ndim not in (0, *range(2, 2 + max(cov.ndim, 2))) or (cov.ndim and cov.shape[-2:] != (size, size)):
        raise ValueError(
            f"multivariate_normal: cov must be a number, or matrices of {size} rows and columns, got shape {cov.shape}"
        )
    deviation = x - mean
    if not deviation.ndim or deviation.shape[-1] != size:
        raise ValueError(f"multivariate_normal: x must have {size} elements along its last axis, got shape {x.shape}")
    if not cov.ndim:
        squares, log_determinant = (deviation**2).sum(-1) / cov, size * tnp.log(cov)
    else:
        lead = broadcast_shape("multivariate_normal", [deviation.shape[:-1], cov.shape[:-2]])
        factor = cholesky(cov)
        log_determinant = 2 * tnp.log(tnp.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
        wide = tnp.broadcast_to(factor, (*lead, size, size))
        right = tnp.broadcast_to(deviation, (*lead, size))[..., None]
        squares = (triangular_solve(wide, right, left_side=True, lower=True)[..., 0] ** 2).sum(-1)
    return -0.5 * (squares + log_determinant) - size * HALF_LOG_2PI


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density at x.

    Args:
        x: an array (..., n).
        mean: an array (..., n), or a number.
        cov: the covariances, an array (..., n, n) or (n, n), positive definite; or one variance for all.

    Returns:
        An array of the shape to which the dimensions before the last broadcast.

    Raises:
        ValueError: for shapes that do not fit.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.stats import multivariate_normal
    >>> f"{multivariate_normal.pdf(np.zeros(2), np.zeros(2), np.eye(2)):.4f}"
    '0.1592'
    """
    return tnp.exp(logpdf(x, mean, cov))
