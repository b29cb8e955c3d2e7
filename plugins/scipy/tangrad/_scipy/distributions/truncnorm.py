"""The normal distribution between two bounds, loc + a scale and loc + b scale."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions import norm
from tangrad._scipy.distributions.support import known, log_complement, reals
from tangrad._scipy.special_functions.error_functions import log_ndtr, ndtr
from tangrad.extend.numpy import as_one, check_promotion


def _log_mass(a: Any, b: Any) -> Any:
    """log(Φ(b) - Φ(a)) for a < b, without the difference of numbers near 1: what is right of 0 is turned around."""
    right = a > 0
    low, high = tnp.where(right, -b, a), tnp.where(right, -a, b)
    left = high <= 0
    above, below = log_ndtr(tnp.where(left, high, 0.0)), log_ndtr(tnp.where(left, low, -1.0))
    around = tnp.log1p(-ndtr(tnp.where(left, -1.0, low)) - ndtr(tnp.where(left, -1.0, -high)))
    return tnp.where(left, above + log_complement(above - below), around)


@as_one()
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        a: the lower bound in units of scale from loc.
        b: the upper bound.
        loc: the mean of what is cut.
        scale: its standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import truncnorm
    >>> f"{truncnorm.logpdf(0.5, -1.0, 2.0):.4f}"
    '-0.8438'
    """
    x, a, b, loc, scale = reals("truncnorm.logpdf", x, a, b, loc, scale)
    z = (x - loc) / scale
    value = norm.logpdf(x, loc, scale) - _log_mass(a, b)
    value = tnp.where((z >= a) & (z <= b), value, -math.inf)
    return known(tnp.where(a < b, value, math.nan), (a < b) & (scale > 0), (x - loc) / scale)


@as_one()
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        a: the lower bound in units of scale from loc.
        b: the upper bound.
        loc: the mean of what is cut.
        scale: its standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import truncnorm
    >>> f"{truncnorm.pdf(0.5, -1.0, 2.0):.4f}"
    '0.4301'
    """
    check_promotion("truncnorm.pdf", x, a, b, loc, scale)
    return tnp.exp(logpdf(x, a, b, loc, scale))


@as_one()
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values up to x.

    Args:
        x: where.
        a: the lower bound in units of scale from loc.
        b: the upper bound.
        loc: the mean of what is cut.
        scale: its standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import truncnorm
    >>> f"{truncnorm.logcdf(0.5, -1.0, 2.0):.4f}"
    '-0.4294'
    """
    x, a, b, loc, scale = reals("truncnorm.logcdf", x, a, b, loc, scale)
    z = (x - loc) / scale
    inside = (z > a) & (z < b)
    value = _log_mass(a, tnp.where(inside, z, b)) - _log_mass(a, b)
    value = tnp.where(inside, value, tnp.where(z <= a, -math.inf, 0.0))
    return known(tnp.where(a < b, value, math.nan), (a < b) & (scale > 0), (x - loc) / scale)


@as_one()
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        a: the lower bound in units of scale from loc.
        b: the upper bound.
        loc: the mean of what is cut.
        scale: its standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import truncnorm
    >>> f"{truncnorm.cdf(0.5, -1.0, 2.0):.4f}"
    '0.6509'
    """
    check_promotion("truncnorm.cdf", x, a, b, loc, scale)
    return tnp.exp(logcdf(x, a, b, loc, scale))


@as_one()
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values above x.

    Args:
        x: where.
        a: the lower bound in units of scale from loc.
        b: the upper bound.
        loc: the mean of what is cut.
        scale: its standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import truncnorm
    >>> f"{truncnorm.logsf(0.5, -1.0, 2.0):.4f}"
    '-1.0523'
    """
    x, a, b, loc, scale = reals("truncnorm.logsf", x, a, b, loc, scale)
    z = (x - loc) / scale
    inside = (z > a) & (z < b)
    value = _log_mass(tnp.where(inside, z, a), b) - _log_mass(a, b)
    value = tnp.where(inside, value, tnp.where(z <= a, 0.0, -math.inf))
    return known(tnp.where(a < b, value, math.nan), (a < b) & (scale > 0), (x - loc) / scale)


@as_one()
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x.

    Args:
        x: where.
        a: the lower bound in units of scale from loc.
        b: the upper bound.
        loc: the mean of what is cut.
        scale: its standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import truncnorm
    >>> f"{truncnorm.sf(0.5, -1.0, 2.0):.4f}"
    '0.3491'
    """
    check_promotion("truncnorm.sf", x, a, b, loc, scale)
    return tnp.exp(logsf(x, a, b, loc, scale))
