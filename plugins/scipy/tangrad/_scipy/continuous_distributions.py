"""Distributions of real numbers: `tangrad.scipy.stats.norm`, `gamma`, `beta`, …

A record is all that there is of a distribution; its fields are those of `Distribution`. z is (x - loc) / scale.
"""

from __future__ import annotations

import math

import tangrad.numpy as tnp
from tangrad._scipy.distribution_records import (
    FRACTION,
    HALF_LOG_2PI,
    NOT_NEGATIVE,
    POSITIVE,
    Distribution,
    Parameter,
    Support,
    Unstandardised,
    complement_of,
    exp_of,
    location,
    log1p_square,
    log_complement,
    log_complement_of,
    log_of,
    of_positive,
    scale,
)
from tangrad._scipy.special_functions.entropies import expit, logit, xlog1py, xlogy
from tangrad._scipy.special_functions.error_functions import log_ndtr, ndtr, ndtri
from tangrad._scipy.special_functions.gamma_functions import betainc, betaln, gammainc, gammaincc, gammaln
from tangrad._scipy.special_functions.harmonics import i0e
from tangrad.core import Array

MADE_FOR = "scipy.stats"
_UNIVARIATE = "Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions, 2nd ed. (1994/95), chapter"
_DIRECTIONAL = "Mardia, Jupp, Directional Statistics (2000), section"
_ALL = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
_FROM_LOC = Support("from loc on", lambda z, *_: z >= 0, 1.0)

# --- on the whole line -----------------------------------------------------------------------------------------------

norm = Distribution(
    "norm",
    "The normal distribution, of density exp(-z²/2) / (√(2π) scale)",
    location("the mean"),
    scale("the standard deviation"),
    logpdf=lambda z: -0.5 * z * z - HALF_LOG_2PI,
    cdf=ndtr,
    logcdf=log_ndtr,
    sf=lambda z: ndtr(-z),
    logsf=lambda z: log_ndtr(-z),
    ppf=ndtri,
    isf=lambda q: -ndtri(q),
    at=(0.5,),
    results={
        "logpdf": -1.0439,
        "pdf": 0.3521,
        "cdf": 0.6915,
        "logcdf": -0.3689,
        "sf": 0.3085,
        "logsf": -1.1759,
        "ppf": -0.6745,
        "isf": 0.6745,
    },
    source=f"{_UNIVARIATE} 13",
    never_weak=("cdf", "logcdf", "sf", "logsf", "ppf", "isf"),
)

laplace = Distribution(
    "laplace",
    "The distribution of Laplace, of density exp(-|z|) / (2 scale)",
    location("the mean"),
    scale("the mean distance from it"),
    logpdf=lambda z: -abs(z) - math.log(2),
    cdf=lambda z: tnp.where(z < 0, 0.5 * tnp.exp(-abs(z)), 1 - 0.5 * tnp.exp(-abs(z))),
    at=(0.5,),
    results={"logpdf": -1.1931, "pdf": 0.3033, "cdf": 0.6967},
    source=f"{_UNIVARIATE} 24",
)

logistic = Distribution(
    "logistic",
    "The logistic distribution, of density exp(-z) / ((1 + exp(-z))² scale)",
    location("the mean"),
    scale("the scale"),
    logpdf=lambda z: -tnp.logaddexp(z, 0) - tnp.logaddexp(-z, 0),
    cdf=expit,
    sf=lambda z: expit(-z),
    ppf=logit,
    isf=lambda q: -logit(q),
    at=(0.5,),
    results={"logpdf": -1.4482, "pdf": 0.2350, "cdf": 0.6225, "sf": 0.3775, "ppf": -1.0986, "isf": 1.0986},
    source=f"{_UNIVARIATE} 23",
    probabilities="x",  # as in JAX
    weak_as_promoted=("cdf", "sf"),
)


def _cotangent(q: Array) -> Array:
    """The cotangent of πq, infinite at 0 and 1."""
    middle, upper = abs(q - 0.5) < 0.25, q > 0.5
    value = 1 / tnp.tan(math.pi * tnp.where(middle, 0.25, tnp.where(upper, 1 - q, q)))
    return tnp.where(middle, tnp.tan(math.pi * tnp.where(middle, 0.5 - q, 0.0)), tnp.where(upper, -value, value))


cauchy = Distribution(
    "cauchy",
    "The distribution of Cauchy, of density 1 / (π (1 + z²) scale)",
    location("the median"),
    scale("half the distance of the quartiles"),
    logpdf=lambda z: -math.log(math.pi) - log1p_square(z),
    cdf=lambda z: tnp.arctan2(tnp.ones_like(z), -z) / math.pi,
    logcdf=log_of("cdf"),
    sf=lambda z: tnp.arctan2(tnp.ones_like(z), z) / math.pi,
    logsf=log_of("sf"),
    ppf=lambda q: -_cotangent(q),
    isf=_cotangent,
    at=(0.5,),
    results={
        "logpdf": -1.3679,
        "pdf": 0.2546,
        "cdf": 0.6476,
        "logcdf": -0.4345,
        "sf": 0.3524,
        "logsf": -1.0429,
        "ppf": -1.0,
        "isf": 1.0,
    },
    source=f"{_UNIVARIATE} 16",
)


