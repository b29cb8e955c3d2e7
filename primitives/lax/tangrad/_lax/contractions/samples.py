"""Samples of the contractions, for the conformance kit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._lax.contractions.primitives import dot_general_p, ragged_dot_general_p, ragged_numbers
from tangrad.conformance import Sample, draw

if TYPE_CHECKING:
    from tangrad.typing import DType

VECTORS = ((0,), (0,)), ((), ())
MATRICES = ((1,), (0,)), ((), ())
BATCHED = ((2,), (1,)), ((0,), (0,))
CROSSED = ((0, 2), (2, 1)), ((1,), (0,))
OUTER = ((), ()), ((), ())
ZEROS = {"special": "the sign of a sum of zeros depends on whether rows of other groups are added as zeros"}


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
        *_ragged_samples(),
    ]


def _ragged_samples() -> list[Sample]:
    """Each place that the ragged dimension can have, with rows that are in no group, and groups without rows."""
    rows = (((1,), (1,)), ((), ())), (0,), (0,)
    crossed = (((0,), (3,)), ((2,), (1,))), (1,), (0,)  # (k, m, b) and (g, b, n, k)
    inside = (((0, 3), (2, 0)), ((2,), (1,))), (3,), ()  # (x, m, b, k) and (k, b, x, n)
    pairs = (((2,), (1,)), ((0,), (0,))), (0,), ()
    sizes, each = np.array([2, 0, 1], np.int32), np.array([[1, 2, 0], [0, 3, 1]], np.int32)
    return [
        _ragged((4, 3), (3, 3, 2), sizes, rows),
        _ragged((4, 3), (3, 3, 2), sizes, rows, kind="bfloat16", preferred=np.dtype("float32")),
        _ragged((4, 3), (3, 3, 2), sizes, rows, kind="int32"),
        _ragged((3, 4, 2), (3, 2, 2, 3), each, crossed),
        _ragged((4, 3), (4, 2), sizes, ((((0,), (0,)), ((), ())), (0,), ())),
        _ragged((1, 3, 2, 4), (4, 2, 1, 2), each[:, None], inside, without=ZEROS),
        _ragged((3, 2, 3), (3, 3, 2), sizes, pairs),
        _ragged((4, 3), (2, 3, 2), sizes, rows, raises=ValueError),
    ]


def _ragged(
    left: tuple[int, ...],
    right: tuple[int, ...],
    sizes: np.ndarray,
    numbers: object,
    *,
    kind: str = "float32",
    preferred: DType | None = None,
    **options: Any,
) -> Sample:
    args = draw(*left, dtype=kind), draw(*right, dtype=kind, seed=1), sizes
    params = {
        "ragged_dot_dimension_numbers": ragged_numbers(numbers),
        "precision": None,
        "preferred_element_type": preferred,
    }
    return Sample(ragged_dot_general_p, args, params, tolerance=1e-4, **options)


def _sample(
    left: tuple[int, ...],
    right: tuple[int, ...],
    numbers: object,
    *,
    kind: str = "float32",
    preferred: DType | None = None,
) -> Sample:
    args = draw(*left, dtype=kind), draw(*right, dtype=kind, seed=1)
    params = {"dimension_numbers": numbers, "precision": None, "preferred_element_type": preferred}
    return Sample(dot_general_p, args, params, tolerance=1e-4)
