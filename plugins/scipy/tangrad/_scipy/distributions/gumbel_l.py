"""The distribution of Gumbel of the least of many."""

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

    >>> from tangrad.scipy.stats import gumbel_l
    >>> f"{gumbel_l.logpdf(0.5):.4f}"
    '-1.1487'
    """
    x, loc, scale = reals("gumbel_l.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return known(z - tnp.exp(z) - tnp.log(scale), scale > 0, (x - loc) / scale)


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

    >>> from tangrad.scipy.stats import gumbel_l
    >>> f"{gumbel_l.pdf(0.5):.4f}"
    '0.3170'
    """
    check_promotion("gumbel_l.pdf", x, loc, scale)
    return tnp.exp(logpdf(x, loc, scale))


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

    >>> from tangrad.scipy.stats import gumbel_l
    >>> f"{gumbel_l.logsf(0.5):.4f}"
    '-1.6487'
    """
    x, loc, scale = reals("gumbel_l.logsf", x, loc, scale)
    return known(-tnp.exp((x - loc) / scale), scale > 0, (x - loc) / scale)


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

    >>> from tangrad.scipy.stats import gumbel_l
    >>> f"{gumbel_l.sf(0.5):.4f}"
    '0.1923'
    """
    check_promotion("gumbel_l.sf", x, loc, scale)
    return tnp.exp(logsf(x, loc, scale))


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

    >>> from tangrad.scipy.stats import gumbel_l
    >>> f"{gumbel_l.cdf(0.5):.4f}"
    '0.8077'
    """
    check_promotion("gumbel_l.cdf", x, loc, scale)
    return -tnp.expm1(logsf(x, loc, scale))


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

    >>> from tangrad.scipy.stats import gumbel_l
    >>> f"{gumbel_l.logcdf(0.5):.4f}"
    '-0.2136'
    """
    x, loc, scale = reals("gumbel_l.logcdf", x, loc, scale)
    return known(log_complement(tnp.exp((x - loc) / scale)), scale > 0, (x - loc) / scale)


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

    >>> from tangrad.scipy.stats import gumbel_l
    >>> f"{gumbel_l.ppf(0.25):.4f}"
    '-1.2459'
    """
    p, loc, scale = reals("gumbel_l.ppf", p, loc, scale)
    return known(quantile(p, loc + scale * tnp.log(-tnp.log1p(-p))), scale > 0, loc)
