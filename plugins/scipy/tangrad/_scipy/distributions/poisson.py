"""The distribution of Poisson."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import HALF_LOG_2PI, is_whole, known, reals, within
from tangrad._scipy.special_functions.elementwise import polynomial, sum_of_terms
from tangrad._scipy.special_functions.entropies import xlogy
from tangrad._scipy.special_functions.gamma_functions import gammaincc, gammaln
from tangrad.extend.numpy import as_one, check_promotion

# H = (log 2πeμ) / 2 - Σ cₖ μ⁻ᵏ: Evans and Boersma, The entropy of a Poisson distribution, SIAM Review 30 (1988).
_ENTROPY = (57281 / 1440, 33953 / 5040, 1375 / 1008, 863 / 2520, 9 / 80, 19 / 360, 1 / 24, 1 / 12, 0.0)


def _up_to(y: Any, mu: Any) -> Any:
    endless = y == math.inf
    return tnp.where(endless, 1.0, gammaincc(tnp.where(endless, 0.0, tnp.maximum(y, 0)) + 1, mu))


@as_one()
def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k.

    Args:
        k: where.
        mu: the mean, not negative.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import poisson
    >>> f"{poisson.logpmf(2, 1.5):.4f}"
    '-1.3822'
    """
    k, mu, loc = reals("poisson.logpmf", k, mu, loc)
    y = k - loc
    inside = is_whole(y) & (y >= 0)
    y = within(inside, y, 0.0)
    return known(tnp.where(inside, xlogy(y, mu) - gammaln(y + 1) - mu, -math.inf), mu >= 0, k - loc)


@as_one()
def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of k.

    Args:
        k: where.
        mu: the mean, not negative.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import poisson
    >>> f"{poisson.pmf(2, 1.5):.4f}"
    '0.2510'
    """
    check_promotion("poisson.pmf", k, mu, loc)
    return tnp.exp(logpmf(k, mu, loc))


@as_one()
def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of values up to k.

    Args:
        k: where.
        mu: the mean, not negative.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import poisson
    >>> f"{poisson.cdf(2, 1.5):.4f}"
    '0.8088'
    """
    k, mu, loc = reals("poisson.cdf", k, mu, loc)
    y = tnp.floor(k - loc)
    return known(tnp.where(y < 0, 0.0, _up_to(y, mu)), mu >= 0, k - loc)


@as_one()
def entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy, in nats.

    Args:
        mu: the mean, not negative.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import poisson
    >>> f"{poisson.entropy(1.5):.4f}"
    '1.5394'
    """
    mu, loc = reals("poisson.entropy", mu, loc)
    del loc  # which has been checked
    few = mu < 40
    small, large = tnp.where(few & (mu > 0), mu, 1.0), tnp.where(few, 40.0, mu)

    def step(k: Any, probability: Any) -> Any:
        probability = probability * (small / k)
        return probability, probability * gammaln(k + 1)

    total = sum_of_terms(140, step, tnp.exp(-small), tnp.zeros_like(mu))
    series = HALF_LOG_2PI + 0.5 + 0.5 * tnp.log(large) - polynomial(1 / large, _ENTROPY)
    value = tnp.where(few, small - xlogy(small, small) + total, series)
    return tnp.where(mu == 0, 0.0, tnp.where(mu > 0, value, math.nan))
