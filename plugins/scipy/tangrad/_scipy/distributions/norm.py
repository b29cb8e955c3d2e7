"""The normal distribution."""

from __future__ import annotations

from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import HALF_LOG_2PI, known, reals
from tangrad._scipy.special_functions.error_functions import log_ndtr, ndtr, ndtri
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        loc: the mean.
        scale: the standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import norm
    >>> f"{norm.logpdf(0.5):.4f}"
    '-1.0439'
    """
    x, loc, scale = reals("norm.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return known(-0.5 * z * z - tnp.log(scale) - HALF_LOG_2PI, scale > 0, (x - loc) / scale)


@as_one()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        loc: the mean.
        scale: the standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import norm
    >>> f"{norm.pdf(0.5):.4f}"
    '0.3521'
    """
    check_promotion("norm.pdf", x, loc, scale)
    return tnp.exp(logpdf(x, loc, scale))


@as_one()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        loc: the mean.
        scale: the standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import norm
    >>> f"{norm.cdf(0.5):.4f}"
    '0.6915'
    """
    x, loc, scale = reals("norm.cdf", x, loc, scale)
    return known(ndtr((x - loc) / scale), scale > 0, (x - loc) / scale)


@as_one()
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values up to x.

    Args:
        x: where.
        loc: the mean.
        scale: the standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import norm
    >>> f"{norm.logcdf(0.5):.4f}"
    '-0.3689'
    """
    x, loc, scale = reals("norm.logcdf", x, loc, scale)
    return known(log_ndtr((x - loc) / scale), scale > 0, (x - loc) / scale)


@as_one()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x.

    Args:
        x: where.
        loc: the mean.
        scale: the standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import norm
    >>> f"{norm.sf(0.5):.4f}"
    '0.3085'
    """
    x, loc, scale = reals("norm.sf", x, loc, scale)
    return known(ndtr((loc - x) / scale), scale > 0, (x - loc) / scale)


@as_one()
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values above x.

    Args:
        x: where.
        loc: the mean.
        scale: the standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import norm
    >>> f"{norm.logsf(0.5):.4f}"
    '-1.1759'
    """
    x, loc, scale = reals("norm.logsf", x, loc, scale)
    return known(log_ndtr((loc - x) / scale), scale > 0, (x - loc) / scale)


@as_one()
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of `cdf`.

    Args:
        q: probabilities.
        loc: the mean.
        scale: the standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import norm
    >>> f"{norm.ppf(0.25):.4f}"
    '-0.6745'
    """
    q, loc, scale = reals("norm.ppf", q, loc, scale)
    return known(loc + scale * ndtri(q), scale > 0, loc)


@as_one()
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of `sf`.

    Args:
        q: probabilities.
        loc: the mean.
        scale: the standard deviation, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import norm
    >>> f"{norm.isf(0.25):.4f}"
    '0.6745'
    """
    q, loc, scale = reals("norm.isf", q, loc, scale)
    return known(loc - scale * ndtri(q), scale > 0, loc)
