# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.distributions.laplace import (
    cdf as cdf,
    logpdf as logpdf,
    pdf as pdf,
)

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
]
