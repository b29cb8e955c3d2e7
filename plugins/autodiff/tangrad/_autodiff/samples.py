"""Samples of the primitives that differentiation itself needs, for the conformance kit."""

from __future__ import annotations

import numpy as np

from tangrad._autodiff.primitives import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p, zeros_p
from tangrad.conformance import Sample, draw


def samples() -> list[Sample]:
    """All of them."""
    found = [
        Sample(zeros_p, (), {"shape": (2, 3), "dtype": np.dtype("float32"), "weak_type": False}),
        Sample(zeros_p, (), {"shape": (), "dtype": np.dtype("complex64"), "weak_type": True}),
        Sample(set_weak_type_p, (draw(2, 3),), {"weak_type": True}),
        Sample(set_weak_type_p, (draw(3, dtype="int32"),), {"weak_type": False}),
        Sample(append_dims_p, (draw(2),), {"sizes": (3, 2)}),
        Sample(sum_trailing_p, (draw(2, 3, 2),), {"count": 2}),
    ]
    for kind in ("float32", "complex64", "bfloat16", "int32"):
        found.append(Sample(add_any_p, (draw(2, 3, dtype=kind), draw(2, 3, dtype=kind, seed=1))))
    return found
