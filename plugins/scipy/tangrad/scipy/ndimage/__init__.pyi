# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.sampling import map_coordinates as map_coordinates

__all__ = [
    "map_coordinates",
]
