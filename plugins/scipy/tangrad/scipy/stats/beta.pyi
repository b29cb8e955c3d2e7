# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.beta import cdf as cdf
from tangrad.scipy.distributions.beta import logcdf as logcdf
from tangrad.scipy.distributions.beta import logpdf as logpdf
from tangrad.scipy.distributions.beta import logsf as logsf
from tangrad.scipy.distributions.beta import pdf as pdf
from tangrad.scipy.distributions.beta import sf as sf

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]