def _student(z: Array, df: Array) -> Array:
    endless = df == math.inf  # the normal distribution
    degrees, bounded = tnp.where(endless, 1.0, df), tnp.where(endless, z, 0.0)
    constant = -betaln(0.5, 0.5 * degrees) - 0.5 * tnp.log(degrees)
    value = constant - 0.5 * (degrees + 1) * log1p_square(z / tnp.sqrt(degrees))
    return tnp.where(endless, -0.5 * bounded * bounded - HALF_LOG_2PI, value)


t = Distribution(
    "t",
    "The distribution of Student, of density (1 + z²/df)^(-(df + 1)/2) / (B(1/2, df/2) √df scale)",
    Parameter("df", "the degrees of freedom", POSITIVE, samples=(0.8, 12.0)),
    location("the centre"),
    scale("the scale"),
    logpdf=_student,
    at=(0.5, 3.0),
    results={"logpdf": -1.1610, "pdf": 0.3132},
    source=f"{_UNIVARIATE} 28",
)

gennorm = Distribution(
    "gennorm",
    "The generalised normal distribution, of density beta exp(-|x|^beta) / (2 Γ(1/beta))",
    Parameter("beta", "the exponent", POSITIVE, samples=(0.7, 2.0)),
    logpdf=lambda x, beta: tnp.log(0.5 * beta) - gammaln(1 / beta) - abs(x) ** beta,
    cdf=lambda x, beta: 0.5 * (1 + tnp.sign(x) * gammainc(1 / beta, abs(x) ** beta)),
    at=(0.5, 1.5),
    results={"logpdf": -0.9444, "pdf": 0.3889, "cdf": 0.7417},
    source="Nadarajah, A generalized normal distribution, Journal of Applied Statistics 32 (2005)",
    weak_as_promoted=_ALL,
)

gumbel_l = Distribution(
    "gumbel_l",
    "The distribution of Gumbel of the least of many, of density exp(z - exp(z)) / scale",
    location("the mode"),
    scale("the scale"),
    logpdf=lambda z: z - tnp.exp(z),
    cdf=complement_of("logsf"),
    logcdf=log_complement_of("logsf"),
    sf=exp_of("logsf"),
    logsf=lambda z: -tnp.exp(z),
    ppf=lambda p: tnp.log(-tnp.log1p(-p)),
    at=(0.5,),
    results={
        "logpdf": -1.1487,
        "pdf": 0.3170,
        "cdf": 0.8077,
        "logcdf": -0.2136,
        "sf": 0.1923,
        "logsf": -1.6487,
        "ppf": -1.2459,
    },
    source=f"{_UNIVARIATE} 22",
    probabilities="p",
    weak_as_promoted=_ALL,
)

gumbel_r = Distribution(
    "gumbel_r",
    "The distribution of Gumbel of the greatest of many, of density exp(-z - exp(-z)) / scale",
    location("the mode"),
    scale("the scale"),
    logpdf=lambda z: -z - tnp.exp(-z),
    cdf=exp_of("logcdf"),
    logcdf=lambda z: -tnp.exp(-z),
    sf=complement_of("logcdf"),
    logsf=log_complement_of("logcdf"),
    ppf=lambda p: -tnp.log(-tnp.log(p)),
    at=(0.5,),
    results={
        "logpdf": -1.1065,
        "pdf": 0.3307,
        "cdf": 0.5452,
        "logcdf": -0.6065,
        "sf": 0.4548,
        "logsf": -0.7880,
        "ppf": -0.3266,
    },
    source=f"{_UNIVARIATE} 22",
    probabilities="p",
    weak_as_promoted=("logpdf", "pdf", "cdf", "logcdf", "sf", "ppf"),
)

# --- on a half-line --------------------------------------------------------------------------------------------------

expon = Distribution(
    "expon",
    "The exponential distribution, of density exp(-z) / scale",
    location("the lower end"),
    scale("the mean above it"),
    support=_FROM_LOC,
    logpdf=lambda z: -z,
    cdf=lambda z: -tnp.expm1(-tnp.maximum(z, 0)),
    logcdf=log_complement_of("logsf"),
    sf=exp_of("logsf"),
    logsf=lambda z: -tnp.maximum(z, 0),
    ppf=lambda q: -tnp.log1p(-q),
    at=(0.5,),
    results={
        "logpdf": -0.5,
        "pdf": 0.6065,
        "cdf": 0.3935,
        "logcdf": -0.9328,
        "sf": 0.6065,
        "logsf": -0.5,
        "ppf": 0.2877,
    },
    source=f"{_UNIVARIATE} 19",
    weak_as_promoted=_ALL,
)


