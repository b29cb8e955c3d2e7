"""Masking: functions of padded arrays. What authors of `mask` rules need is a name of this package."""

from tangrad._masking.sizes import ShapeError, Sizes, check_whole, filled, positionwise, stacked, whole
from tangrad._masking.trace import mask_jaxpr, masked_flat

__all__ = [
    "ShapeError",
    "Sizes",
    "check_whole",
    "filled",
    "mask_jaxpr",
    "masked_flat",
    "positionwise",
    "stacked",
    "whole",
]
