"""The exponential distribution."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, log_complement, quantile, reals
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        loc: the lower end.
        scale: the mean above it, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import expon
    >>> f"{expon.logpdf(0.5):.4f}"
    '-0.5000'
    """
    x, loc, scale = reals("expon.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return known(tnp.where(z < 0, -math.inf, -z - tnp.log(scale)), scale > 0, (x - loc) / scale)


@as_one()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        loc: the lower end.
        scale: the mean above it, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import expon
    >>> f"{expon.pdf(0.5):.4f}"
    '0.6065'
    """
    check_promotion("expon.pdf", x, loc, scale)
    return tnp.exp(logpdf(x, loc, scale))


@as_one()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        loc: the lower end.
        scale: the mean above it, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import expon
    >>> f"{expon.cdf(0.5):.4f}"
    '0.3935'
    """
    x, loc, scale = reals("expon.cdf", x, loc, scale)
    return known(-tnp.expm1(-tnp.maximum((x - loc) / scale, 0)), scale > 0, (x - loc) / scale)


@as_one()
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values up to x.

    Args:
        x: where.
        loc: the lower end.
        scale: the mean above it, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import expon
    >>> f"{expon.logcdf(0.5):.4f}"
    '-0.9328'
    """
    x, loc, scale = reals("expon.logcdf", x, loc, scale)
    return known(log_complement((x - loc) / scale), scale > 0, (x - loc) / scale)


@as_one()
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values above x.

    Args:
        x: where.
        loc: the lower end.
        scale: the mean above it, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import expon
    >>> f"{expon.logsf(0.5):.4f}"
    '-0.5000'
    """
    x, loc, scale = reals("expon.logsf", x, loc, scale)
    return known(-tnp.maximum((x - loc) / scale, 0), scale > 0, (x - loc) / scale)


@as_one()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x.

    Args:
        x: where.
        loc: the lower end.
        scale: the mean above it, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import expon
    >>> f"{expon.sf(0.5):.4f}"
    '0.6065'
    """
    check_promotion("expon.sf", x, loc, scale)
    return tnp.exp(logsf(x, loc, scale))


@as_one()
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of `cdf`.

    Args:
        q: probabilities.
        loc: the lower end.
        scale: the mean above it, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import expon
    >>> f"{expon.ppf(0.25):.4f}"
    '0.2877'
    """
    q, loc, scale = reals("expon.ppf", q, loc, scale)
    return known(quantile(q, loc - scale * tnp.log1p(-q)), scale > 0, loc)
