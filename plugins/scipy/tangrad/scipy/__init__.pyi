# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy import linalg as linalg
from tangrad.scipy import special as special
from tangrad.scipy import stats as stats

__all__ = [
    "linalg",
    "special",
    "stats",
]
