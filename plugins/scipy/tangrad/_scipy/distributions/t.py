"""The distribution of Student."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import HALF_LOG_2PI, known, log1p_square, reals
from tangrad._scipy.special_functions.beta_functions import betaln
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        df: the degrees of freedom, positive.
        loc: the centre.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import t
    >>> f"{t.logpdf(0.5, 3.0):.4f}"
    '-1.1610'
    """
    x, df, loc, scale = reals("t.logpdf", x, df, loc, scale)
    z = (x - loc) / scale
    endless = df == math.inf  # the normal distribution
    degrees = tnp.where(endless, 1.0, df)
    constant = -betaln(0.5, 0.5 * degrees) - 0.5 * tnp.log(degrees)
    value = constant - 0.5 * (degrees + 1) * log1p_square(z / tnp.sqrt(degrees))
    bounded = tnp.where(endless, z, 0.0)
    value = tnp.where(endless, -0.5 * bounded * bounded - HALF_LOG_2PI, value) - tnp.log(scale)
    return known(value, (df > 0) & (scale > 0), z)


@as_one()
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        df: the degrees of freedom, positive.
        loc: the centre.
        scale: the scale, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import t
    >>> f"{t.pdf(0.5, 3.0):.4f}"
    '0.3132'
    """
    check_promotion("t.pdf", x, df, loc, scale)
    return tnp.exp(logpdf(x, df, loc, scale))
