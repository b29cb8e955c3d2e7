# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._numpy.ops.segments import (
    segment_max as segment_max,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
)

__all__ = [
    "segment_max",
    "segment_min",
    "segment_prod",
    "segment_sum",
]
