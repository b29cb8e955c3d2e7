"""The beta distribution."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, reals, within
from tangrad._scipy.special_functions.beta_functions import betainc, betaln
from tangrad._scipy.special_functions.entropies import xlog1py, xlogy
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        a: the first exponent, positive.
        b: the second exponent, positive.
        loc: the lower end.
        scale: the width, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import beta
    >>> f"{beta.logpdf(0.5, 2.0, 3.0):.4f}"
    '0.4055'
    """
    x, a, b, loc, scale = reals("beta.logpdf", x, a, b, loc, scale)
    z = (x - loc) / scale
    inside = (z >= 0) & (z <= 1)
    z = within(inside, z, 0.5)
    powers = xlogy(a - 1, z) + xlog1py(b - 1, -z)
    return known(
        tnp.where(inside, powers - betaln(a, b) - tnp.log(scale), -math.inf),
        (a > 0) & (b > 0) & (scale > 0),
        (x - loc) / scale,
    )


@as_one()
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        a: the first exponent, positive.
        b: the second exponent, positive.
        loc: the lower end.
        scale: the width, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import beta
    >>> f"{beta.pdf(0.5, 2.0, 3.0):.4f}"
    '1.5000'
    """
    check_promotion("beta.pdf", x, a, b, loc, scale)
    return tnp.exp(logpdf(x, a, b, loc, scale))


@as_one()
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        a: the first exponent, positive.
        b: the second exponent, positive.
        loc: the lower end.
        scale: the width, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import beta
    >>> f"{beta.cdf(0.5, 2.0, 3.0):.4f}"
    '0.6875'
    """
    x, a, b, loc, scale = reals("beta.cdf", x, a, b, loc, scale)
    return known(betainc(a, b, tnp.clip((x - loc) / scale, 0, 1)), (a > 0) & (b > 0) & (scale > 0), (x - loc) / scale)


@as_one()
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values up to x.

    Args:
        x: where.
        a: the first exponent, positive.
        b: the second exponent, positive.
        loc: the lower end.
        scale: the width, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import beta
    >>> f"{beta.logcdf(0.5, 2.0, 3.0):.4f}"
    '-0.3747'
    """
    check_promotion("beta.logcdf", x, a, b, loc, scale)
    return tnp.log(cdf(x, a, b, loc, scale))


@as_one()
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x.

    Args:
        x: where.
        a: the first exponent, positive.
        b: the second exponent, positive.
        loc: the lower end.
        scale: the width, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import beta
    >>> f"{beta.sf(0.5, 2.0, 3.0):.4f}"
    '0.3125'
    """
    x, a, b, loc, scale = reals("beta.sf", x, a, b, loc, scale)
    return known(
        betainc(b, a, tnp.clip(1 - (x - loc) / scale, 0, 1)), (a > 0) & (b > 0) & (scale > 0), (x - loc) / scale
    )


@as_one()
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of values above x.

    Args:
        x: where.
        a: the first exponent, positive.
        b: the second exponent, positive.
        loc: the lower end.
        scale: the width, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import beta
    >>> f"{beta.logsf(0.5, 2.0, 3.0):.4f}"
    '-1.1632'
    """
    check_promotion("beta.logsf", x, a, b, loc, scale)
    return tnp.log(sf(x, a, b, loc, scale))
