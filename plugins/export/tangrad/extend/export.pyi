# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._export.primitives import call_exported_p as call_exported_p

__all__ = [
    "call_exported_p",
]
