# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.core import Array
from tangrad.typing import ArrayLike

def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The logarithm of the density at x."""

def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The density at x."""

__all__ = [
    "logpdf",
    "pdf",
]
