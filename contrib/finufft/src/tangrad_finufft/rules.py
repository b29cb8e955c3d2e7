"""Derivatives, transposes, batches and the direct call: the rules of all nine primitives.

With e[k, j] = exp(i sign k·x[j]), type 1 is e c, type 2 its transpose e^T f, type 3 the same as type 1 at any k. A
derivative along a coordinate puts a factor i sign k to the frequencies, and the coordinate's tangent to the points.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import tangrad.numpy as np
from tangrad import lax
from tangrad.autodiff import elementwise_jvp
from tangrad.batching import move_axis
from tangrad.core import RuleSet
from tangrad_finufft.primitives import TABLE, on_host

if TYPE_CHECKING:
    from tangrad.core import Array, Primitive
    from tangrad.core.protocols import AxisInfo
    from tangrad.typing import Dims, DTypeLike, Value, Values
    from tangrad_finufft.primitives import Sizes

jvp, transpose = RuleSet("jvp", api=1), RuleSet("transpose", api=1)
batch, on_numpy = RuleSet("batch", api=1), RuleSet("lower.numpy", api=1)


def frequencies(size: int, dimension: int, dims: int, dtype: DTypeLike) -> Array:
    """The frequencies of the modes along a dimension, shaped to be multiplied with the modes."""
    shape = [-1 if axis == dimension else 1 for axis in range(dims)]
    return (np.arange(size, dtype=dtype) - size // 2).reshape(shape)


def along_point(
    at: int,
    kind: int,
    dims: int,
    tangent: Value,
    answer: Value,
    *operands: Value,
    sign: int,
    eps: float,
    modes: Sizes | None = None,
) -> Array:
    """The derivative along coordinate `at` of the points."""
    *real, data = operands
    again = partial(TABLE[kind, dims].bind, sign=sign, eps=eps, **({} if modes is None else {"modes": modes}))
    if kind == 2:
        along = frequencies(data.shape[at - dims], at, dims, tangent.dtype)
        return tangent * again(*real, 1j * sign * along * data)
    k: Value = real[dims + at] if modes is None else frequencies(modes[at], at, dims, tangent.dtype)
    return 1j * sign * k * again(*real, data * tangent)


def along_frequency(
    at: int, dims: int, tangent: Value, answer: Value, *operands: Value, sign: int, eps: float
) -> Array:
    """The derivative of type 3 along coordinate `at` of the frequencies."""
    *real, data = operands
    return 1j * sign * tangent * TABLE[3, dims].bind(*real, data * real[at], sign=sign, eps=eps)


def transposed(
    kind: int, dims: int, cotangent: Value, *operands: Value, sign: int, eps: float, modes: Sizes | None = None
) -> tuple[Array | None, ...]:
    """Type 1 becomes type 2 and back, type 3 changes its points for its frequencies. Linear in the last operand."""
    *real, data = operands
    if kind == 1:
        back = TABLE[2, dims].bind(*real, cotangent, sign=sign, eps=eps)
    elif kind == 2:
        back = TABLE[1, dims].bind(*real, cotangent, sign=sign, eps=eps, modes=data.aval.shape[-dims:])
    else:
        back = TABLE[3, dims].bind(*real[dims:], *real[:dims], cotangent, sign=sign, eps=eps)
    return (*[None] * len(real), back)


def mapped(
    primitive: Primitive[Array], args: Values, dims: Dims, *, axis_info: AxisInfo, **params: object
) -> tuple[Array, int]:
    """Many vectors over the same points are one call; where the points differ, one call for each."""
    *apart, last = dims
    if last is not None and all(dim is None for dim in apart):
        return primitive.bind(*args[:-1], move_axis(args[-1], last, 0), **params), 0
    moved = [arg if dim is None else move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True)]
    rows = [arg for arg, dim in zip(moved, dims, strict=True) if dim is not None]

    def one(rows: list[Value]) -> Array:
        left = iter(rows)
        return primitive.bind(*[arg if d is None else next(left) for arg, d in zip(moved, dims, strict=True)], **params)

    return lax.map(one, rows), 0


for (kind, dims), primitive in TABLE.items():
    points = [partial(along_point, at, kind, dims) for at in range(dims)]
    targets = [partial(along_frequency, at, dims) for at in range(dims)] if kind == 3 else []
    linear = lambda tangent, answer, *operands, own=primitive, **params: own.bind(*operands[:-1], tangent, **params)
    elementwise_jvp(jvp, primitive, *points, *targets, linear)
    transpose.rule(primitive)(partial(transposed, kind, dims))
    batch.rule(primitive)(partial(mapped, primitive))
    on_numpy.rule(primitive)(lambda ctx, *arrays, own=(kind, dims), **params: on_host(*own, *arrays, **params))
