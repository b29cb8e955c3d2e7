"""Samples of the primitives that sort, for the conformance kit."""

from __future__ import annotations

import numpy as np

from tangrad.conformance import Sample, draw
from tangrad.lax.sorting.primitives import sort_p, top_k_p

TIES = {"points": "equal elements keep their order: a derivative takes one of them, and differences another"}


def samples() -> list[Sample]:
    """All of them."""
    special = np.array([1.0, np.nan, -0.0, 0.0, np.inf, -np.inf], np.float32)
    once = {"dimension": 0, "is_stable": True, "num_keys": 1}
    keys = np.array([3, 1, 3, 2, 1], np.int32)
    return [
        Sample(sort_p, (draw(4, 3),), {"dimension": 0, "is_stable": True, "num_keys": 1}, without=TIES),
        Sample(sort_p, (draw(4, 3),), {"dimension": 1, "is_stable": True, "num_keys": 1}),
        Sample(sort_p, (special,), {"dimension": 0, "is_stable": True, "num_keys": 1}, derivatives=0),
        Sample(sort_p, (draw(2, 4), draw(2, 4, seed=1)), {"dimension": 1, "is_stable": True, "num_keys": 1}),
        Sample(sort_p, (keys, draw(5)), {"dimension": 0, "is_stable": True, "num_keys": 1}),
        Sample(sort_p, (keys, draw(5), draw(5, seed=1)), {"dimension": 0, "is_stable": True, "num_keys": 2}),
        Sample(sort_p, (draw(5, dtype="complex64"),), once, derivatives=0),
        Sample(top_k_p, (draw(3, 5),), {"k": 2, "axis": 1}),
        Sample(top_k_p, (draw(5, 3),), {"k": 3, "axis": 0}, without=TIES),
        Sample(top_k_p, (draw(6, dtype="int32"),), {"k": 4, "axis": 0}),
        Sample(top_k_p, (draw(4, dtype="bfloat16"),), {"k": 2, "axis": 0}),
        Sample(sort_p, (draw(4, 3),), {**once, "dimension": 2}, raises=ValueError),
        Sample(top_k_p, (draw(3, 5),), {"k": 6, "axis": 1}, raises=ValueError),
    ]
