"""Samples of the primitives that sort, for the conformance kit."""

from __future__ import annotations

import numpy as np

from tangrad._lax.sorting.primitives import approx_top_k_p, search_sorted_p, sort_p, top_k_p
from tangrad.conformance import Sample, draw

NEAREST = {"k": 2, "recall_target": 0.95, "is_max_k": True, "results": 2}
TIES = {"points": "equal elements keep their order: a derivative takes one of them, and differences another"}


SORTED = dict.fromkeys(
    ("sizes", "special"), "where keys are not in order, one way of searching finds other places than another"
)


def samples() -> list[Sample]:
    """All of them."""
    special = np.array([1.0, np.nan, -0.0, 0.0, np.inf, -np.inf], np.float32)
    once = {"dimension": 0, "is_stable": True, "num_keys": 1}
    left = {"side": "left", "dtype": np.dtype("int32")}
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
        Sample(approx_top_k_p, (draw(3, 5),), {**NEAREST, "axis": 1}),
        Sample(approx_top_k_p, (draw(5, 3),), {**NEAREST, "axis": 0, "is_max_k": False}, without=TIES),
        Sample(approx_top_k_p, (draw(6, dtype="bfloat16"),), {**NEAREST, "axis": 0, "results": 4}),
        Sample(approx_top_k_p, (draw(3, 5),), {**NEAREST, "axis": 1, "recall_target": 0.0}, raises=ValueError),
        Sample(search_sorted_p, (np.sort(draw(7)), draw(2, 3)), left, without=SORTED),
        Sample(search_sorted_p, (np.sort(special), special), {**left, "side": "right"}, derivatives=0, without=SORTED),
        Sample(search_sorted_p, (np.sort(keys), keys), {**left, "side": "right"}, without=SORTED),
        Sample(
            search_sorted_p,
            (np.sort_complex(draw(5, dtype="complex64")), draw(4, dtype="complex64")),
            left,
            without=SORTED,
        ),
        Sample(search_sorted_p, (draw(0), draw(3)), left, without=SORTED),
        Sample(sort_p, (draw(4, 3),), {**once, "dimension": 2}, raises=ValueError),
        Sample(search_sorted_p, (draw(4, 3), draw(3)), left, raises=ValueError),
        Sample(search_sorted_p, (np.sort(draw(4)), keys), left, raises=TypeError),
        Sample(top_k_p, (draw(3, 5),), {"k": 6, "axis": 1}, raises=ValueError),
    ]
