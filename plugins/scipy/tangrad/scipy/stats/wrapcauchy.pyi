# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.distributions.wrapcauchy import (
    logpdf as logpdf,
    pdf as pdf,
)

__all__ = [
    "logpdf",
    "pdf",
]