def _gamma(z: Array, a: Array) -> Array:
    return xlogy(a - 1, z) - z - gammaln(a)


gamma = Distribution(
    "gamma",
    "The gamma distribution, of density z^(a - 1) exp(-z) / (Γ(a) scale)",
    Parameter("a", "the shape", POSITIVE),
    location("the lower end"),
    scale("the scale"),
    support=_FROM_LOC,
    logpdf=_gamma,
    cdf=lambda z, a: of_positive(gammainc, a, z, 1.0),
    logcdf=log_of("cdf"),
    sf=lambda z, a: of_positive(gammaincc, a, z, 0.0),
    logsf=log_of("sf"),
    at=(0.5, 2.0),
    results={"logpdf": -1.1931, "pdf": 0.3033, "cdf": 0.0902, "logcdf": -2.4057, "sf": 0.9098, "logsf": -0.0945},
    source=f"{_UNIVARIATE} 17",
    weak_as_promoted=("sf", "logsf"),
)

chi2 = Distribution(
    "chi2",
    "The chi-squared distribution, which is the gamma distribution of a = df/2 and twice the scale",
    Parameter("df", "the degrees of freedom", POSITIVE, samples=(1.0, 4.5)),
    location("the lower end"),
    scale("the scale"),
    support=_FROM_LOC,
    logpdf=lambda z, df: _gamma(0.5 * z, 0.5 * df) - math.log(2),
    cdf=lambda z, df: of_positive(gammainc, 0.5 * df, 0.5 * z, 1.0),
    logcdf=log_of("cdf"),
    sf=lambda z, df: of_positive(gammaincc, 0.5 * df, 0.5 * z, 0.0),
    logsf=log_of("sf"),
    at=(0.5, 3.0),
    results={"logpdf": -1.5155, "pdf": 0.2197, "cdf": 0.0811, "logcdf": -2.5120, "sf": 0.9189, "logsf": -0.0846},
    source=f"{_UNIVARIATE} 18",
)


def _log_above(z: Array, b: Array) -> Array:
    above = z > 1
    return tnp.where(above, -b * tnp.log(tnp.where(above, z, 2.0)), 0.0)


pareto = Distribution(
    "pareto",
    "The distribution of Pareto, of density b / (z^(b + 1) scale)",
    Parameter("b", "the exponent", POSITIVE, samples=(0.5, 3.0)),
    location("the shift"),
    scale("the lower end less the shift"),
    support=Support("from loc + scale on", lambda z, b: z >= 1, 1.0),
    logpdf=lambda z, b: tnp.log(b) - tnp.where(z == 1, 0.0, (b + 1) * tnp.log(z)),
    cdf=complement_of("logsf"),
    logcdf=log_complement_of("logsf"),
    sf=exp_of("logsf"),
    logsf=_log_above,
    ppf=lambda q, b: tnp.where(q == 1, math.inf, tnp.exp(-tnp.log1p(-tnp.where(q == 1, 0.5, q)) / b)),
    at=(1.5, 2.0),
    results={
        "logpdf": -0.5232,
        "pdf": 0.5926,
        "cdf": 0.5556,
        "logcdf": -0.5878,
        "sf": 0.4444,
        "logsf": -0.8109,
        "ppf": 1.1547,
    },
    source=f"{_UNIVARIATE} 20",
    weak_as_promoted=("logcdf",),
)

# --- on an interval --------------------------------------------------------------------------------------------------

beta = Distribution(
    "beta",
    "The beta distribution, of density z^(a - 1) (1 - z)^(b - 1) / (B(a, b) scale)",
    Parameter("a", "the first exponent", POSITIVE, samples=(0.5, 2.0)),
    Parameter("b", "the second exponent", POSITIVE, samples=(3.0, 1.0)),
    location("the lower end"),
    scale("the width"),
    support=Support("from loc to loc + scale", lambda z, a, b: (z >= 0) & (z <= 1), 0.5),
    logpdf=lambda z, a, b: xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b),
    cdf=lambda z, a, b: betainc(a, b, tnp.clip(z, 0, 1)),
    logcdf=log_of("cdf"),
    sf=lambda z, a, b: betainc(b, a, tnp.clip(1 - z, 0, 1)),
    logsf=log_of("sf"),
    at=(0.5, 2.0, 3.0),
    results={"logpdf": 0.4055, "pdf": 1.5, "cdf": 0.6875, "logcdf": -0.3747, "sf": 0.3125, "logsf": -1.1632},
    source=f"{_UNIVARIATE} 25",
)

