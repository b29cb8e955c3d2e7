# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.sparse import linalg as linalg

__all__ = [
    "linalg",
]
