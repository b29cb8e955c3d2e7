"""What type checkers know of the options of `grad` and `value_and_grad`."""

from collections.abc import Sequence
from typing import Any, TypedDict


class GradientOptions(TypedDict, total=False):
    holomorphic: bool
    allow_int: bool
    reduce_axes: str | Sequence[Any]