uniform = Distribution(
    "uniform",
    "The uniform distribution on the interval from loc to loc + scale",
    location("the lower end"),
    scale("the width"),
    # Of x itself: rounding must not put the upper end outside.
    logpdf=Unstandardised(lambda x, loc, scale: tnp.where((x >= loc) & (x <= loc + scale), -tnp.log(scale), -math.inf)),
    pdf=Unstandardised(lambda x, loc, scale: tnp.where((x >= loc) & (x <= loc + scale), 1 / scale, 0.0)),
    cdf=lambda z: tnp.clip(z, 0, 1),
    ppf=lambda q: q,
    at=(0.25,),
    results={"logpdf": -0.0, "pdf": 1.0, "cdf": 0.25, "ppf": 0.25},
    source=f"{_UNIVARIATE} 26",
    never_weak=("cdf",),
    weak_as_promoted=("logpdf", "pdf", "ppf"),
)


def _log_mass(a: Array, b: Array) -> Array:
    """log(Φ(b) - Φ(a)) for a < b, without the difference of numbers near 1: what is right of 0 is turned around."""
    right = a > 0
    low, high = tnp.where(right, -b, a), tnp.where(right, -a, b)
    left = high <= 0
    above, below = log_ndtr(tnp.where(left, high, 0.0)), log_ndtr(tnp.where(left, low, -1.0))
    around = tnp.log1p(-ndtr(tnp.where(left, -1.0, low)) - ndtr(tnp.where(left, -1.0, -high)))
    return tnp.where(left, above + log_complement(above - below), around)


def _log_below_cut(z: Array, a: Array, b: Array) -> Array:
    inside = (z > a) & (z < b)
    value = _log_mass(a, tnp.where(inside, z, b)) - _log_mass(a, b)
    return tnp.where(inside, value, tnp.where(z <= a, -math.inf, 0.0))


def _log_above_cut(z: Array, a: Array, b: Array) -> Array:
    inside = (z > a) & (z < b)
    value = _log_mass(tnp.where(inside, z, a), b) - _log_mass(a, b)
    return tnp.where(inside, value, tnp.where(z <= a, 0.0, -math.inf))


truncnorm = Distribution(
    "truncnorm",
    "The normal distribution between two bounds, of density exp(-z²/2) / (√(2π) (Φ(b) - Φ(a)) scale)",
    Parameter("a", "the lower bound in units of scale from loc", samples=(-1.0, 0.5, -math.inf)),
    Parameter("b", "the upper bound, greater than a", samples=(0.7, 3.0, math.inf)),
    location("the mean of what is cut"),
    scale("its standard deviation"),
    support=Support("from loc + a scale to loc + b scale", lambda z, a, b: (z >= a) & (z <= b), 0.0),
    together=lambda a, b: a < b,
    logpdf=lambda z, a, b: -0.5 * z * z - HALF_LOG_2PI - _log_mass(a, b),
    cdf=exp_of("logcdf"),
    logcdf=_log_below_cut,
    sf=exp_of("logsf"),
    logsf=_log_above_cut,
    at=(0.5, -1.0, 2.0),
    results={"logpdf": -0.8438, "pdf": 0.4301, "cdf": 0.6509, "logcdf": -0.4294, "sf": 0.3491, "logsf": -1.0523},
    source=f"{_UNIVARIATE} 13",
    never_weak=_ALL,
)

# --- on the circle ---------------------------------------------------------------------------------------------------

vonmises = Distribution(
    "vonmises",
    "The distribution of von Mises, of angles, of density exp(kappa cos x) / (2π I₀(kappa))",
    Parameter("kappa", "the concentration about 0", NOT_NEGATIVE, samples=(0.5, 30.0)),
    place="angles in radians",
    logpdf=lambda x, kappa: kappa * (tnp.cos(x) - 1) - tnp.log(2 * math.pi * i0e(kappa)),
    at=(0.5, 2.0),
    results={"logpdf": -0.9067, "pdf": 0.4039},
    source=f"{_DIRECTIONAL} 3.5",
    weak_as_promoted=_ALL,
)

wrapcauchy = Distribution(
    "wrapcauchy",
    "The distribution of Cauchy wrapped around the circle, of density (1 - c²) / (2π (1 + c² - 2c cos x))",
    Parameter("c", "the concentration about 0", FRACTION),
    place="angles in radians",
    support=Support("from 0 to 2π", lambda x, c: (x >= 0) & (x <= 2 * math.pi), 0.0),
    logpdf=lambda x, c: tnp.log1p(-c * c) - math.log(2 * math.pi) - tnp.log1p(c * (c - 2 * tnp.cos(x))),
    at=(0.5, 0.3),
    results={"logpdf": -1.3585, "pdf": 0.2570},
    source=f"{_DIRECTIONAL} 3.5",
    weak_as_promoted=_ALL,
)
