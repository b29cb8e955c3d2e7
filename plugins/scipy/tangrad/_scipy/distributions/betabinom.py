"""The beta-binomial distribution: binomial, the probability of success of a beta distribution."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import is_whole, known, log_choices, reals, within
from tangrad._scipy.special_functions.beta_functions import betaln
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k.

    Args:
        k: where.
        n: the number of trials.
        a: the first exponent, positive.
        b: the second exponent, positive.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import betabinom
    >>> f"{betabinom.logpmf(2, 5, 2.0, 3.0):.4f}"
    '-1.4351'
    """
    k, n, a, b, loc = reals("betabinom.logpmf", k, n, a, b, loc)
    y = k - loc
    inside = is_whole(y) & (y >= 0) & (y <= n)
    y, trials = within(inside, y, 0.0), within(inside, n, 1.0)
    value = log_choices(trials, y) + betaln(y + a, trials - y + b) - betaln(a, b)
    return known(tnp.where(inside, value, -math.inf), is_whole(n) & (n >= 0) & (a > 0) & (b > 0), k - loc)


@as_one()
def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The probability of k.

    Args:
        k: where.
        n: the number of trials.
        a: the first exponent, positive.
        b: the second exponent, positive.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import betabinom
    >>> f"{betabinom.pmf(2, 5, 2.0, 3.0):.4f}"
    '0.2381'
    """
    check_promotion("betabinom.pmf", k, n, a, b, loc)
    return tnp.exp(logpmf(k, n, a, b, loc))
