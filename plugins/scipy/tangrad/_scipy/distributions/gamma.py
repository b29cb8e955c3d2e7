"""The gamma distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, reals, within
from tangrad._scipy.special_functions.entropies import xlogy
from tangrad._scipy.special_functions.gamma_functions import gammainc, gammaincc, gammaln
from tangrad.extend.numpy import as_one, check_promotion


def _of_positive(function: Callable[[Any, Any], Any], a: Any, z: Any, at_infinity: float) -> Any:
    """A function of the positive part, held back from infinity, where infinite `a` have no limit."""
    endless = z == math.inf
    return tnp.where(endless, at_infinity, function(a, tnp.where(endless, 1.0, tnp.maximum(z, 0))))


@as_one()
def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        a: the shape, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gamma
    >>> f"{gamma.logpdf(0.5, 2.0):.4f}"
    '-1.1931'
    """
    x, a, loc, scale = reals("gamma.logpdf", x, a, loc, scale)
    z = (x - loc) / scale
    inside = z >= 0
    z = within(inside, z, 1.0)
    return known(
        tnp.where(inside, xlogy(a - 1, z) - z - gammaln(a) - tnp.log(scale), -math.inf),
        (a > 0) & (scale > 0),
        (x - loc) / scale,
    )


@as_one()
def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        a: the shape, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gamma
    >>> f"{gamma.pdf(0.5, 2.0):.4f}"
    '0.3033'
    """
    check_promotion("gamma.pdf", x, a, loc, scale)
    return tnp.exp(logpdf(x, a, loc, scale))


@as_one()
def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        a: the shape, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gamma
    >>> f"{gamma.cdf(0.5, 2.0):.4f}"
    '0.0902'
    """
    x, a, loc, scale = reals("gamma.cdf", x, a, loc, scale)
    return known(_of_positive(gammainc, a, (x - loc) / scale, 1.0), (a > 0) & (scale > 0), (x - loc) / scale)


@as_one()
def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values up to x.

    Args:
        x: where.
        a: the shape, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gamma
    >>> f"{gamma.logcdf(0.5, 2.0):.4f}"
    '-2.4057'
    """
    check_promotion("gamma.logcdf", x, a, loc, scale)
    return tnp.log(cdf(x, a, loc, scale))


@as_one()
def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x.

    Args:
        x: where.
        a: the shape, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gamma
    >>> f"{gamma.sf(0.5, 2.0):.4f}"
    '0.9098'
    """
    x, a, loc, scale = reals("gamma.sf", x, a, loc, scale)
    return known(_of_positive(gammaincc, a, (x - loc) / scale, 0.0), (a > 0) & (scale > 0), (x - loc) / scale)


@as_one()
def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values above x.

    Args:
        x: where.
        a: the shape, positive.
        loc: the lower end.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gamma
    >>> f"{gamma.logsf(0.5, 2.0):.4f}"
    '-0.0945'
    """
    check_promotion("gamma.logsf", x, a, loc, scale)
    return tnp.log(sf(x, a, loc, scale))
