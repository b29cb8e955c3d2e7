# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.distributions.poisson import (
    cdf as cdf,
    entropy as entropy,
    logpmf as logpmf,
    pmf as pmf,
)

__all__ = [
    "cdf",
    "entropy",
    "logpmf",
    "pmf",
]
