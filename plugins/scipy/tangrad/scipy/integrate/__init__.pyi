# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._numpy.numerical import trapezoid as trapezoid

__all__ = [
    "trapezoid",
]
