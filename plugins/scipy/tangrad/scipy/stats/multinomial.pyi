# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.core import Array
from tangrad.typing import ArrayLike

def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The logarithm of the probability of x."""

def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The probability of x."""

__all__ = [
    "logpmf",
    "pmf",
]
