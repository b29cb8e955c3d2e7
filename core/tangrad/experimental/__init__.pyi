# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.custom_rules.dead_code import custom_dce as custom_dce
from tangrad.debugging.functions import io_callback as io_callback

__all__ = [
    "custom_dce",
    "io_callback",
]
