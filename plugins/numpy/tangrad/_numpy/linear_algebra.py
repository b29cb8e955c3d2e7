"""Powers and products of matrices, and their parts, as in `numpy.linalg`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise

from tangrad._numpy.axes import swapaxes
from tangrad._numpy.conversion import asarray
from tangrad._numpy.fusing import as_one
from tangrad._numpy.kronecker_and_cross import cross as cross_along
from tangrad._numpy.linear_systems import inv
from tangrad._numpy.matrices import diagonal as diagonal_of
from tangrad._numpy.matrices import trace as trace_of
from tangrad._numpy.products import dot, matmul
from tangrad._numpy.products import outer as outer_of
from tangrad._numpy.ranges import eye
from tangrad._numpy.shapes import expand_dims
from tangrad.core import Array
from tangrad.errors import ArgumentError
from tangrad.lax import PrecisionLike
from tangrad.typing import ArrayLike, DTypeLike


def matrix_transpose(x: ArrayLike, /) -> Array:
    """The matrices in the last two dimensions, transposed.

    Raises ValueError for fewer than two dimensions.

    >>> import tangrad
    >>> tangrad.numpy.linalg.matrix_transpose(tangrad.numpy.ones((2, 3))).shape
    (3, 2)
    """
    array = asarray(x)
    if array.ndim < 2:
        raise ValueError(f"matrix_transpose takes arrays of at least two dimensions, got shape {array.shape}")
    return swapaxes(array, -1, -2)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of three components along an axis.

    Args:
        x1, x2: arrays, broadcast against each other.
        axis: along which the vectors are, in both and in the result.

    Raises:
        TypeError: for what is no array; ValueError: for vectors of other lengths, and shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.linalg.cross(tangrad.numpy.array([1, 0, 0]), tangrad.numpy.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    return cross_along(x1, x2, axis=axis)


@as_one("n")
def matrix_power(a: ArrayLike, n: int) -> Array:
    """The matrix multiplied with itself `n` times.

    With n < 0 the inverse is: infinite or NaN where there is none.

    Raises TypeError if `n` is not an integer, and ValueError for matrices that are not square.

    >>> import tangrad
    >>> tangrad.numpy.linalg.matrix_power(tangrad.numpy.array([[2.0]]), 3)
    Array([[8.]], dtype=float32)
    """
    array = asarray(a)
    try:
        count = operator.index(n)
    except TypeError:
        raise TypeError(f"matrix_power: the exponent must be an integer, got {n!r}") from None
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ArgumentError(f"matrix_power takes square matrices, got shape {array.shape}")
    if count < 0:
        array, count = inv(array), -count
    result = None
    while count:
        if count % 2:
            result = array if result is None else matmul(result, array)
        count //= 2
        if count:
            array = matmul(array, array)
    if result is None:
        one = eye(array.shape[-1], dtype=array.dtype)
        return one if array.ndim == 2 else one + array * 0
    return result


def multi_dot(arrays: Sequence[object], *, precision: PrecisionLike = None) -> Array:
    """The product of several matrices, in the order of multiplication that needs the least work.

    Raises ValueError for fewer than two arrays, and for shapes that do not fit: all but the first and the last have two
    dimensions.

    >>> import tangrad
    >>> tangrad.numpy.linalg.multi_dot([tangrad.numpy.ones((2, 3)), tangrad.numpy.ones((3, 4)), tangrad.numpy.ones(4)])
    Array([12., 12.], dtype=float32)
    """
    items = [asarray(array) for array in arrays]
    if len(items) < 2:
        raise ValueError(f"multi_dot takes at least two arrays, got {len(items)}")
    wrong = [array.shape for array in items[1:-1] if array.ndim != 2]
    wrong += [array.shape for array in (items[0], items[-1]) if array.ndim not in (1, 2)]
    if wrong:
        raise ValueError(f"multi_dot takes matrices, and vectors as the first and the last array, got shape {wrong[0]}")
    first, last = items[0].ndim == 1, items[-1].ndim == 1
    if first:
        items[0] = expand_dims(items[0], 0)
    if last:
        items[-1] = expand_dims(items[-1], 1)
    for left, right in pairwise(items):
        if left.shape[1] != right.shape[0]:
            raise ValueError(f"multi_dot: matrices of shapes {left.shape} and {right.shape} have no product")
    result = _product(items, 0, len(items), _cuts([items[0].shape[0], *[array.shape[1] for array in items]]), precision)
    if first:
        result = result[0]
    return result[..., 0] if last else result


def _cuts(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where a chain of matrices, of sizes[i] by sizes[i + 1], is best cut in two: (start, end) -> the place.

    Dynamic programming over the lengths of parts (Cormen, Leiserson, Rivest, Stein, Introduction to Algorithms, 14.2).
    """
    count = len(sizes) - 1
    work: dict[tuple[int, int], int] = {(i, i + 1): 0 for i in range(count)}
    cuts = {}
    for length in range(2, count + 1):
        for start in range(count - length + 1):
            end = start + length
            costs = [
                work[start, cut] + work[cut, end] + sizes[start] * sizes[cut] * sizes[end]
                for cut in range(start + 1, end)
            ]
            # Of one cost nothing is compared: sizes may be symbolic.
            work[start, end] = costs[0] if len(costs) == 1 else min(costs)
            cuts[start, end] = start + 1 + costs.index(work[start, end])
    return cuts


def _product(
    items: Sequence[Array], start: int, end: int, cuts: dict[tuple[int, int], int], precision: PrecisionLike
) -> Array:
    if end - start == 1:
        return items[start]
    cut = cuts[start, end]
    parts = [_product(items, *place, cuts, precision) for place in ((start, cut), (cut, end))]
    return dot(*parts, precision=precision)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """A diagonal of each of the matrices in the last two dimensions.

    >>> import tangrad
    >>> tangrad.numpy.linalg.diagonal(tangrad.numpy.arange(4).reshape(1, 2, 2))
    Array([[0, 3]], dtype=int32)
    """
    return diagonal_of(x, offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """The sum of a diagonal of each of the matrices in the last two dimensions.

    >>> import tangrad
    >>> tangrad.numpy.linalg.trace(tangrad.numpy.arange(4).reshape(1, 2, 2))
    Array([3], dtype=int32)
    """
    return trace_of(x, offset, -2, -1, dtype)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Each element of one vector times each of another. Raises ValueError for other numbers of dimensions.

    >>> import tangrad
    >>> tangrad.numpy.linalg.outer(tangrad.numpy.arange(1, 3), tangrad.numpy.arange(3))
    Array([[0, 1, 2],
           [0, 2, 4]], dtype=int32)
    """
    first, second = asarray(x1), asarray(x2)
    if first.ndim != 1 or second.ndim != 1:
        raise ValueError(f"outer takes vectors, got shapes {first.shape} and {second.shape}")
    return outer_of(first, second)
