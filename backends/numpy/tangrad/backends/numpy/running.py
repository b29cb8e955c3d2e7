"""Running totals that keep their digits, where NumPy's `accumulate` adds one element after another.

A million of 0.1 in float32 would end 1 % off. Single precision is therefore accumulated in double, and double precision
in blocks of 64, whose totals are accumulated and added to the blocks after them. Long arrays are taken in pieces that
stay in the cache, so that it costs little more than `accumulate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

BLOCK = 64
SHORT = 256  # of so few elements `accumulate` loses nothing that counts
PIECE = 16384  # elements
_WIDER = {np.dtype("float32"): np.dtype("float64"), np.dtype("complex64"): np.dtype("complex128")}


def running_totals(ufunc: Any, x: Any, axis: int, dtype: Any) -> Any:
    """`ufunc.accumulate(x, axis, dtype)` of a ufunc that rounds, and is associative but for that."""
    size, wide = x.shape[axis], _WIDER.get(dtype)
    if size <= SHORT:
        return ufunc.accumulate(x, axis, dtype)
    if wide is None:
        return _by_pieces(_in_blocks, ufunc, x, axis, dtype)
    if x.size <= PIECE:
        return ufunc.accumulate(x, axis, wide).astype(dtype)
    return _by_pieces(_plain, ufunc, x, axis, dtype, wide)


def _by_pieces(accumulate: Callable[..., None], ufunc: Any, x: Any, axis: int, dtype: Any, wide: Any = None) -> Any:
    """`accumulate(ufunc, piece, into)` of one piece after another, each with the total of those before."""
    out = np.empty(x.shape, dtype)
    elements, totals = x.swapaxes(0, axis), out.swapaxes(0, axis)
    size, rest = len(elements), elements.shape[1:]
    length = max(PIECE // max(math.prod(rest), 1) // BLOCK, 1) * BLOCK
    held = None
    if wide is not None:  # in the order of the elements in memory
        held = np.empty((*x.shape[:axis], min(length, size), *x.shape[axis + 1 :]), wide).swapaxes(0, axis)
    before: Any = None
    for start in range(0, size, length):
        piece, target = elements[start : start + length], totals[start : start + length]
        into = target if held is None else held[: len(piece)]
        accumulate(ufunc, piece, into)
        if before is not None:
            ufunc(into, before, out=into)
        before = into[-1].copy()
        if held is not None:
            target[...] = into
    return out


def _plain(ufunc: Any, x: Any, out: Any) -> None:
    out[...] = x  # first, for NumPy is slow at converting while it accumulates along an axis of many
    ufunc.accumulate(out, 0, None, out)


def _in_blocks(ufunc: Any, x: Any, out: Any) -> None:
    count, rest = divmod(len(x), BLOCK)
    if count:
        shape = (count, BLOCK, *x.shape[1:])
        blocks = out[: count * BLOCK].reshape(shape)
        ufunc.accumulate(x[: count * BLOCK].reshape(shape), 1, out.dtype, blocks)
    if count > 1:
        before = ufunc.accumulate(blocks[:-1, -1], 0, out.dtype)
        ufunc(blocks[1:], before[:, None], out=blocks[1:])
    if rest:
        ufunc.accumulate(x[-rest:], 0, out.dtype, out[-rest:])
        if count:
            ufunc(out[-rest:], blocks[-1, -1], out=out[-rest:])
