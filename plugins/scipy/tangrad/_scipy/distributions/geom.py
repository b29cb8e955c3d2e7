"""The geometric distribution: the number of trials up to the first success."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import is_whole, known, reals, within
from tangrad._scipy.special_functions.entropies import xlog1py
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k.

    Args:
        k: where.
        p: the probability of success.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import geom
    >>> f"{geom.logpmf(2, 0.3):.4f}"
    '-1.5606'
    """
    k, p, loc = reals("geom.logpmf", k, p, loc)
    y = k - loc
    inside = is_whole(y) & (y >= 1)
    return known(
        tnp.where(inside, xlog1py(within(inside, y, 1.0) - 1, -p) + tnp.log(p), -math.inf), (p > 0) & (p <= 1), k - loc
    )


@as_one()
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k.

    Args:
        k: where.
        p: the probability of success.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import geom
    >>> f"{geom.pmf(2, 0.3):.4f}"
    '0.2100'
    """
    check_promotion("geom.pmf", k, p, loc)
    return tnp.exp(logpmf(k, p, loc))
