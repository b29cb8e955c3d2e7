"""The logistic distribution."""

from __future__ import annotations

from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, reals
from tangrad._scipy.special_functions.entropies import expit, logit
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where, or for the inverses probabilities.
        loc: the mean.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import logistic
    >>> f"{logistic.logpdf(0.5):.4f}"
    '-1.4482'
    """
    x, loc, scale = reals("logistic.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return known(-tnp.logaddexp(z, 0) - tnp.logaddexp(-z, 0) - tnp.log(scale), scale > 0, (x - loc) / scale)


@as_one()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where, or for the inverses probabilities.
        loc: the mean.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import logistic
    >>> f"{logistic.pdf(0.5):.4f}"
    '0.2350'
    """
    check_promotion("logistic.pdf", x, loc, scale)
    return tnp.exp(logpdf(x, loc, scale))


@as_one()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where, or for the inverses probabilities.
        loc: the mean.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import logistic
    >>> f"{logistic.cdf(0.5):.4f}"
    '0.6225'
    """
    x, loc, scale = reals("logistic.cdf", x, loc, scale)
    return known(expit((x - loc) / scale), scale > 0, (x - loc) / scale)


@as_one()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x.

    Args:
        x: where, or for the inverses probabilities.
        loc: the mean.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import logistic
    >>> f"{logistic.sf(0.5):.4f}"
    '0.3775'
    """
    x, loc, scale = reals("logistic.sf", x, loc, scale)
    return known(expit((loc - x) / scale), scale > 0, (x - loc) / scale)


@as_one()
def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of `cdf`.

    Args:
        x: where, or for the inverses probabilities.
        loc: the mean.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import logistic
    >>> f"{logistic.ppf(0.25):.4f}"
    '-1.0986'
    """
    x, loc, scale = reals("logistic.ppf", x, loc, scale)
    return known(loc + scale * logit(x), scale > 0, loc)


@as_one()
def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of `sf`.

    Args:
        x: where, or for the inverses probabilities.
        loc: the mean.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import logistic
    >>> f"{logistic.isf(0.25):.4f}"
    '1.0986'
    """
    x, loc, scale = reals("logistic.isf", x, loc, scale)
    return known(loc - scale * logit(x), scale > 0, loc)
