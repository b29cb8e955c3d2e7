# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.iterative_solvers import (
    bicgstab as bicgstab,
    cg as cg,
    gmres as gmres,
)

__all__ = [
    "bicgstab",
    "cg",
    "gmres",
]
