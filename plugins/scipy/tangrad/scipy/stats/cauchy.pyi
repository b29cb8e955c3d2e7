# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.cauchy import cdf as cdf
from tangrad.scipy.distributions.cauchy import isf as isf
from tangrad.scipy.distributions.cauchy import logcdf as logcdf
from tangrad.scipy.distributions.cauchy import logpdf as logpdf
from tangrad.scipy.distributions.cauchy import logsf as logsf
from tangrad.scipy.distributions.cauchy import pdf as pdf
from tangrad.scipy.distributions.cauchy import ppf as ppf
from tangrad.scipy.distributions.cauchy import sf as sf

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
