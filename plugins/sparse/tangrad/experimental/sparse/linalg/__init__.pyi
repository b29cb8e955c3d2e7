# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._sparse.solvers import (
    lobpcg_standard as lobpcg_standard,
    spsolve as spsolve,
)

__all__ = [
    "lobpcg_standard",
    "spsolve",
]
