"""The distribution of Laplace."""

from __future__ import annotations

from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, reals
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        loc: the mean.
        scale: the mean distance from it, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import laplace
    >>> f"{laplace.logpdf(0.5):.4f}"
    '-1.1931'
    """
    x, loc, scale = reals("laplace.logpdf", x, loc, scale)
    return known(-abs(x - loc) / scale - tnp.log(2 * scale), scale > 0, (x - loc) / scale)


@as_one()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        loc: the mean.
        scale: the mean distance from it, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import laplace
    >>> f"{laplace.pdf(0.5):.4f}"
    '0.3033'
    """
    check_promotion("laplace.pdf", x, loc, scale)
    return tnp.exp(logpdf(x, loc, scale))


@as_one()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        loc: the mean.
        scale: the mean distance from it, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import laplace
    >>> f"{laplace.cdf(0.5):.4f}"
    '0.6967'
    """
    x, loc, scale = reals("laplace.cdf", x, loc, scale)
    z = (x - loc) / scale
    tail = 0.5 * tnp.exp(-abs(z))
    return known(tnp.where(z < 0, tail, 1 - tail), scale > 0, (x - loc) / scale)
