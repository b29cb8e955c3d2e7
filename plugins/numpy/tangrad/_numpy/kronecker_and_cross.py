"""Products without sums: `tangrad.numpy.kron` and `cross`."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._numpy.arithmetic import multiply
from tangrad._numpy.axes import moveaxis
from tangrad._numpy.fusing import as_one
from tangrad._numpy.operands import array_operand, broadcast_shape, broadcast_to_shape, canonical_axis, promote
from tangrad._numpy.shapes import expand_dims, reshaped
from tangrad.core import Array
from tangrad.extend.lax import concatenate_p, mul_p, sub_p
from tangrad.typing import ArrayLike, Value


@as_one()
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Take the Kronecker product: each element of the first array times the whole second one.

    Args:
        a, b: arrays or numbers.

    Returns:
        An array whose sizes are the products of the sizes.

    Raises:
        TypeError: for what is no array.

    >>> import tangrad
    >>> tangrad.numpy.kron(tangrad.numpy.array([1, 10]), tangrad.numpy.array([1, 2]))
    Array([ 1,  2, 10, 20], dtype=int32)
    """
    lhs, rhs = promote("kron", a, b)
    rank = max(lhs.aval.ndim, rhs.aval.ndim)
    left, right = [(1,) * (rank - x.aval.ndim) + x.aval.shape for x in (lhs, rhs)]
    spread = tuple([size for pair in zip(left, right) for size in pair])
    rows = broadcast_to_shape(reshaped(array_operand("kron", lhs), _pairs(left, (1,) * rank)), spread)
    blocks = broadcast_to_shape(reshaped(array_operand("kron", rhs), _pairs((1,) * rank, right)), spread)
    return reshaped(multiply(rows, blocks), tuple([m * n for m, n in zip(left, right)]))


def _pairs(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    return tuple([size for pair in zip(first, second) for size in pair])


@as_one("axisa", "axisb", "axisc", "axis")
def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """Take the cross products of vectors of three components.

    Args:
        a, b: arrays whose vectors are along `axisa` and `axisb`; other dimensions are broadcast.
        axisa, axisb, axisc: along which axis of `a`, `b` and the result the vectors are.
        axis: all three at once.

    Returns:
        An array of vectors.

    Raises:
        TypeError: for what is no array.
        ValueError: for vectors of other lengths, and shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.cross(tangrad.numpy.array([1, 0, 0]), tangrad.numpy.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    lhs, rhs = [array_operand("cross", x) for x in promote("cross", a, b)]
    lhs, rhs = moveaxis(lhs, axisa, -1), moveaxis(rhs, axisb, -1)
    if lhs.shape[-1] != 3 or rhs.shape[-1] != 3:
        raise ValueError(
            f"cross: vectors must have three components, got shapes {lhs.shape} and {rhs.shape}; "
            "of two components x and y it is x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]"
        )
    shape = broadcast_shape("cross", [lhs.shape[:-1], rhs.shape[:-1]])
    first, second = [[broadcast_to_shape(x[..., i], shape) for i in range(x.shape[-1])] for x in (lhs, rhs)]
    parts = [_minor(first, second, i, j) for i, j in ((1, 2), (2, 0), (0, 1))]
    last = len(shape)
    joined = concatenate_p.bind(*[expand_dims(part, last) for part in parts], dimension=last)
    return moveaxis(joined, -1, canonical_axis("cross", axisc, last + 1, "axisc"))


def _minor(first: Sequence[Value], second: Sequence[Value], i: int, j: int) -> Value:
    return sub_p.bind(mul_p.bind(first[i], second[j]), mul_p.bind(first[j], second[i]))
