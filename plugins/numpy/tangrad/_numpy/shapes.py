"""The same elements in another shape: `tangrad.numpy.reshape`, `squeeze`, `broadcast_to`, …"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, overload

import numpy as np

from tangrad._numpy.axes import transpose
from tangrad._numpy.conversion import asarray
from tangrad._numpy.operands import (
    array_operand,
    broadcast_shape,
    broadcast_to_shape,
    canonical_axes,
    canonical_shape,
    check_array_like,
    is_array_like,
    is_sequence,
    not_array_like,
    shape_of,
)
from tangrad.core import EVAL_TRACE, Array, ShapedArray, thread
from tangrad.core.arguments import is_symbolic
from tangrad.core.caches import DirectCalls
from tangrad.errors import ArgumentError
from tangrad.extend.lax import broadcast_in_dim_p, copy_p, reshape_p, sharded_call, squeeze_p
from tangrad.typing import ArrayLike, Axis, Shape, ShardingLike, Value

if TYPE_CHECKING:
    from tangrad.typing import PyTree


def _array(name: str, value: ArrayLike) -> Array:
    return value if isinstance(value, Array) else array_operand(name, value)


# --- reshape ---


def reshape(
    a: ArrayLike, shape: Shape, order: str = "C", *, copy: bool | None = None, out_sharding: ShardingLike = None
) -> Array:
    """Give the elements another shape.

    Args:
        a: an array or number.
        shape: an integer or a sequence of integers, one of which may be -1: what is left.
        order: "C": the last dimension varies first; "F": the first one does.
        copy: True: copy even where nothing changes. False is refused: compilers decide whether memory is shared.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of that shape.

    Raises:
        TypeError: `a` is no array, or `shape` holds other things than integers.
        ValueError: the sizes do not fit.

    >>> import tangrad
    >>> tangrad.numpy.reshape(tangrad.numpy.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    if out_sharding is not None:
        return sharded_call(out_sharding, reshape, a, shape, order, copy=copy)
    x = _array("reshape", a)
    if copy is False:
        raise NotImplementedError("reshape: copy=False is not supported; None copies where it must")
    if order == "C":
        result = reshaped(x, shape)
    elif order == "F":
        sizes = _resolved(x.aval, _sizes(shape))
        result = transpose(reshaped(transpose(x), sizes[::-1]))
    else:
        raise _unknown_order("reshape", order)
    return copy_p.bind(result) if copy and result is x else result


def _unknown_order(name: str, order: object) -> Exception:
    if order == "A":
        return NotImplementedError(f"{name}: order 'A' is not supported, since arrays have no layout")
    return ValueError(f"{name}: order must be 'C' or 'F', got {order!r}")


@overload
def reshaped(x: Array, shape: object) -> Array: ...
@overload
def reshaped(x: Value, shape: object) -> Value: ...
def reshaped(x: Value, shape: object) -> Value:
    """An array in another shape, which may hold -1."""
    sizes = shape if type(shape) is tuple else _sizes(shape)
    aval, eager = x.aval, thread.trace is EVAL_TRACE
    key = (aval, sizes)
    for size in sizes:
        if type(size) is not int:
            sizes = _resolved(aval, sizes)
            key = (aval, sizes)
            break
    else:
        if -1 in sizes:
            call = _reshapes.get(key) if eager else None
            if call is not None:
                return call(x)
            sizes = _resolved(aval, sizes)
    if aval.shape == sizes:
        return x
    if eager:
        call = _reshapes.get(key)
        if call is not None:
            return call(x)
        return _reshapes.apply(key, reshape_p, (x,), {"new_sizes": sizes, "dimensions": None})
    return reshape_p.bind(x, new_sizes=sizes, dimensions=None)


_reshapes = DirectCalls()


def _sizes(shape: PyTree) -> tuple[ArrayLike, ...]:
    if isinstance(shape, (tuple, list)):
        return tuple(shape)
    return (shape,) if not isinstance(shape, (Array, np.ndarray)) or not shape.ndim else tuple(shape)


def _resolved(aval: ShapedArray, sizes: tuple[object, ...]) -> tuple[int, ...]:
    """The sizes as integers, with -1 replaced. Raises ValueError where they do not make up the array."""
    unknown = [position for position, size in enumerate(sizes) if _is_minus_one(size)]
    known = canonical_shape(
        "reshape", tuple([1 if position in unknown else size for position, size in enumerate(sizes)])
    )
    if len(unknown) > 1:
        raise ValueError(f"reshape: only one size of {sizes} may be -1")
    if not unknown:
        return known
    total, rest = aval.size, math.prod(known)
    if rest == 0 or total % rest != 0:
        raise ArgumentError(f"reshape: shape {aval.shape} has {total} elements, which do not make up shape {sizes}")
    return (*known[: unknown[0]], total // rest, *known[unknown[0] + 1 :])


def _is_minus_one(size: object) -> bool:
    if type(size) is int:
        return size == -1
    index = None if is_symbolic(size) else getattr(size, "__index__", None)
    try:
        return index is not None and index() == -1
    except TypeError:  # traced, not an integer or more than one: the check of the sizes refuses it
        return False


def ravel(a: ArrayLike, order: str = "C", *, out_sharding: ShardingLike = None) -> Array:
    """Give the elements one dimension.

    Args:
        a: an array or number.
        order: "C", "K": the last dimension varies first; "F": the first one does.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: `a` is no array.

    >>> import tangrad
    >>> tangrad.numpy.ravel(tangrad.numpy.ones((2, 2)))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    if out_sharding is not None:
        return sharded_call(out_sharding, ravel, a, order)
    x = _array("ravel", a)
    if order == "K":
        order = "C"
    return reshaped(x, (x.aval.size,)) if order == "C" else reshape(x, (x.aval.size,), order)


# --- dimensions of size 1 ---


def expand_dims(a: ArrayLike, axis: Axis) -> Array:
    """Add dimensions of size 1.

    Args:
        a: an array or number.
        axis: where in the result: an integer or a sequence of them.

    Returns:
        An array with more dimensions.

    Raises:
        TypeError: `a` is no array, or an axis no integer.
        ValueError: an axis is out of bounds or repeated.

    >>> import tangrad
    >>> tangrad.numpy.expand_dims(tangrad.numpy.ones(3), (0, -1)).shape
    (1, 3, 1)
    """
    x = _array("expand_dims", a)
    count = len(axis) if is_sequence(axis) else 1
    rank = x.aval.ndim + count
    new = canonical_axes("expand_dims", axis, rank)
    kept = tuple([position for position in range(rank) if position not in new])
    sizes = iter(x.aval.shape)
    shape = tuple([1 if position in new else next(sizes) for position in range(rank)])
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=kept) if new else x


def squeeze(a: ArrayLike, axis: Axis = None) -> Array:
    """Remove dimensions of size 1.

    Args:
        a: an array or number.
        axis: which: an integer or a sequence of them; None: all.

    Returns:
        An array with fewer dimensions.

    Raises:
        TypeError: `a` is no array, or an axis no integer.
        ValueError: an axis is out of bounds, or its size is not 1.

    >>> import tangrad
    >>> tangrad.numpy.squeeze(tangrad.numpy.ones((1, 3, 1))).shape
    (3,)
    """
    x = _array("squeeze", a)
    shape = x.aval.shape
    if axis is None:
        dimensions = tuple([position for position, size in enumerate(shape) if size == 1])
    else:
        dimensions = tuple(sorted(canonical_axes("squeeze", axis, len(shape))))
        if any(shape[position] != 1 for position in dimensions):
            raise ValueError(f"squeeze: axis {axis} of shape {shape} must have size 1")
    return squeeze_p.bind(x, dimensions=dimensions) if dimensions else x


def _at_least(name: str, rank: int, values: tuple[ArrayLike, ...]) -> Array | tuple[Array, ...]:
    check_array_like(name, *values)
    results = tuple([_padded_rank(_array(name, value), rank) for value in values])
    return results[0] if len(results) == 1 else results


def _padded_rank(x: Array, rank: int) -> Array:
    shape = x.aval.shape
    if len(shape) >= rank:
        return x
    if rank == 3 and len(shape) == 2:
        return reshaped(x, (*shape, 1))
    if rank == 3 and len(shape) == 1:
        return reshaped(x, (1, *shape, 1))
    return reshaped(x, (1,) * (rank - len(shape)) + shape)


@overload
def atleast_1d(arys: ArrayLike, /) -> Array: ...
@overload
def atleast_1d(*arys: ArrayLike) -> tuple[Array, ...]: ...
def atleast_1d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Give arrays at least one dimension.

    Args:
        arys: arrays or numbers.

    Returns:
        The array, or a tuple of arrays if there are several.

    Raises:
        TypeError: for what is no array.

    >>> import tangrad
    >>> tangrad.numpy.atleast_1d(3.0).shape
    (1,)
    """
    return _at_least("atleast_1d", 1, arys)


@overload
def atleast_2d(arys: ArrayLike, /) -> Array: ...
@overload
def atleast_2d(*arys: ArrayLike) -> tuple[Array, ...]: ...
def atleast_2d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Give arrays at least two dimensions, new ones first.

    Args:
        arys: arrays or numbers.

    Returns:
        The array, or a tuple of arrays if there are several.

    Raises:
        TypeError: for what is no array.

    >>> import tangrad
    >>> tangrad.numpy.atleast_2d(tangrad.numpy.ones(3)).shape
    (1, 3)
    """
    return _at_least("atleast_2d", 2, arys)


@overload
def atleast_3d(arys: ArrayLike, /) -> Array: ...
@overload
def atleast_3d(*arys: ArrayLike) -> tuple[Array, ...]: ...
def atleast_3d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Give arrays at least three dimensions; of a vector the middle one is its own, of a matrix the first two.

    Args:
        arys: arrays or numbers.

    Returns:
        The array, or a tuple of arrays if there are several.

    Raises:
        TypeError: for what is no array.

    >>> import tangrad
    >>> tangrad.numpy.atleast_3d(tangrad.numpy.ones(3)).shape
    (1, 3, 1)
    """
    return _at_least("atleast_3d", 3, arys)


# --- broadcasting ---


def broadcast_to(array: ArrayLike, shape: Shape, *, out_sharding: ShardingLike = None) -> Array:
    """Repeat an array so that it fills a shape.

    Args:
        array: an array or number.
        shape: an integer or a sequence of integers.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of that shape.

    Raises:
        TypeError: `array` is no array.
        ValueError: it does not fit.

    >>> import tangrad
    >>> tangrad.numpy.broadcast_to(tangrad.numpy.arange(2), (2, 2))
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    if out_sharding is not None:
        return sharded_call(out_sharding, broadcast_to, array, shape)
    x = _array("broadcast_to", array)
    sizes, own = canonical_shape("broadcast_to", shape), x.aval.shape
    if len(own) > len(sizes) or any(a != 1 and a != b for a, b in zip(own[::-1], sizes[::-1])):
        raise ValueError(f"broadcast_to: an array of shape {own} does not broadcast to shape {sizes}")
    return broadcast_to_shape(x, sizes)


def broadcast_arrays(*args: ArrayLike) -> tuple[Array, ...]:
    """Broadcast arrays against each other.

    Args:
        args: arrays or numbers.

    Returns:
        A tuple of arrays of one shape, each with its own dtype.

    Raises:
        TypeError: for what is no array.
        ValueError: the shapes do not fit.

    >>> import tangrad
    >>> [x.shape for x in tangrad.numpy.broadcast_arrays(1.0, tangrad.numpy.ones((2, 3)))]
    [(2, 3), (2, 3)]
    """
    check_array_like("broadcast_arrays", *args)
    arrays = [_array("broadcast_arrays", value) for value in args]
    shape = broadcast_shape("broadcast_arrays", [x.aval.shape for x in arrays])
    return tuple([broadcast_to_shape(x, shape) for x in arrays])


def broadcast_shapes(*shapes: object) -> tuple[int, ...]:
    """Find the shape that shapes broadcast to.

    Args:
        shapes: sequences of integers, or integers.

    Returns:
        The common shape.

    Raises:
        ValueError: they do not fit.

    >>> import tangrad
    >>> tangrad.numpy.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return broadcast_shape("broadcast_shapes", [canonical_shape("broadcast_shapes", shape) for shape in shapes])


# --- what shape an array has ---


def _shape(name: str, a: object) -> tuple[int, ...]:
    if isinstance(a, (list, tuple)):
        a = asarray(a)
    if not is_array_like(a):
        raise TypeError(not_array_like(name, a, 0))
    return shape_of(a)


def shape(a: ArrayLike) -> tuple[int, ...]:
    """Return the shape of an array.

    Args:
        a: an array or number.

    Returns:
        A tuple of sizes.

    Raises:
        TypeError: `a` is no array.

    >>> import tangrad
    >>> tangrad.numpy.shape(tangrad.numpy.ones((2, 3)))
    (2, 3)
    """
    return _shape("shape", a)


def ndim(a: ArrayLike) -> int:
    """Return the number of dimensions of an array.

    Args:
        a: an array or number.

    Returns:
        An integer.

    Raises:
        TypeError: `a` is no array.

    >>> import tangrad
    >>> tangrad.numpy.ndim(tangrad.numpy.ones((2, 3)))
    2
    """
    return len(_shape("ndim", a))


def size(a: ArrayLike, axis: Axis = None) -> int:
    """Return the number of elements of an array, or its size along axes.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.

    Returns:
        An integer.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.size(tangrad.numpy.ones((2, 3)))
    6
    """
    sizes = _shape("size", a)
    return math.prod([sizes[position] for position in canonical_axes("size", axis, len(sizes))])
