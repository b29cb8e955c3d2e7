# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.distributions.binom import (
    logpmf as logpmf,
    pmf as pmf,
)

__all__ = [
    "logpmf",
    "pmf",
]
