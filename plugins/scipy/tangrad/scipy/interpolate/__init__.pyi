# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.sampling import RegularGridInterpolator as RegularGridInterpolator

__all__ = [
    "RegularGridInterpolator",
]
