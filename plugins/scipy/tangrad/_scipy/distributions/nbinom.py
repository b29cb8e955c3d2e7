"""The negative binomial distribution: the number of failures before n successes."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.distributions.support import is_whole, known, reals, within
from tangrad._scipy.special_functions.beta_functions import betaln
from tangrad._scipy.special_functions.entropies import xlog1py
from tangrad.extend.numpy import as_one, check_promotion


@as_one()
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k.

    Args:
        k: where.
        n: the number of successes, positive.
        p: the probability of success.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import nbinom
    >>> f"{nbinom.logpmf(2, 3.0, 0.3):.4f}"
    '-2.5335'
    """
    k, n, p, loc = reals("nbinom.logpmf", k, n, p, loc)
    y = k - loc
    inside = is_whole(y) & (y >= 0)
    y = within(inside, y, 0.0)
    value = n * tnp.log(p) + xlog1py(y, -p) - betaln(n, y + 1) - tnp.log(n + y)
    return known(tnp.where(inside, value, -math.inf), (n > 0) & (p > 0) & (p <= 1), k - loc)


@as_one()
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k.

    Args:
        k: where.
        n: the number of successes, positive.
        p: the probability of success.
        loc: the shift.

    Returns:
        An array of the shape to which the arguments broadcast.

    Raises:
        TypeError: for what is no array or number, and for complex numbers.
        ValueError: for shapes that do not fit.

    >>> from tangrad.scipy.stats import nbinom
    >>> f"{nbinom.pmf(2, 3.0, 0.3):.4f}"
    '0.0794'
    """
    check_promotion("nbinom.pmf", k, n, p, loc)
    return tnp.exp(logpmf(k, n, p, loc))
