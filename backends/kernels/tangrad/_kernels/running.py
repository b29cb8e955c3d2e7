"""Running totals: which equations the kernel `running` takes."""

from __future__ import annotations

from functools import partial
from math import prod

from tangrad._kernels.jobs import Describe, Job, around, is_known, number_of
from tangrad.core import Primitive, ShapedArray
from tangrad.extend.lax import cummax_p, cummin_p, cumsum_p

DTYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64")
MANY = 1 << 12  # elements in all: below, a call takes longer than what it saves


def _describe(operation: int, x: ShapedArray, *, axis: int, reverse: bool) -> Job | None:
    number = number_of(x, DTYPES)
    if number is None or not is_known(x) or prod(x.shape) < MANY or x.shape[axis] < 2:
        return None
    return Job("running", (number, operation, *around(x.shape, axis), int(reverse)))


JOBS: dict[Primitive, Describe] = {
    primitive: partial(_describe, operation) for operation, primitive in enumerate((cumsum_p, cummax_p, cummin_p))
}
