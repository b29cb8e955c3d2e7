"""Distributions of vectors: `tangrad.scipy.stats.multivariate_normal`, `dirichlet`, `multinomial`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad._scipy.distribution_records import HALF_LOG_2PI, Distribution, Parameter, Unstandardised
from tangrad._scipy.special_functions.entropies import xlogy
from tangrad._scipy.special_functions.gamma_functions import gammaln
from tangrad.core import Array, dtypes
from tangrad.extend.lax import triangular_solve
from tangrad.extend.numpy import asarray, broadcast_shape, check_array_like, cholesky, promote_inexact

MADE_FOR = "scipy.stats"


class DistributionOfVectors(Distribution):
    """The record of a distribution of vectors: its formulas take the arguments as users give them, and check them."""

    _raises = "    TypeError: for what is no array or number.\n"

    def _called(self, part: str, given: dict[str, Any]) -> Array:
        return self._formula(part, given, given[self.first])


def _normal(x: object, mean: object, cov: object, allow_singular: object = None) -> Array:
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
    squares, log_determinant = _squares(deviation, cov, size)
    return -0.5 * (squares + log_determinant) - size * HALF_LOG_2PI


def _squares(deviation: Array, cov: Array, size: int) -> tuple[Array, Array]:
    """The squares of the deviations in units of the covariances, and the logarithm of the determinant of these."""
    if not cov.ndim:
        return (deviation**2).sum(-1) / cov, size * tnp.log(cov)
    lead = broadcast_shape("multivariate_normal", [deviation.shape[:-1], cov.shape[:-2]])
    factor = cholesky(cov)
    log_determinant = 2 * tnp.log(tnp.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    wide = tnp.broadcast_to(factor, (*lead, size, size))
    right = tnp.broadcast_to(deviation, (*lead, size))[..., None]
    squares = (triangular_solve(wide, right, left_side=True, lower=True)[..., 0] ** 2).sum(-1)
    return squares, log_determinant


multivariate_normal = DistributionOfVectors(
    "multivariate_normal",
    "The normal distribution of vectors",
    Parameter("mean", "an array (..., n), or a number"),
    Parameter("cov", "the covariances, an array (..., n, n) or (n, n), positive definite; or one variance for all"),
    Parameter(
        "allow_singular",
        "must be None, or NotImplementedError is raised: singular matrices have no density",
        default=None,
        only=("logpdf",),
        type="None",
    ),
    place="an array (..., n)",
    returns="An array of the shape to which the dimensions before the last broadcast.",
    logpdf=Unstandardised(_normal),
    at=("np.zeros(2)", "np.zeros(2)", "np.eye(2)"),
    results={"logpdf": -1.8379, "pdf": 0.1592},
    source="Kotz, Balakrishnan, Johnson, Continuous Multivariate Distributions, 2nd ed. (2000), chapter 45",
)


def _dirichlet(x: object, alpha: object) -> Array:
    x, alpha = [asarray(value) for value in promote_inexact("dirichlet", x, alpha)]
    if alpha.ndim != 1:
        raise ValueError(f"dirichlet: alpha must have one dimension, got shape {alpha.shape}")
    size = alpha.shape[0]
    if not x.ndim or x.shape[0] not in (size, size - 1):
        raise ValueError(f"dirichlet: x must have {size} or {size - 1} rows, by the size of alpha, got shape {x.shape}")
    if x.shape[0] == size - 1:
        x = tnp.concatenate([x, 1 - x.sum(0, keepdims=True)])
    inside = (x >= 0).all(0) & (x <= 1).all(0) & (abs(x.sum(0) - 1) < 1e-6)
    safe = tnp.where(inside, x, 1 / size)
    exponents = alpha.reshape((size,) + (1,) * (x.ndim - 1))
    value = xlogy(exponents - 1, safe).sum(0) + gammaln(alpha.sum()) - gammaln(alpha).sum()
    return tnp.where(inside, value, -math.inf)


dirichlet = DistributionOfVectors(
    "dirichlet",
    "The distribution of Dirichlet, 0 where the numbers do not sum to 1",
    Parameter("alpha", "the exponents, an array (n,), positive"),
    place="an array (n, ...) of numbers that sum to 1 along the first axis; or (n - 1, ...), without the last of them",
    returns="An array of the shape of `x` without its first dimension.",
    logpdf=Unstandardised(_dirichlet),
    at=("np.array([0.4, 0.6])", "np.array([2.0, 3.0])"),
    results={"logpdf": 0.5470, "pdf": 1.7280},
    source="Kotz, Balakrishnan, Johnson, Continuous Multivariate Distributions, 2nd ed. (2000), chapter 49",
)


def _multinomial(x: object, n: object, p: object) -> Array:
    check_array_like("multinomial", x, n, p)
    (p,) = promote_inexact("multinomial", p)
    given = [x if dtypes.issubdtype(dtypes.dtype_of(x), np.inexact) else asarray(x, p.aval.dtype) for x in (x, n)]
    x, n, p = [asarray(value) for value in promote_inexact("multinomial", *given, p)]
    inside = (x.sum(-1) == n) & (x >= 0).all(-1) & (x == tnp.floor(x)).all(-1)
    counts = tnp.where(inside[..., None], x, 0.0)
    value = gammaln(n + 1) + (xlogy(counts, p) - gammaln(counts + 1)).sum(-1)
    return tnp.where(inside, value, -math.inf)


multinomial = DistributionOfVectors(
    "multinomial",
    "The multinomial distribution of counts, 0 where they do not sum to n",
    Parameter("n", "the number of trials, an array or number"),
    Parameter("p", "the probabilities, an array (..., k)"),
    place="the counts, an array (..., k)",
    returns="An array of the shape of the dimensions before the last.",
    logpmf=Unstandardised(_multinomial),
    at=("np.array([1, 2])", "3", "np.array([0.4, 0.6])"),
    results={"logpmf": -0.8393, "pmf": 0.4320},
    source="Johnson, Kotz, Balakrishnan, Discrete Multivariate Distributions (1997), chapter 35",
)
