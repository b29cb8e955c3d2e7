"""Samples of gather and scatter, for the conformance kit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._lax.indexing.primitives import (
    SCATTERS,
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather_p,
)
from tangrad.conformance import Sample, draw

if TYPE_CHECKING:
    from tangrad.core import Primitive

ROWS = np.array([[2], [0], [3]], np.int32)
OUTSIDE = np.array([[2], [7], [-5]], np.int32)
POINTS = np.array([[1, 2], [3, 0]], np.int32)
FILL, CLIP = GatherScatterMode.FILL_OR_DROP, GatherScatterMode.CLIP

# What is indexed of an operand (4, 3): whole rows, single elements, windows, or in parallel along the first dimension.
GATHERS = (
    (ROWS, GatherDimensionNumbers((1,), (0,), (0,)), (1, 3)),
    (POINTS, GatherDimensionNumbers((), (0, 1), (0, 1)), (1, 1)),
    (ROWS[:2], GatherDimensionNumbers((0, 1), (), (0,)), (2, 2)),
    (np.array([[1], [0], [2], [1]], np.int32), GatherDimensionNumbers((), (1,), (1,), (0,), (0,)), (1, 1)),
)


def samples() -> list[Sample]:
    """All of them."""
    found = [_gather(*case, mode=mode) for case in GATHERS for mode in (FILL, CLIP)]
    found += [_gather(OUTSIDE, *GATHERS[0][1:], mode=mode) for mode in (FILL, CLIP)]
    found += [_gather(*GATHERS[0], mode=FILL, kind=kind) for kind in ("int32", "complex64", "bool")]
    for primitive in SCATTERS:
        found += [_scatter(primitive, *case, mode=FILL) for case in GATHERS]
        found += [_scatter(primitive, OUTSIDE, *GATHERS[0][1:], mode=mode) for mode in (FILL, CLIP)]
        found.append(_scatter(primitive, *GATHERS[0], mode=FILL, kind="int32"))
    return found


def _gather(
    indices: np.ndarray,
    numbers: GatherDimensionNumbers,
    sizes: tuple[int, ...],
    *,
    mode: GatherScatterMode,
    kind: str = "float32",
) -> Sample:
    params = {
        "dimension_numbers": numbers,
        "slice_sizes": sizes,
        "indices_are_sorted": False,
        "unique_indices": False,
        "mode": mode,
        "fill_value": 1 if mode is FILL else None,
    }
    return Sample(gather_p, (draw(4, 3, dtype=kind), indices), params)


def _scatter(
    primitive: Primitive,
    indices: np.ndarray,
    numbers: Any,
    sizes: tuple[int, ...],
    *,
    mode: GatherScatterMode,
    kind: str = "float32",
) -> Sample:
    left_out = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    window, batch = [size for dim, size in enumerate(sizes) if dim not in left_out], list(indices.shape[:-1])
    rank = len(window) + len(batch)
    shape = [(window if dim in numbers.offset_dims else batch).pop(0) for dim in range(rank)]
    params = {
        "dimension_numbers": ScatterDimensionNumbers(*numbers.astuple()),
        "indices_are_sorted": False,
        # Without it scatter_mul has no derivative with respect to the updates.
        "unique_indices": primitive.name == "scatter_mul",
        "mode": mode,
    }
    # Repeated, the indices of scatter_mul would not be unique any more.
    without = {"sizes": "the indices must be unique"} if params["unique_indices"] else {}
    args = (draw(4, 3, dtype=kind), indices, draw(*shape, dtype=kind, seed=1))
    return Sample(primitive, args, params, without=without)
