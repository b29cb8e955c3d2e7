# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.gumbel_l import cdf as cdf
from tangrad.scipy.distributions.gumbel_l import logcdf as logcdf
from tangrad.scipy.distributions.gumbel_l import logpdf as logpdf
from tangrad.scipy.distributions.gumbel_l import logsf as logsf
from tangrad.scipy.distributions.gumbel_l import pdf as pdf
from tangrad.scipy.distributions.gumbel_l import ppf as ppf
from tangrad.scipy.distributions.gumbel_l import sf as sf

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "ppf",
    "sf",
]
