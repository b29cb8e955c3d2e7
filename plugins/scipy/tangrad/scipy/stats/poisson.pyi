# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.poisson import cdf as cdf
from tangrad.scipy.distributions.poisson import entropy as entropy
from tangrad.scipy.distributions.poisson import logpmf as logpmf
from tangrad.scipy.distributions.poisson import pmf as pmf

__all__ = [
    "cdf",
    "entropy",
    "logpmf",
    "pmf",
]
