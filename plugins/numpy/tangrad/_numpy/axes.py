"""The order of dimensions: `tangrad.numpy.transpose`, `moveaxis`, `swapaxes`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from tangrad._numpy.operands import array_operand, canonical_axes, canonical_axis, index_argument
from tangrad.core import EVAL_TRACE, Array, thread
from tangrad.core.caches import DirectCalls
from tangrad.extend.lax import transpose_p
from tangrad.typing import ArrayLike


def _array(name: str, value: ArrayLike) -> Array:
    return value if isinstance(value, Array) else array_operand(name, value)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Reorder the dimensions.

    Args:
        a: an array or number.
        axes: for each dimension of the result, which of `a` it is; None: the reverse order.

    Returns:
        An array with the dimensions reordered.

    Raises:
        TypeError: `a` is no array.
        ValueError: `axes` is no permutation of the dimensions.

    >>> import tangrad
    >>> tangrad.numpy.transpose(tangrad.numpy.ones((2, 3))).shape
    (3, 2)
    """
    x = _array("transpose", a)
    rank = x.aval.ndim
    if axes is None:
        permutation = tuple(range(rank - 1, -1, -1))
    else:
        alone = isinstance(axes, int) or (isinstance(axes, Array) and not axes.ndim)
        permutation = canonical_axes("transpose", (axes,) if alone else tuple(axes), rank, "axes")
    return permuted(x, permutation)


def permuted(x: Array, permutation: tuple[int, ...]) -> Array:
    """An array with its dimensions reordered by a permutation."""
    if thread.trace is EVAL_TRACE:
        call = _permutations.get((x.aval, permutation))
        if call is not None:
            return call(x)
    if permutation == tuple(range(len(permutation))) and len(permutation) == x.aval.ndim:
        return x
    return _permutations.apply((x.aval, permutation), transpose_p, (x,), {"permutation": permutation})


_permutations = DirectCalls()


def permute_dims(a: ArrayLike, /, axes: tuple[int, ...]) -> Array:
    """Reorder the dimensions.

    Args:
        a: an array or number.
        axes: for each dimension of the result, which of `a` it is.

    Returns:
        An array with the dimensions reordered.

    Raises:
        TypeError: `a` is no array.
        ValueError: `axes` is no permutation of the dimensions.

    >>> import tangrad
    >>> tangrad.numpy.permute_dims(tangrad.numpy.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    return transpose(a, axes)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Exchange the last two dimensions.

    Args:
        x: an array of at least two dimensions.

    Returns:
        An array with the last two dimensions exchanged.

    Raises:
        TypeError: `x` is no array.
        ValueError: it has fewer dimensions.

    >>> import tangrad
    >>> tangrad.numpy.matrix_transpose(tangrad.numpy.ones((4, 2, 3))).shape
    (4, 3, 2)
    """
    made = _array("matrix_transpose", x)
    rank = made.aval.ndim
    if rank < 2:
        raise ValueError(f"matrix_transpose requires at least two dimensions, got shape {made.aval.shape}")
    return transpose_p.bind(made, permutation=(*range(rank - 2), rank - 1, rank - 2))


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Exchange two dimensions.

    Args:
        a: an array.
        axis1, axis2: the dimensions.

    Returns:
        An array with the two dimensions exchanged.

    Raises:
        TypeError: `a` is no array, or an axis no integer.
        ValueError: an axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.swapaxes(tangrad.numpy.ones((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    x = _array("swapaxes", a)
    rank = x.aval.ndim
    first = canonical_axis("swapaxes", axis1, rank, "axis1")
    second = canonical_axis("swapaxes", axis2, rank, "axis2")
    order = list(range(rank))
    order[first], order[second] = second, first
    return permuted(x, tuple(order))


def moveaxis(
    a: ArrayLike, source: SupportsIndex | Sequence[SupportsIndex], destination: SupportsIndex | Sequence[SupportsIndex]
) -> Array:
    """Move dimensions to other places; the others keep their order.

    Args:
        a: an array.
        source: an axis or a sequence of axes.
        destination: where each goes.

    Returns:
        An array with the dimensions moved.

    Raises:
        TypeError: `a` is no array, or an axis no integer.
        ValueError: an axis is out of bounds or repeated, or the two do not have one length.

    >>> import tangrad
    >>> tangrad.numpy.moveaxis(tangrad.numpy.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = _array("moveaxis", a)
    rank = x.aval.ndim
    sources = canonical_axes("moveaxis", source, rank, "source")
    destinations = canonical_axes("moveaxis", destination, rank, "destination")
    if len(sources) != len(destinations):
        raise ValueError(f"moveaxis: source {source} and destination {destination} must have one length")
    order = [axis for axis in range(rank) if axis not in sources]
    for to, axis in sorted(zip(destinations, sources)):
        order.insert(to, axis)
    return permuted(x, tuple(order))


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Move a dimension before another one.

    Args:
        a: an array.
        axis: which dimension.
        start: before which one, counted as they stand in `a`.

    Returns:
        An array with the dimension moved.

    Raises:
        TypeError: `a` is no array, or an axis no integer.
        ValueError: an axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.rollaxis(tangrad.numpy.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = _array("rollaxis", a)
    rank = x.aval.ndim
    moved = canonical_axis("rollaxis", axis, rank)
    before = index_argument("rollaxis", start, "start")
    if not -rank <= before <= rank:
        raise ValueError(f"rollaxis: start {before} is out of bounds for an array of {rank} dimensions")
    before = before + rank if before < 0 else before
    return moveaxis(x, moved, before - 1 if before > moved else before)
