# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.spatial import transform as transform

__all__ = [
    "transform",
]
