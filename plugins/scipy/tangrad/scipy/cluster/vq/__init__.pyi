# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.quantisation import vq as vq

__all__ = [
    "vq",
]
