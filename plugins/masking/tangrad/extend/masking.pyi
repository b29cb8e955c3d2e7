# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._masking.rule_helpers import (
    check_whole as check_whole,
    filled as filled,
    positionwise as positionwise,
    repeated as repeated,
    stacked as stacked,
    whole as whole,
)
from tangrad._masking.sizes import (
    INT32 as INT32,
    Sizes as Sizes,
    number as number,
)
from tangrad._masking.trace import (
    mask_jaxpr as mask_jaxpr,
    masked_flat as masked_flat,
)

__all__ = [
    "INT32",
    "Sizes",
    "check_whole",
    "filled",
    "mask_jaxpr",
    "masked_flat",
    "number",
    "positionwise",
    "repeated",
    "stacked",
    "whole",
]
