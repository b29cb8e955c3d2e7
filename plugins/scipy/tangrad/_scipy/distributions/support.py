"""What the formulas of several distributions need."""

from __future__ import annotations

import math
from collections.abc import Callable

import tangrad.numpy as tnp
from tangrad._scipy.special_functions.beta_functions import betaln
from tangrad.core import Array
from tangrad.extend.nn import log1mexp

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def log1p_square(x: Array) -> Array:
    """log(1 + x²), also where the square would overflow."""
    large = abs(x) > 1
    far, near = tnp.where(large, abs(x), 1.0), tnp.where(large, 0.0, x)
    inverse = 1 / far
    return tnp.where(large, 2 * tnp.log(far) + tnp.log1p(inverse * inverse), tnp.log1p(near * near))


def log_complement(exponent: Array) -> Array:
    """log(1 - exp(-exponent)), -inf where the exponent is not positive."""
    positive = exponent > 0
    return tnp.where(positive, log1mexp(tnp.where(positive, exponent, 1.0)), -math.inf)


def is_whole(k: Array) -> Array:
    """Whether each number is an integer."""
    return k == tnp.floor(k)


def log_choices(n: Array, k: Array) -> Array:
    """The logarithm of the binomial coefficient."""
    return -betaln(n - k + 1, k + 1) - tnp.log1p(n)


def of_positive(function: Callable[[Array, Array], Array], a: Array, z: Array, at_infinity: float) -> Array:
    """A function of the positive part, held back from infinity, where infinite `a` have no limit."""
    endless = z == math.inf
    return tnp.where(endless, at_infinity, function(a, tnp.where(endless, 1.0, tnp.maximum(z, 0))))
