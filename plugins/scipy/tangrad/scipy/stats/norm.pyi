# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.norm import cdf as cdf
from tangrad.scipy.distributions.norm import isf as isf
from tangrad.scipy.distributions.norm import logcdf as logcdf
from tangrad.scipy.distributions.norm import logpdf as logpdf
from tangrad.scipy.distributions.norm import logsf as logsf
from tangrad.scipy.distributions.norm import pdf as pdf
from tangrad.scipy.distributions.norm import ppf as ppf
from tangrad.scipy.distributions.norm import sf as sf

__all__ = [
    "cdf",
    "isf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "ppf",
    "sf",
]
