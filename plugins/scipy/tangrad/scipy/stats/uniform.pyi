# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.uniform import cdf as cdf
from tangrad.scipy.distributions.uniform import logpdf as logpdf
from tangrad.scipy.distributions.uniform import pdf as pdf
from tangrad.scipy.distributions.uniform import ppf as ppf

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
    "ppf",
]
