# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._export.compiled.jax_names import (
    deserialize_and_load as deserialize_and_load,
    serialize as serialize,
)

__all__ = [
    "deserialize_and_load",
    "serialize",
]
