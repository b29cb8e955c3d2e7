"""The distribution of von Mises, of angles."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, reals
from tangrad._scipy.special_functions.bessel_functions import i0e
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density at x.

    Args:
        x: angles in radians.
        kappa: the concentration about 0, not negative.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import vonmises
    >>> f"{vonmises.logpdf(0.5, 2.0):.4f}"
    '-0.9067'
    """
    x, kappa = reals("vonmises.logpdf", x, kappa)
    value = kappa * (tnp.cos(x) - 1) - tnp.log(2 * math.pi * i0e(kappa))
    return known(tnp.where(kappa >= 0, value, math.nan), kappa >= 0, x)


@as_one()
def pdf(x: Any, kappa: Any) -> Any:
    """The density at x.

    Args:
        x: angles in radians.
        kappa: the concentration about 0, not negative.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import vonmises
    >>> f"{vonmises.pdf(0.5, 2.0):.4f}"
    '0.4039'
    """
    check_promotion("vonmises.pdf", x, kappa)
    return tnp.exp(logpdf(x, kappa))
