"""The generalised normal distribution."""

from __future__ import annotations

from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, reals
from tangrad._scipy.special_functions.gamma_functions import gammainc, gammaln
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpdf(x: Any, beta: Any) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        beta: the exponent, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gennorm
    >>> f"{gennorm.logpdf(0.5, 1.5):.4f}"
    '-0.9444'
    """
    x, beta = reals("gennorm.logpdf", x, beta)
    return known(tnp.log(0.5 * beta) - gammaln(1 / beta) - abs(x) ** beta, beta > 0, x)


@as_one()
def pdf(x: Any, beta: Any) -> Any:
    """The density at x.

    Args:
        x: where.
        beta: the exponent, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gennorm
    >>> f"{gennorm.pdf(0.5, 1.5):.4f}"
    '0.3889'
    """
    check_promotion("gennorm.pdf", x, beta)
    return tnp.exp(logpdf(x, beta))


@as_one()
def cdf(x: Any, beta: Any) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        beta: the exponent, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import gennorm
    >>> f"{gennorm.cdf(0.5, 1.5):.4f}"
    '0.7417'
    """
    x, beta = reals("gennorm.cdf", x, beta)
    return known(0.5 * (1 + tnp.sign(x) * gammainc(1 / beta, abs(x) ** beta)), beta > 0, x)
