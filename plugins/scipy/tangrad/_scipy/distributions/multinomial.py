"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad._scipy.special_functions.entropies import xlogy
from tangrad._scipy.special_functions.gamma_functions import gammaln
from tangrad.core import dtypes
from tangrad.extend.numpy import as_one, asarray, check_array_like, promote_inexact


@as_one()
def logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of the probability of the counts x.

    Args:
        x: the counts, an array (..., k).
        n: the number of trials, an array or number.
        p: the probabilities, an array (..., k).

    Returns:
        An array of the shape of the dimensions before the last; -inf where the counts do not sum to `n`.

    Raises:
        ValueError: for shapes that do not fit.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.stats import multinomial
    >>> f"{multinomial.logpmf(np.array([1, 2]), 3, np.array([0.4, 0.6])):.4f}"
    '-0.8393'
    """
    check_array_like("multinomial", x, n, p)
    (p,) = promote_inexact("multinomial", p)
    counts = [x if dtypes.issubdtype(dtypes.dtype_of(x), np.inexact) else asarray(x, p.aval.dtype) for x in (x, n)]
    x, n, p = [asarray(value) for value in promote_inexact("multinomial", *counts, p)]
    inside = (x.sum(-1) == n) & (x >= 0).all(-1) & (x == tnp.floor(x)).all(-1)
    counts = tnp.where(inside[..., None], x, 0.0)
    value = gammaln(n + 1) + (xlogy(counts, p) - gammaln(counts + 1)).sum(-1)
    return tnp.where(inside, value, -math.inf)


@as_one()
def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of the counts x.

    Args:
        x: the counts, an array (..., k).
        n: the number of trials, an array or number.
        p: the probabilities, an array (..., k).

    Returns:
        An array of the shape of the dimensions before the last; 0 where the counts do not sum to `n`.

    Raises:
        ValueError: for shapes that do not fit.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.stats import multinomial
    >>> f"{multinomial.pmf(np.array([1, 2]), 3, np.array([0.4, 0.6])):.4f}"
    '0.4320'
    """
    return tnp.exp(logpmf(x, n, p))
