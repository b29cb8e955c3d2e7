"""Reductions and cumulative operations."""

import numpy

from ..corpus import integers, normal, program, uniform


@program(lambda r: (normal(r, 2, 3, 4),), grad=(0,))
def sums_over_axes(api, x):
    """Axes as integers, tuples, negatives; keepdims."""
    np = api.numpy
    return np.sum(x), np.sum(x, 0), np.sum(x, (0, -1)), np.sum(x, 1, keepdims=True), x.sum(axis=-1), x.sum()


@program(lambda r: (normal(r, 3, 5),), grad=(0,))
def moments(api, x):
    """Mean, variance with and without correction, standard deviation."""
    np = api.numpy
    return np.mean(x, 0), np.var(x, 1), np.var(x, ddof=1), np.std(x, axis=0, keepdims=True), x.mean()


@program(lambda r: (normal(r, 4, 5), integers(r, 0, 2, 4, 5, dtype="bool")), grad=(0,))
def masked_reductions(api, x, mask):
    """`where` and `initial`."""
    np = api.numpy
    sums = np.sum(x, axis=1, where=mask), np.mean(x, where=mask | (x > -9)), np.sum(x, initial=2.0)
    return sums, np.max(x, axis=0, where=mask, initial=-5.0), np.min(x, initial=0.5), np.prod(x, axis=1, where=mask)


@program(lambda r: (numpy.array([[1.0, 3.0, 3.0], [2.0, 0.0, 2.0]], "float32"),), grad=(0,))
def extremes_of_arrays(api, x):
    """The derivative at several extremes is shared equally."""
    np = api.numpy
    return np.max(x), np.max(x, 1), np.min(x, 0), x.max(axis=1, keepdims=True), np.ptp(x, axis=1)


@program(lambda r: (normal(r, 3, 4),), grad=(0,))
def products(api, x):
    """Products, one of them with a zero factor."""
    np = api.numpy
    return np.prod(x, 1), np.prod(x), np.prod(x.at[0, 0].set(0.0), axis=0), np.cumprod(x, axis=1)


@program(lambda r: (normal(r, 4, 5),))
def positions_of_extremes(api, x):
    """argmax and argmin, the first at ties."""
    np = api.numpy
    tied = np.array([2, 1, 2, 1])
    return np.argmax(x), np.argmax(x, 0), np.argmin(x, -1, keepdims=True), np.argmax(tied), np.argmin(tied)


@program(lambda r: (normal(r, 4, 5), integers(r, 0, 2, 4, 5)))
def logical_reductions(api, x, k):
    """any, all, counts."""
    np = api.numpy
    return (
        np.any(x > 1, 0),
        np.all(x < 1),
        np.all(k, axis=1, keepdims=True),
        np.sum(k, 1),
        np.count_nonzero(k),
        np.max(k),
    )


@program(lambda r: (normal(r, 3, 5),), grad=(0,))
def cumulative(api, x):
    """Cumulative sums, products, extremes and log-sum-exp, forward and reverse."""
    np, lax = api.numpy, api.lax
    sums = np.cumsum(x, axis=0), np.cumsum(x), lax.cumsum(x, axis=1, reverse=True)
    return sums, lax.cummax(x, axis=1), lax.cummin(x, axis=0), lax.cumlogsumexp(x, axis=1)


@program(lambda r: (normal(r, 3, 4) * 30,), grad=(0,))
def log_sum_exp(api, x):
    """Large inputs do not overflow."""
    return api.nn.logsumexp(x, axis=1), api.nn.logsumexp(x), api.nn.logsumexp(x, axis=0, keepdims=True)


@program(lambda r: (normal(r, 4, 3), uniform(r, 0.1, 1.0, 4)), grad=(0, 1))
def weighted_means(api, x, weights):
    """A weighted average, by hand and by `average`."""
    np = api.numpy
    return np.sum(x * weights[:, None], 0) / np.sum(weights), np.average(x, axis=0, weights=weights)


@program(lambda r: (normal(r, 3, 4) + 3,), grad=(0,))
def norms(api, x):
    """Vector norms and normalised rows."""
    np = api.numpy
    return np.sqrt(np.sum(x * x)), x / np.linalg.norm(x, axis=1, keepdims=True), np.sum(np.abs(x), 0)


@program(lambda r: (normal(r, 0, 3),))
def empty_reductions(api, x):
    """Reductions of nothing give the identity."""
    np = api.numpy
    return np.sum(x, 0), np.prod(x, 0), np.any(x > 0, 0), np.all(x > 0), np.max(x, axis=0, initial=-1.0)
