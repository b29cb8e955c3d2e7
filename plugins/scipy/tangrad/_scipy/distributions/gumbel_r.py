"""The distribution of Gumbel of the greatest of many."""

from __future__ import annotations

from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, log_complement, quantile, reals
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        loc: the mode.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gumbel_r
    >>> f"{gumbel_r.logpdf(0.5):.4f}"
    '-1.1065'
    """
    x, loc, scale = reals("gumbel_r.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return known(-z - tnp.exp(-z) - tnp.log(scale), scale > 0, (x - loc) / scale)


@as_one()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        loc: the mode.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gumbel_r
    >>> f"{gumbel_r.pdf(0.5):.4f}"
    '0.3307'
    """
    check_promotion("gumbel_r.pdf", x, loc, scale)
    return tnp.exp(logpdf(x, loc, scale))


@as_one()
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values up to x.

    Args:
        x: where.
        loc: the mode.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gumbel_r
    >>> f"{gumbel_r.logcdf(0.5):.4f}"
    '-0.6065'
    """
    x, loc, scale = reals("gumbel_r.logcdf", x, loc, scale)
    return known(-tnp.exp(-(x - loc) / scale), scale > 0, (x - loc) / scale)


@as_one()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        loc: the mode.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gumbel_r
    >>> f"{gumbel_r.cdf(0.5):.4f}"
    '0.5452'
    """
    check_promotion("gumbel_r.cdf", x, loc, scale)
    return tnp.exp(logcdf(x, loc, scale))


@as_one()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x.

    Args:
        x: where.
        loc: the mode.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gumbel_r
    >>> f"{gumbel_r.sf(0.5):.4f}"
    '0.4548'
    """
    check_promotion("gumbel_r.sf", x, loc, scale)
    return -tnp.expm1(logcdf(x, loc, scale))


@as_one()
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values above x.

    Args:
        x: where.
        loc: the mode.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gumbel_r
    >>> f"{gumbel_r.logsf(0.5):.4f}"
    '-0.7880'
    """
    x, loc, scale = reals("gumbel_r.logsf", x, loc, scale)
    return known(log_complement(tnp.exp(-(x - loc) / scale)), scale > 0, (x - loc) / scale)


@as_one()
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of `cdf`.

    Args:
        p: probabilities.
        loc: the mode.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gumbel_r
    >>> f"{gumbel_r.ppf(0.25):.4f}"
    '-0.3266'
    """
    p, loc, scale = reals("gumbel_r.ppf", p, loc, scale)
    return known(quantile(p, loc - scale * tnp.log(-tnp.log(p))), scale > 0, loc)
