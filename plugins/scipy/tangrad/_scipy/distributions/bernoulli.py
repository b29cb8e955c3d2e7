"""The distribution of Bernoulli: 1 with the probability p, else 0."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, quantile, reals
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k.

    Args:
        k: where.
        p: the probability of 1.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import bernoulli
    >>> f"{bernoulli.logpmf(1, 0.3):.4f}"
    '-1.2040'
    """
    k, p, loc = reals("bernoulli.logpmf", k, p, loc)
    y = k - loc
    safe = tnp.where((p > 0) & (p < 1), p, 0.5)
    inner = tnp.where(y == 1, tnp.log(safe), tnp.where(y == 0, tnp.log1p(-safe), -math.inf))
    certain = tnp.where(y == tnp.where(p > 0.5, 1.0, 0.0), 0.0, -math.inf)
    return known(
        tnp.where((p >= 0) & (p <= 1), tnp.where((p > 0) & (p < 1), inner, certain), math.nan),
        (p >= 0) & (p <= 1),
        k - loc,
    )


@as_one()
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k.

    Args:
        k: where.
        p: the probability of 1.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import bernoulli
    >>> f"{bernoulli.pmf(1, 0.3):.4f}"
    '0.3000'
    """
    check_promotion("bernoulli.pmf", k, p, loc)
    return tnp.exp(logpmf(k, p, loc))


@as_one()
def cdf(k: Any, p: Any) -> Any:
    """The probability of values up to k.

    Args:
        k: where.
        p: the probability of 1.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import bernoulli
    >>> f"{bernoulli.cdf(1, 0.3):.4f}"
    '1.0000'
    """
    k, p = reals("bernoulli.cdf", k, p)
    value = tnp.where(k < 0, 0.0, tnp.where(k < 1, 1 - p, 1.0))
    return known(tnp.where((p >= 0) & (p <= 1), value, math.nan), (p >= 0) & (p <= 1), k)


@as_one()
def ppf(q: Any, p: Any) -> Any:
    """The quantile function, the inverse of `cdf`.

    Args:
        q: probabilities.
        p: the probability of 1.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import bernoulli
    >>> f"{bernoulli.ppf(0.25, 0.3):.4f}"
    '0.0000'
    """
    q, p = reals("bernoulli.ppf", q, p)
    found = quantile(q, tnp.where(q <= 1 - p, tnp.zeros_like(q), 1.0))
    return known(tnp.where((p >= 0) & (p <= 1), found, math.nan), (p >= 0) & (p <= 1))
