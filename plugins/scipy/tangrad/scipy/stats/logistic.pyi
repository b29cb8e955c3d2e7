# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.distributions.logistic import (
    cdf as cdf,
    isf as isf,
    logpdf as logpdf,
    pdf as pdf,
    ppf as ppf,
    sf as sf,
)

__all__ = [
    "cdf",
    "isf",
    "logpdf",
    "pdf",
    "ppf",
    "sf",
]
