# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.gennorm import cdf as cdf
from tangrad.scipy.distributions.gennorm import logpdf as logpdf
from tangrad.scipy.distributions.gennorm import pdf as pdf

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
]
