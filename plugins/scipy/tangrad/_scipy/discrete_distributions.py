"""Distributions of whole numbers: `tangrad.scipy.stats.poisson`, `binom`, `geom`, …

A record is all that there is of a distribution; its fields are those of `Distribution`. Where a distribution
has `loc`, the formulas are of k - loc.
"""

from __future__ import annotations

import math

import tangrad.numpy as tnp
from tangrad._scipy.distribution_records import (
    CHANCE,
    COUNT,
    HALF_LOG_2PI,
    NOT_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    Distribution,
    Parameter,
    Support,
    is_whole,
    location,
    log_choices,
)
from tangrad._scipy.special_functions.elementwise import polynomial, sum_of_terms
from tangrad._scipy.special_functions.entropies import xlog1py, xlogy
from tangrad._scipy.special_functions.gamma_functions import betaln, gammaincc, gammaln
from tangrad.core import Array

MADE_FOR = "scipy.stats"
_UNIVARIATE = "Johnson, Kemp, Kotz, Univariate Discrete Distributions, 3rd ed. (2005), chapter"
_FROM_0 = Support("the whole numbers from loc on", lambda k, *_: is_whole(k) & (k >= 0), 0.0)
_UP_TO_N = Support("the whole numbers from loc to loc + n", lambda k, n, *_: is_whole(k) & (k >= 0) & (k <= n), 0.0)


def _one_or_nothing(k: Array, p: Array) -> Array:
    uncertain = (p > 0) & (p < 1)
    safe = tnp.where(uncertain, p, 0.5)
    value = tnp.where(k == 1, tnp.log(safe), tnp.where(k == 0, tnp.log1p(-safe), -math.inf))
    certain = tnp.where(k == tnp.where(p > 0.5, 1.0, 0.0), 0.0, -math.inf)
    return tnp.where(uncertain, value, certain)


bernoulli = Distribution(
    "bernoulli",
    "The distribution of Bernoulli: 1 with the probability p, else 0",
    Parameter("p", "the probability of 1", PROBABILITY),
    location("the shift", only=("logpmf", "pmf")),
    discrete=True,
    logpmf=_one_or_nothing,
    cdf=lambda k, p: tnp.where(k < 0, 0.0, tnp.where(k < 1, 1 - p, 1.0)),
    ppf=lambda q, p: tnp.where(q <= 1 - p, tnp.zeros_like(q), 1.0),
    at=(1, 0.3),
    results={"logpmf": -1.2040, "pmf": 0.3, "cdf": 1.0, "ppf": 0.0},
    source=f"{_UNIVARIATE} 3",
)

binom = Distribution(
    "binom",
    "The binomial distribution: the number of successes in n trials",
    Parameter("n", "the number of trials", COUNT),
    Parameter("p", "the probability of success", PROBABILITY, samples=(0.2, 0.9)),
    location("the shift"),
    discrete=True,
    support=_UP_TO_N,
    logpmf=lambda k, n, p: log_choices(n, k) + xlogy(k, p) + xlog1py(n - k, -p),
    at=(2, 5, 0.3),
    results={"logpmf": -1.1754, "pmf": 0.3087},
    source=f"{_UNIVARIATE} 3",
    weak_as_promoted=("logpmf", "pmf"),
)

betabinom = Distribution(
    "betabinom",
    "The beta-binomial distribution: binomial, the probability of success of a beta distribution",
    Parameter("n", "the number of trials", COUNT),
    Parameter("a", "the first exponent", POSITIVE, samples=(0.5, 2.0)),
    Parameter("b", "the second exponent", POSITIVE, samples=(3.0, 1.0)),
    location("the shift"),
    discrete=True,
    support=_UP_TO_N,
    logpmf=lambda k, n, a, b: log_choices(n, k) + betaln(k + a, n - k + b) - betaln(a, b),
    at=(2, 5, 2.0, 3.0),
    results={"logpmf": -1.4351, "pmf": 0.2381},
    source=f"{_UNIVARIATE} 6",
)

geom = Distribution(
    "geom",
    "The geometric distribution: the number of trials up to the first success",
    Parameter("p", "the probability of success", CHANCE),
    location("the shift"),
    discrete=True,
    support=Support("the whole numbers from loc + 1 on", lambda k, p: is_whole(k) & (k >= 1), 1.0),
    logpmf=lambda k, p: xlog1py(k - 1, -p) + tnp.log(p),
    at=(2, 0.3),
    results={"logpmf": -1.5606, "pmf": 0.2100},
    source=f"{_UNIVARIATE} 5",
)

nbinom = Distribution(
    "nbinom",
    "The negative binomial distribution: the number of failures before n successes",
    Parameter("n", "the number of successes", POSITIVE, samples=(1.0, 7.5)),
    Parameter("p", "the probability of success", CHANCE),
    location("the shift"),
    discrete=True,
    support=_FROM_0,
    logpmf=lambda k, n, p: n * tnp.log(p) + xlog1py(k, -p) - betaln(n, k + 1) - tnp.log(n + k),
    at=(2, 3.0, 0.3),
    results={"logpmf": -2.5335, "pmf": 0.0794},
    source=f"{_UNIVARIATE} 5",
)


def _poisson_up_to(k: Array, mu: Array) -> Array:
    k = tnp.floor(k)
    endless = k == math.inf
    value = tnp.where(endless, 1.0, gammaincc(tnp.where(endless, 0.0, tnp.maximum(k, 0)) + 1, mu))
    return tnp.where(k < 0, 0.0, value)


# H = (log 2πeμ) / 2 - Σ cₖ μ⁻ᵏ: Evans and Boersma, The entropy of a Poisson distribution, SIAM Review 30 (1988).
_SERIES = (57281 / 1440, 33953 / 5040, 1375 / 1008, 863 / 2520, 9 / 80, 19 / 360, 1 / 24, 1 / 12, 0.0)


def _poisson_entropy(mu: Array) -> Array:
    few = mu < 40
    small, large = tnp.where(few & (mu > 0), mu, 1.0), tnp.where(few, 40.0, mu)

    def step(k: Array, probability: Array) -> tuple[Array, Array]:
        probability = probability * (small / k)
        return probability, probability * gammaln(k + 1)

    total = sum_of_terms(140, step, tnp.exp(-small), tnp.zeros_like(mu))
    series = HALF_LOG_2PI + 0.5 + 0.5 * tnp.log(large) - polynomial(1 / large, _SERIES)
    return tnp.where(mu == 0, 0.0, tnp.where(few, small - xlogy(small, small) + total, series))


poisson = Distribution(
    "poisson",
    "The distribution of Poisson: mu^k exp(-mu) / k! is the probability of k",
    Parameter("mu", "the mean", NOT_NEGATIVE, samples=(0.0, 0.7, 33.0, 300.0)),
    location("the shift"),
    discrete=True,
    support=_FROM_0,
    logpmf=lambda k, mu: xlogy(k, mu) - gammaln(k + 1) - mu,
    cdf=_poisson_up_to,
    entropy=_poisson_entropy,
    at=(2, 1.5),
    results={"logpmf": -1.3822, "pmf": 0.2510, "cdf": 0.8088, "entropy": 1.5394},
    source=f"{_UNIVARIATE} 4",
    weak_as_promoted=("logpmf", "pmf"),
)
