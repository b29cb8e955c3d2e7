# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.distributions.pareto import cdf as cdf
from tangrad.scipy.distributions.pareto import logcdf as logcdf
from tangrad.scipy.distributions.pareto import logpdf as logpdf
from tangrad.scipy.distributions.pareto import logsf as logsf
from tangrad.scipy.distributions.pareto import pdf as pdf
from tangrad.scipy.distributions.pareto import ppf as ppf
from tangrad.scipy.distributions.pareto import sf as sf

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "ppf",
    "sf",
]
