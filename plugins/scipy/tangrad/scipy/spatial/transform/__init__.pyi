# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.rotations import (
    Rotation as Rotation,
    Slerp as Slerp,
)

__all__ = [
    "Rotation",
    "Slerp",
]
