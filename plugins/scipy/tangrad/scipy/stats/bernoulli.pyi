# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.bernoulli import cdf as cdf
from tangrad.scipy.distributions.bernoulli import logpmf as logpmf
from tangrad.scipy.distributions.bernoulli import pmf as pmf
from tangrad.scipy.distributions.bernoulli import ppf as ppf

__all__ = [
    "cdf",
    "logpmf",
    "pmf",
    "ppf",
]
