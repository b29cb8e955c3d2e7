"""The uniform distribution on the interval from loc to loc + scale."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import known, quantile, reals
from tangrad.extend.numpy import as_one


@as_one()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x.

    Args:
        x: where.
        loc: the lower end.
        scale: the width, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import uniform
    >>> f"{uniform.logpdf(0.25, 0.0, 2.0):.4f}"
    '-0.6931'
    """
    x, loc, scale = reals("uniform.logpdf", x, loc, scale)
    return known(tnp.where((x >= loc) & (x <= loc + scale), -tnp.log(scale), -math.inf), scale > 0, (x - loc) / scale)


@as_one()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x.

    Args:
        x: where.
        loc: the lower end.
        scale: the width, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import uniform
    >>> f"{uniform.pdf(0.25):.4f}"
    '1.0000'
    """
    x, loc, scale = reals("uniform.pdf", x, loc, scale)
    return known(tnp.where((x >= loc) & (x <= loc + scale), 1 / scale, 0.0), scale > 0, (x - loc) / scale)


@as_one()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    Args:
        x: where.
        loc: the lower end.
        scale: the width, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import uniform
    >>> f"{uniform.cdf(0.25):.4f}"
    '0.2500'
    """
    x, loc, scale = reals("uniform.cdf", x, loc, scale)
    return known(tnp.clip((x - loc) / scale, 0, 1), scale > 0, (x - loc) / scale)


@as_one()
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of `cdf`.

    Args:
        q: probabilities.
        loc: the lower end.
        scale: the width, positive.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import uniform
    >>> f"{uniform.ppf(0.25):.4f}"
    '0.2500'
    """
    q, loc, scale = reals("uniform.ppf", q, loc, scale)
    return known(quantile(q, loc + scale * q), scale > 0, loc)
