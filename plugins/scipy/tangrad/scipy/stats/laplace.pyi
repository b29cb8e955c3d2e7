# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.laplace import cdf as cdf
from tangrad.scipy.distributions.laplace import logpdf as logpdf
from tangrad.scipy.distributions.laplace import pdf as pdf

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
]
