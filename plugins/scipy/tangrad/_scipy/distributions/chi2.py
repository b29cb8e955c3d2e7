"""The chi-squared distribution, which is the gamma distribution of half the degrees of freedom."""

from __future__ import annotations

from typing import Any

from tangrad._scipy.distributions import gamma
from tangrad._scipy.distributions.support import reals
from tangrad.extend.numpy import as_one


@as_one()
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        df: the degrees of freedom, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import chi2
    >>> f"{chi2.logpdf(0.5, 3.0):.4f}"
    '-1.5155'
    """
    x, df, loc, scale = reals("chi2.logpdf", x, df, loc, scale)
    return gamma.logpdf(x, 0.5 * df, loc, 2 * scale)


@as_one()
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        df: the degrees of freedom, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import chi2
    >>> f"{chi2.pdf(0.5, 3.0):.4f}"
    '0.2197'
    """
    x, df, loc, scale = reals("chi2.pdf", x, df, loc, scale)
    return gamma.pdf(x, 0.5 * df, loc, 2 * scale)


@as_one()
def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        df: the degrees of freedom, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import chi2
    >>> f"{chi2.cdf(0.5, 3.0):.4f}"
    '0.0811'
    """
    x, df, loc, scale = reals("chi2.cdf", x, df, loc, scale)
    return gamma.cdf(x, 0.5 * df, loc, 2 * scale)


@as_one()
def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values up to x.

    Args:
        x: where.
        df: the degrees of freedom, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import chi2
    >>> f"{chi2.logcdf(0.5, 3.0):.4f}"
    '-2.5120'
    """
    x, df, loc, scale = reals("chi2.logcdf", x, df, loc, scale)
    return gamma.logcdf(x, 0.5 * df, loc, 2 * scale)


@as_one()
def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x.

    Args:
        x: where.
        df: the degrees of freedom, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import chi2
    >>> f"{chi2.sf(0.5, 3.0):.4f}"
    '0.9189'
    """
    x, df, loc, scale = reals("chi2.sf", x, df, loc, scale)
    return gamma.sf(x, 0.5 * df, loc, 2 * scale)


@as_one()
def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values above x.

    Args:
        x: where.
        df: the degrees of freedom, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import chi2
    >>> f"{chi2.logsf(0.5, 3.0):.4f}"
    '-0.0846'
    """
    x, df, loc, scale = reals("chi2.logsf", x, df, loc, scale)
    return gamma.logsf(x, 0.5 * df, loc, 2 * scale)
