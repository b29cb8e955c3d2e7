"""Decompositions: which equations the kernel `lu` takes."""

from __future__ import annotations

from math import prod

from tangrad._kernels.jobs import Describe, Job, is_known, number_of
from tangrad.core import Primitive, ShapedArray
from tangrad.extend.lax import lu_p

SMALL = 64  # rows and columns, as in native/lu.cc
SEVERAL, MANY = 4, 1 << 10  # matrices, and elements in all: below, LAPACK is as fast


def _lu(x: ShapedArray) -> Job | None:
    number = number_of(x, ("float32", "float64"))
    if number is None or not is_known(x):
        return None
    count, (rows, columns) = prod(x.shape[:-2]), x.shape[-2:]
    if count < SEVERAL or prod(x.shape) < MANY or max(rows, columns) > SMALL:
        return None
    return Job("lu", (number, count, rows, columns))


JOBS: dict[Primitive, Describe] = {lu_p: _lu}
