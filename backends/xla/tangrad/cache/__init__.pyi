# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._backend_xla.cache_switch import (
    disable as disable,
    enable as enable,
)

__all__ = [
    "disable",
    "enable",
]
