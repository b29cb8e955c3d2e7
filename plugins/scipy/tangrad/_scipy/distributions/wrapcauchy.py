"""The distribution of Cauchy wrapped around the circle."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, reals
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpdf(x: Any, c: Any) -> Any:
    """The logarithm of the density at x.

    Args:
        x: angles in radians, from 0 to 2π.
        c: the concentration about 0, between 0 and 1.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import wrapcauchy
    >>> f"{wrapcauchy.logpdf(0.5, 0.3):.4f}"
    '-1.3585'
    """
    x, c = reals("wrapcauchy.logpdf", x, c)
    value = tnp.log1p(-c * c) - math.log(2 * math.pi) - tnp.log1p(c * (c - 2 * tnp.cos(x)))
    value = tnp.where((x >= 0) & (x <= 2 * math.pi), value, -math.inf)
    return known(tnp.where((c > 0) & (c < 1), value, math.nan), (c > 0) & (c < 1), x)


@as_one()
def pdf(x: Any, c: Any) -> Any:
    """The density at x.

    Args:
        x: angles in radians, from 0 to 2π.
        c: the concentration about 0, between 0 and 1.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import wrapcauchy
    >>> f"{wrapcauchy.pdf(0.5, 0.3):.4f}"
    '0.2570'
    """
    check_promotion("wrapcauchy.pdf", x, c)
    return tnp.exp(logpdf(x, c))
