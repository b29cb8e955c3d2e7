# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.distributions.uniform import (
    cdf as cdf,
    logpdf as logpdf,
    pdf as pdf,
    ppf as ppf,
)

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
    "ppf",
]
