# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.debugging.functions import io_callback as io_callback

__all__ = [
    "io_callback",
]
