# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.core import Array
from tangrad.typing import ArrayLike

def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of values up to k."""

def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The entropy, in nats."""

def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k."""

def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of k."""

__all__ = [
    "cdf",
    "entropy",
    "logpmf",
    "pmf",
]
