# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.lax.linalg.functions import cholesky as cholesky
from tangrad.lax.linalg.functions import cholesky_update as cholesky_update
from tangrad.lax.linalg.functions import triangular_solve as triangular_solve

__all__ = [
    "cholesky",
    "cholesky_update",
    "triangular_solve",
]
