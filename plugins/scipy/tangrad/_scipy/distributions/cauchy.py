"""The distribution of Cauchy."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, log1p_square, quantile, reals
from tangrad.extend.numpy import as_one, check_promotion


def _cotangent(q: Any) -> Any:
    """The cotangent of πq, infinite at 0 and 1."""
    middle, upper = abs(q - 0.5) < 0.25, q > 0.5
    value = 1 / tnp.tan(math.pi * tnp.where(middle, 0.25, tnp.where(upper, 1 - q, q)))
    return tnp.where(middle, tnp.tan(math.pi * tnp.where(middle, 0.5 - q, 0.0)), tnp.where(upper, -value, value))


@as_one()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        loc: the median.
        scale: half the distance of the quartiles, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import cauchy
    >>> f"{cauchy.logpdf(0.5):.4f}"
    '-1.3679'
    """
    x, loc, scale = reals("cauchy.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return known(-tnp.log(math.pi * scale) - log1p_square(z), scale > 0, (x - loc) / scale)


@as_one()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        loc: the median.
        scale: half the distance of the quartiles, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import cauchy
    >>> f"{cauchy.pdf(0.5):.4f}"
    '0.2546'
    """
    check_promotion("cauchy.pdf", x, loc, scale)
    return tnp.exp(logpdf(x, loc, scale))


@as_one()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        loc: the median.
        scale: half the distance of the quartiles, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import cauchy
    >>> f"{cauchy.cdf(0.5):.4f}"
    '0.6476'
    """
    x, loc, scale = reals("cauchy.cdf", x, loc, scale)
    z = (x - loc) / scale
    return known(tnp.arctan2(tnp.ones_like(z), -z) / math.pi, scale > 0, (x - loc) / scale)


@as_one()
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values up to x.

    Args:
        x: where.
        loc: the median.
        scale: half the distance of the quartiles, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import cauchy
    >>> f"{cauchy.logcdf(0.5):.4f}"
    '-0.4345'
    """
    check_promotion("cauchy.logcdf", x, loc, scale)
    return tnp.log(cdf(x, loc, scale))


@as_one()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x.

    Args:
        x: where.
        loc: the median.
        scale: half the distance of the quartiles, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import cauchy
    >>> f"{cauchy.sf(0.5):.4f}"
    '0.3524'
    """
    x, loc, scale = reals("cauchy.sf", x, loc, scale)
    z = (x - loc) / scale
    return known(tnp.arctan2(tnp.ones_like(z), z) / math.pi, scale > 0, (x - loc) / scale)


@as_one()
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values above x.

    Args:
        x: where.
        loc: the median.
        scale: half the distance of the quartiles, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import cauchy
    >>> f"{cauchy.logsf(0.5):.4f}"
    '-1.0429'
    """
    check_promotion("cauchy.logsf", x, loc, scale)
    return tnp.log(sf(x, loc, scale))


@as_one()
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of `cdf`.

    Args:
        q: probabilities.
        loc: the median.
        scale: half the distance of the quartiles, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import cauchy
    >>> f"{cauchy.ppf(0.25):.4f}"
    '-1.0000'
    """
    q, loc, scale = reals("cauchy.ppf", q, loc, scale)
    return known(quantile(q, loc - scale * _cotangent(q)), scale > 0, loc)


@as_one()
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of `sf`.

    Args:
        q: probabilities.
        loc: the median.
        scale: half the distance of the quartiles, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import cauchy
    >>> f"{cauchy.isf(0.25):.4f}"
    '1.0000'
    """
    q, loc, scale = reals("cauchy.isf", q, loc, scale)
    return known(quantile(q, loc + scale * _cotangent(q)), scale > 0, loc)
