# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.rotations import Rotation as Rotation
from tangrad.scipy.rotations import Slerp as Slerp

__all__ = [
    "Rotation",
    "Slerp",
]
