"""The binomial distribution."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import is_whole, known, log_choices, reals, within
from tangrad._scipy.special_functions.entropies import xlog1py, xlogy
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k.

    Args:
        k: where.
        n: the number of trials.
        p: the probability of success.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import binom
    >>> f"{binom.logpmf(2, 5, 0.3):.4f}"
    '-1.1754'
    """
    k, n, p, loc = reals("binom.logpmf", k, n, p, loc)
    y = k - loc
    inside = is_whole(y) & (y >= 0) & (y <= n)
    y, trials = within(inside, y, 0.0), within(inside, n, 1.0)
    value = log_choices(trials, y) + xlogy(y, p) + xlog1py(trials - y, -p)
    return known(tnp.where(inside, value, -math.inf), is_whole(n) & (n >= 0) & (p >= 0) & (p <= 1), k - loc)


@as_one()
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k.

    Args:
        k: where.
        n: the number of trials.
        p: the probability of success.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import binom
    >>> f"{binom.pmf(2, 5, 0.3):.4f}"
    '0.3087'
    """
    check_promotion("binom.pmf", k, n, p, loc)
    return tnp.exp(logpmf(k, n, p, loc))
