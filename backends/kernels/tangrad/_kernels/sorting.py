"""Sorting: which equations the kernels `sort` and `top` take."""

from __future__ import annotations

from math import prod

from tangrad._kernels.jobs import NUMBERS, Describe, Job, around, is_known, number_of
from tangrad.core import Primitive, ShapedArray, dtypes
from tangrad.extend.lax import sort_p, top_k_p

MANY = 1 << 12  # elements in all: below, a call takes longer than what it saves
LONG = 1 << 16  # elements of a row: below, NumPy sorts a single array as fast
WIDTHS = (8, 16, 32, 64, 128)
FEW = 256  # elements that are looked for among at least so many times as many
SHARE = 8


def _sort(*operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> Job | None:
    key = operands[0]
    number = number_of(key, NUMBERS)
    if number is None or num_keys != 1 or not is_known(key) or prod(key.shape) < MANY:
        return None
    if any([isinstance(aval.dtype, dtypes.ExtendedDType) for aval in operands]):
        return None
    widths = [dtypes.bit_width(aval.dtype) for aval in operands]
    places = around(key.shape, dimension)
    if len(operands) > 60 or not set(widths) <= set(WIDTHS) or not 1 < places[1] < 1 << 31:
        return None
    alone = len(operands) == 1 and places[1] < LONG
    return Job("sort", (number, *places, len(operands), *[width // 8 for width in widths]), not alone)


def _top_k(x: ShapedArray, *, k: int, axis: int) -> Job | None:
    number = number_of(x, NUMBERS)
    if number is None or not is_known(x) or type(k) is not int or axis != x.ndim - 1 or prod(x.shape) < MANY:
        return None
    rows, size, _ = around(x.shape, axis)
    return Job("top", (number, rows, size, k)) if 0 < k <= FEW and k * SHARE <= size < 1 << 31 else None


JOBS: dict[Primitive, Describe] = {sort_p: _sort, top_k_p: _top_k}
