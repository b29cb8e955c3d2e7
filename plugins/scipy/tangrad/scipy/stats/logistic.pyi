# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.logistic import cdf as cdf
from tangrad.scipy.distributions.logistic import isf as isf
from tangrad.scipy.distributions.logistic import logpdf as logpdf
from tangrad.scipy.distributions.logistic import pdf as pdf
from tangrad.scipy.distributions.logistic import ppf as ppf
from tangrad.scipy.distributions.logistic import sf as sf

__all__ = [
    "cdf",
    "isf",
    "logpdf",
    "pdf",
    "ppf",
    "sf",
]
