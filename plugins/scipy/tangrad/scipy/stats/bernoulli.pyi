# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.distributions.bernoulli import (
    cdf as cdf,
    logpmf as logpmf,
    pmf as pmf,
    ppf as ppf,
)

__all__ = [
    "cdf",
    "logpmf",
    "pmf",
    "ppf",
]
