"""The greatest and the least elements of an array, as far as an approximation has to find them.

Hardware without a fast sort takes each element's window first and looks at the windows' winners: an element that shares
its window with a greater one is lost. How many windows there must be for a recall was worked out by Chern et al.,
TPU-KNN: K Nearest Neighbor Search at Peak FLOP/s, NeurIPS 2022, https://arxiv.org/abs/2206.14286.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tangrad._lax.checks import FLOATING, check_axes, check_dtype
from tangrad._lax.elementwise.primitives import neg_p
from tangrad._lax.sorting.primitives import sorting, top_k_p
from tangrad.core import ShapedArray, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.typing import Value

# The elements that hardware handles at once: of a vector, and along a dimension of what has more than one.
TILE_OF_VECTOR, TILE = 1024, 128


def result_size(size: Any, rank: int, k: int, recall_target: float, input_size: int) -> int:
    """How many results there are where winners of windows are not brought down to `k`: one for each window.

    Args:
        size: that of the dimension.
        rank: of the array.
        recall_target: which part of the true results are to be found, on average; 1: all, which takes all elements.
        input_size: the elements among which recall is meant, where the array is a part of them; -1: the array's own.
    """
    tile = TILE_OF_VECTOR if rank == 1 else TILE
    if recall_target == 1.0 or size <= tile:
        return size
    among = input_size if input_size >= 0 else size
    if k == 1:  # the winner of its window is never lost
        return tile
    # A result survives if none of the k - 1 others is in its window: (1 - 1 / windows) ** (k - 1) of them do.
    needed = 1.0 / (1.0 - recall_target ** (1.0 / (k - 1))) if k else 1.0
    windows = min(max(int(needed), tile), size)
    halvings = int(math.log2(among // windows)) if among >= windows else 0
    if halvings <= 0:
        return size
    tiles = -(-size // tile)
    halvings = min(halvings, (tiles - 1).bit_length())
    return tile * -(-tiles // (1 << halvings))


def exactly(operand: Value, *, axis: int, is_max_k: bool, results: Any, **_: object) -> tuple[Any, Any]:
    """All of them, without loss, in order."""
    if is_max_k:
        return top_k_p.bind(operand, k=results, axis=axis)
    values, positions = top_k_p.bind(neg_p.bind(operand), k=results, axis=axis)
    return neg_p.bind(values), positions


@sorting.primitive(name="approx_top_k", multiple_results=True, weak_type="never", decompose=exactly)
def approx_top_k_p(
    operand: ShapedArray, *, k: int, axis: int, recall_target: float, is_max_k: bool, results: Any
) -> tuple[Any, Any]:
    """The `k` greatest elements along `axis` (the least, without `is_max_k`), and their positions.

    A backend may miss some, as long as it finds a part of `recall_target`; where `results` is not `k` it gives so many
    elements, in any order, among which they are.
    """
    check_dtype("approx_top_k", operand, (FLOATING,), "operand")
    check_axes("approx_top_k", (axis,), operand.ndim, "reduction_dimension")
    size = operand.shape[axis]
    if not is_symbolic(k) and k < 0:
        raise ValueError(f"approx_top_k: k must not be negative, got {k}")
    if not k <= results <= size:
        raise ValueError(f"approx_top_k: k must be at most the size of axis {axis} of shape {operand.shape}, got {k}")
    if not 0.0 < recall_target <= 1.0:
        raise ValueError(f"approx_top_k: recall_target must be above 0 and at most 1, got {recall_target}")
    shape = (*operand.shape[:axis], results, *operand.shape[axis + 1 :])
    return operand.update(shape=shape), operand.update(shape=shape, dtype=dtypes.as_dtype(np.int32))
