# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.core import Array
from tangrad.typing import ArrayLike

def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """The probability of values up to k."""

def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k."""

def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of k."""

def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """The quantile function, the inverse of `cdf`."""

__all__ = [
    "cdf",
    "logpmf",
    "pmf",
    "ppf",
]
