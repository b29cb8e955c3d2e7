# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._sharding.functions import with_sharding_constraint as with_sharding_constraint
from tangrad._sharding.pjit.functions import pjit as pjit

__all__ = [
    "pjit",
    "with_sharding_constraint",
]
