"""What several distributions need."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.special_functions.beta_functions import betaln
from tangrad._scipy.special_functions.elementwise import reals
from tangrad.extend.nn import log1mexp

__all__ = [
    "HALF_LOG_2PI",
    "is_whole",
    "known",
    "log1p_square",
    "log_choices",
    "log_complement",
    "quantile",
    "reals",
    "within",
]

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def known(value: Any, valid: Any, *numbers: Any) -> Any:
    """A value, and NaN where parameters are none of the distribution's or a number is NaN: comparisons hide it."""
    for number in numbers:
        valid = valid & (number == number)
    return tnp.where(valid, value, math.nan)


def log1p_square(x: Any) -> Any:
    """log(1 + x²), also where the square would overflow."""
    large = abs(x) > 1
    far, near = tnp.where(large, abs(x), 1.0), tnp.where(large, 0.0, x)
    inverse = 1 / far
    return tnp.where(large, 2 * tnp.log(far) + tnp.log1p(inverse * inverse), tnp.log1p(near * near))


def within(inside: Any, x: Any, safe: float) -> Any:
    """`x` where it is in the support, elsewhere a number that is: derivatives of branches not taken are no NaN."""
    return tnp.where(inside, x, safe)


def log_complement(exponent: Any) -> Any:
    """log(1 - exp(-exponent)), -inf where the exponent is not positive."""
    positive = exponent > 0
    return tnp.where(positive, log1mexp(tnp.where(positive, exponent, 1.0)), -math.inf)


def quantile(q: Any, value: Any) -> Any:
    """What a quantile function gives: NaN for what is no probability."""
    return tnp.where((q >= 0) & (q <= 1), value, math.nan)


def is_whole(k: Any) -> Any:
    """Whether each number is an integer."""
    return k == tnp.floor(k)


def log_choices(n: Any, k: Any) -> Any:
    """The logarithm of the binomial coefficient."""
    return -betaln(n - k + 1, k + 1) - tnp.log1p(n)
