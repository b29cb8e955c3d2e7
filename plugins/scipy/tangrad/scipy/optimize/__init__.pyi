# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.minimisation import (
    OptimizeResults as OptimizeResults,
    minimize as minimize,
)

__all__ = [
    "OptimizeResults",
    "minimize",
]
