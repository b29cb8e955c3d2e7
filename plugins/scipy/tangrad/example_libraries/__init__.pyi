# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.example_libraries import optimizers as optimizers
from tangrad.example_libraries import stax as stax

__all__ = [
    "optimizers",
    "stax",
]
