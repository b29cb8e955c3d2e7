"""The distribution of Pareto."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, log_complement, quantile, reals, within
from tangrad.extend.numpy import as_one, check_promotion


def _log_upper(z: Any, b: Any) -> Any:
    above = z > 1
    return tnp.where(above, -b * tnp.log(tnp.where(above, z, 2.0)), 0.0)


def _standard_quantile(q: Any, b: Any) -> Any:
    return tnp.where(q == 1, math.inf, tnp.exp(-tnp.log1p(-tnp.where(q == 1, 0.5, q)) / b))


@as_one()
def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        b: the exponent, positive.
        loc: the shift.
        scale: the lower end less the shift, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import pareto
    >>> f"{pareto.logpdf(1.5, 2.0):.4f}"
    '-0.5232'
    """
    x, b, loc, scale = reals("pareto.logpdf", x, b, loc, scale)
    inside = (x - loc) / scale >= 1
    z = within(inside, (x - loc) / scale, 1.0)
    return known(
        tnp.where(inside, tnp.log(b / scale) - tnp.where(z == 1, 0.0, (b + 1) * tnp.log(z)), -math.inf),
        (b > 0) & (scale > 0),
        (x - loc) / scale,
    )


@as_one()
def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        b: the exponent, positive.
        loc: the shift.
        scale: the lower end less the shift, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import pareto
    >>> f"{pareto.pdf(1.5, 2.0):.4f}"
    '0.5926'
    """
    check_promotion("pareto.pdf", x, b, loc, scale)
    return tnp.exp(logpdf(x, b, loc, scale))


@as_one()
def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values above x.

    Args:
        x: where.
        b: the exponent, positive.
        loc: the shift.
        scale: the lower end less the shift, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import pareto
    >>> f"{pareto.logsf(1.5, 2.0):.4f}"
    '-0.8109'
    """
    x, b, loc, scale = reals("pareto.logsf", x, b, loc, scale)
    return known(_log_upper((x - loc) / scale, b), (b > 0) & (scale > 0), (x - loc) / scale)


@as_one()
def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x.

    Args:
        x: where.
        b: the exponent, positive.
        loc: the shift.
        scale: the lower end less the shift, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import pareto
    >>> f"{pareto.sf(1.5, 2.0):.4f}"
    '0.4444'
    """
    check_promotion("pareto.sf", x, b, loc, scale)
    return tnp.exp(logsf(x, b, loc, scale))


@as_one()
def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        b: the exponent, positive.
        loc: the shift.
        scale: the lower end less the shift, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import pareto
    >>> f"{pareto.cdf(1.5, 2.0):.4f}"
    '0.5556'
    """
    check_promotion("pareto.cdf", x, b, loc, scale)
    return -tnp.expm1(logsf(x, b, loc, scale))


@as_one()
def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values up to x.

    Args:
        x: where.
        b: the exponent, positive.
        loc: the shift.
        scale: the lower end less the shift, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import pareto
    >>> f"{pareto.logcdf(1.5, 2.0):.4f}"
    '-0.5878'
    """
    x, b, loc, scale = reals("pareto.logcdf", x, b, loc, scale)
    return known(log_complement(-logsf(x, b, loc, scale)), (b > 0) & (scale > 0), (x - loc) / scale)


@as_one()
def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of `cdf`.

    Args:
        q: probabilities.
        b: the exponent, positive.
        loc: the shift.
        scale: the lower end less the shift, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import pareto
    >>> f"{pareto.ppf(0.25, 2.0):.4f}"
    '1.1547'
    """
    q, b, loc, scale = reals("pareto.ppf", q, b, loc, scale)
    return known(quantile(q, loc + scale * _standard_quantile(q, b)), (b > 0) & (scale > 0), loc)
