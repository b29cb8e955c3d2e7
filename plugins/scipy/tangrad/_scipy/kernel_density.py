"""Densities estimated from samples: `tangrad.scipy.stats.gaussian_kde`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

import tangrad.numpy as tnp
from tangrad import tree_util
from tangrad._scipy.special_functions.error_functions import ndtr
from tangrad.core import class_boundary
from tangrad.extend.lax import triangular_solve
from tangrad.extend.nn import logsumexp
from tangrad.extend.numpy import asarray, cholesky, is_complex, promote_inexact
from tangrad.extend.random import choice, normal, split

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import ArrayLike, Key


@class_boundary
@tree_util.register_pytree_node_class
class gaussian_kde:  # noqa: N801 - a class named as the field knows it
    """A density made of a normal distribution around each sample.

    Args:
        dataset: the samples, an array (n,) or (d, n) of n points in d dimensions.
        bw_method: the width in units of the samples' standard deviation: "scott" or None for n^(-1/(d + 4)),
            "silverman" for (n (d + 2) / 4)^(-1/(d + 4)), a number, or a function of the estimate.
        weights: how much each sample counts, an array (n,); None: all the same.

    Attributes:
        dataset: the samples, an array (d, n).
        weights: their weights, which sum to 1.
        neff: how many samples of equal weight they are worth, 1 / sum(weights²).
        covariance: of the normal distributions, an array (d, d).
        inv_cov: its inverse.

    Raises:
        ValueError: for fewer than two samples, another shape, another method.
        NotImplementedError: for complex samples.

    Source: Scott, Multivariate Density Estimation, Wiley 1992; Silverman, Density Estimation, Chapman and Hall 1986.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.stats import gaussian_kde
    >>> f"{gaussian_kde(np.array([0.0, 1.0]), bw_method=1.0).pdf(0.5)[0]:.4f}"
    '0.4394'
    """

    dataset: Array
    weights: Array
    neff: Array
    covariance: Any
    inv_cov: Array | None

    def __init__(self, dataset: object, bw_method: object = None, weights: object = None) -> None:
        samples = tnp.atleast_2d(asarray(promote_inexact("gaussian_kde", dataset)[0]))
        if is_complex(samples):
            raise NotImplementedError("gaussian_kde does not support complex samples")
        if samples.ndim != 2 or samples.shape[1] < 2:
            raise ValueError(f"gaussian_kde: dataset must have two samples or more, got shape {samples.shape}")
        self.dataset = samples
        count = samples.shape[1]
        self.weights = _weights(weights, count, samples.dtype)
        self.neff = 1 / (self.weights**2).sum()
        self.covariance = self.inv_cov = None
        factor = self._factor(bw_method)
        spread = tnp.atleast_2d(tnp.cov(samples, aweights=self.weights))
        self.covariance = spread * factor**2
        self.inv_cov = tnp.linalg.inv(spread) / factor**2

    def _factor(self, method: object) -> Array:
        if method is None or method == "scott":
            return self.neff ** (-1 / (self.d + 4))
        if isinstance(method, str):
            if method != "silverman":
                raise ValueError(f"gaussian_kde: bw_method must be 'scott', 'silverman', a number, got {method!r}")
            return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        return method(self) if callable(method) else asarray(method)

    def tree_flatten(self) -> tuple[tuple[Array | None, ...], None]:
        """The arrays, as `tangrad.tree` has them."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: object, children: Any) -> gaussian_kde:
        """The estimate of its arrays."""
        del aux_data
        made = cls.__new__(cls)
        made.neff, made.dataset, made.weights, made.covariance, made.inv_cov = children
        return made

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.dataset.shape[1]

    def logpdf(self, x: object) -> Array:
        """The logarithm of the density at points, an array (m,) or (d, m)."""
        return self._log_mixture(self._points(x), self.covariance)

    def pdf(self, x: object) -> Array:
        """The density at points, an array (m,) or (d, m)."""
        return tnp.exp(self.logpdf(x))

    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points: `pdf`."""
        return self.pdf(points)

    def __call__(self, points: ArrayLike) -> Array:
        """The density at points: `pdf`."""
        return self.pdf(points)

    def _points(self, x: object) -> Array:
        points = tnp.atleast_2d(asarray(promote_inexact("gaussian_kde", x)[0]))
        if points.shape[0] != self.d and points.shape == (1, self.d):
            points = points.reshape(self.d, 1)  # one point
        if points.ndim != 2 or points.shape[0] != self.d:
            raise ValueError(f"gaussian_kde: points must have {self.d} rows, got shape {points.shape}")
        return points

    def _log_mixture(self, points: object, covariance: object) -> Array:
        """log Σ wₖ N(points; sample k, covariance)."""
        arrays = promote_inexact("gaussian_kde", self.dataset, points, covariance)
        samples, points, covariance = [asarray(array) for array in arrays]
        factor = cholesky(covariance)
        ours, theirs = [triangular_solve(factor, x, left_side=True, lower=True) for x in (samples, points)]
        squares = ((theirs[:, :, None] - ours[:, None, :]) ** 2).sum(0)
        constant = 0.5 * self.d * math.log(2 * math.pi) + tnp.log(tnp.diagonal(factor)).sum()
        return logsumexp(-0.5 * squares, axis=1, b=self.weights) - constant

    def integrate_gaussian(self, mean: object, cov: object) -> Array:
        """The integral of the density times a normal one, of a mean (d,) and a covariance (d, d)."""
        mean = tnp.atleast_1d(asarray(mean))
        cov = tnp.atleast_2d(asarray(cov))
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise ValueError(
                f"gaussian_kde: mean and cov must have the shapes {(self.d,)} and {(self.d, self.d)}, got {mean.shape} "
                f"and {cov.shape}"
            )
        return tnp.exp(self._log_mixture(mean[:, None], self.covariance + cov))[0]

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The probability of the interval from low to high, in one dimension."""
        if self.d != 1:
            raise ValueError(f"gaussian_kde: integrate_box_1d is for one dimension, the samples have {self.d}")
        if tnp.ndim(low) or tnp.ndim(high):
            raise ValueError("gaussian_kde: low and high must be numbers")
        width = tnp.sqrt(self.covariance[0, 0])
        ends = [ndtr((asarray(end) - self.dataset[0]) / width) for end in (low, high)]
        return (self.weights * (ends[1] - ends[0])).sum()

    def integrate_kde(self, other: object) -> Array:
        """The integral of the product of two estimates, of the same number of dimensions."""
        if not isinstance(other, gaussian_kde):
            raise TypeError(f"gaussian_kde: integrate_kde takes another estimate, got {other!r}")
        if other.d != self.d:
            raise ValueError(f"gaussian_kde: the estimates have {self.d} and {other.d} dimensions")
        values = tnp.exp(self._log_mixture(other.dataset, self.covariance + other.covariance))
        return (values * other.weights).sum()

    def integrate_box(self, low_bounds: object, high_bounds: object, maxpts: object = None) -> NoReturn:
        """Not supported: `integrate_box_1d` is for one dimension."""
        raise NotImplementedError("gaussian_kde: boxes of several dimensions are not supported; see integrate_box_1d")

    def set_bandwidth(self, bw_method: object = None) -> None:
        """Not supported, since estimates do not change: make another."""
        raise NotImplementedError("gaussian_kde: estimates do not change; make another one with bw_method")

    def resample(self, key: Key, shape: Any = ()) -> Array:
        """Samples of the density, an array (d, *shape)."""
        which, around = split(key)
        centres = self.dataset[:, choice(which, self.n, shape, p=self.weights)]
        noise = normal(around, (self.d, *shape), self.dataset.dtype)
        return centres + tnp.tensordot(cholesky(self.covariance), noise, 1)


def _weights(weights: object, count: int, dtype: np.dtype) -> Array:
    if weights is None:
        return tnp.full(count, 1 / count, dtype)
    made = tnp.atleast_1d(asarray(weights)).astype(dtype)
    if made.shape != (count,):
        raise ValueError(f"gaussian_kde: weights must have the shape {(count,)}, got {made.shape}")
    return made / made.sum()
