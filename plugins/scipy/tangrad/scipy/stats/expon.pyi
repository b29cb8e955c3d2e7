# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.expon import cdf as cdf
from tangrad.scipy.distributions.expon import logcdf as logcdf
from tangrad.scipy.distributions.expon import logpdf as logpdf
from tangrad.scipy.distributions.expon import logsf as logsf
from tangrad.scipy.distributions.expon import pdf as pdf
from tangrad.scipy.distributions.expon import ppf as ppf
from tangrad.scipy.distributions.expon import sf as sf

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "ppf",
    "sf",
]
