"""The distribution of Dirichlet."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.special_functions.entropies import xlogy
from tangrad._scipy.special_functions.gamma_functions import gammaln
from tangrad.extend.numpy import as_one, asarray, promote_inexact


@as_one()
def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density at x.

    Args:
        x: an array (n, ...) of numbers that sum to 1 along the first axis; or (n - 1, ...), without the last of them.
        alpha: the exponents, an array (n,), positive.

    Returns:
        An array of the shape of `x` without its first dimension; -inf where that does not sum to 1.

    Raises:
        ValueError: for shapes that do not fit.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.stats import dirichlet
    >>> f"{dirichlet.logpdf(np.array([0.4, 0.6]), np.array([2.0, 3.0])):.4f}"
    '0.5470'
    """
    x, alpha = [asarray(value) for value in promote_inexact("dirichlet", x, alpha)]
    if alpha.ndim != 1:
        raise ValueError(f"dirichlet: alpha must have one dimension, got shape {alpha.shape}")
    size = alpha.shape[0]
    if not x.ndim or x.shape[0] not in (size, size - 1):
        raise ValueError(f"dirichlet: x must have {size} or {size - 1} rows, as alpha says, got shape {x.shape}")
    if x.shape[0] == size - 1:
        x = tnp.concatenate([x, 1 - x.sum(0, keepdims=True)])
    inside = (x >= 0).all(0) & (x <= 1).all(0) & (abs(x.sum(0) - 1) < 1e-6)
    safe = tnp.where(inside, x, 1 / size)
    exponents = alpha.reshape((size,) + (1,) * (x.ndim - 1))
    value = xlogy(exponents - 1, safe).sum(0) + gammaln(alpha.sum()) - gammaln(alpha).sum()
    return tnp.where(inside, value, -math.inf)


@as_one()
def pdf(x: Any, alpha: Any) -> Any:
    """The density at x.

    Args:
        x: an array (n, ...) of numbers that sum to 1 along the first axis; or (n - 1, ...), without the last of them.
        alpha: the exponents, an array (n,), positive.

    Returns:
        An array of the shape of `x` without its first dimension; 0 where that does not sum to 1.

    Raises:
        ValueError: for shapes that do not fit.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.stats import dirichlet
    >>> f"{dirichlet.pdf(np.array([0.4, 0.6]), np.array([2.0, 3.0])):.4f}"
    '1.7280'
    """
    return tnp.exp(logpdf(x, alpha))
