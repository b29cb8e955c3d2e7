"""Samples of the contractions, for the conformance kit."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad.conformance import Sample, draw
from tangrad.lax.contractions.primitives import dot_general_p

VECTORS = ((0,), (0,)), ((), ())
MATRICES = ((1,), (0,)), ((), ())
BATCHED = ((2,), (1,)), ((0,), (0,))
CROSSED = ((0, 2), (2, 1)), ((1,), (0,))
OUTER = ((), ()), ((), ())


def samples() -> list[Sample]:
    """All of them."""
    return [
        _sample((3,), (3,), VECTORS),
        _sample((2, 3), (3, 4), MATRICES),
        _sample((2, 3, 4), (2, 4, 3), BATCHED),
        _sample((2, 3, 4), (3, 4, 2), CROSSED),
        _sample((2,), (3,), OUTER),
        *[_sample((2, 3), (3, 4), MATRICES, kind=kind) for kind in ("float64", "complex64", "int32", "bfloat16")],
        _sample((2, 3), (3, 4), MATRICES, kind="bfloat16", preferred=np.dtype("float32")),
    ]


def _sample(left: Any, right: Any, numbers: Any, *, kind: str = "float32", preferred: Any = None) -> Sample:
    args = draw(*left, dtype=kind), draw(*right, dtype=kind, seed=1)
    params = {"dimension_numbers": numbers, "precision": None, "preferred_element_type": preferred}
    return Sample(dot_general_p, args, params, tolerance=1e-4)
