# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.chi2 import cdf as cdf
from tangrad.scipy.distributions.chi2 import logcdf as logcdf
from tangrad.scipy.distributions.chi2 import logpdf as logpdf
from tangrad.scipy.distributions.chi2 import logsf as logsf
from tangrad.scipy.distributions.chi2 import pdf as pdf
from tangrad.scipy.distributions.chi2 import sf as sf

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]
