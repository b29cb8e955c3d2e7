"""Arrays joined into one: `tangrad.numpy.concatenate`, `stack`, `block`, `append`, …"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_
from typing import Any, cast

import numpy as np

from tangrad._numpy.axes import moveaxis
from tangrad._numpy.conversion import asarray, converted
from tangrad._numpy.fusing import as_one
from tangrad._numpy.operands import (
    array_operand,
    broadcast_to_shape,
    canonical_axis,
    check_array_like,
    promote,
    refuse_out,
    user_dtype,
)
from tangrad._numpy.settings import check_dtypes
from tangrad._numpy.shapes import atleast_1d, atleast_2d, atleast_3d, expand_dims, ravel
from tangrad.core import EVAL_TRACE, Array, Tracer, thread
from tangrad.core.caches import DirectCalls
from tangrad.errors import ArgumentError
from tangrad.extend.lax import concatenate_p, split_p, squeeze_p
from tangrad.typing import ArrayLike, DType, DTypeLike, Value


def _sequence(name: str, arrays: object) -> Sequence[Array]:
    """The arrays to join: a sequence of arrays, or one array whose first dimension is that sequence."""
    if isinstance(arrays, (tuple, list)):
        check_array_like(name, *arrays)
        return arrays
    if isinstance(arrays, (Array, np.ndarray)):
        if not arrays.ndim:
            raise TypeError(f"{name} requires a sequence of arrays, got an array without dimensions")
        return unstack(array_operand(name, arrays))
    if hasattr(arrays, "__len__") and hasattr(arrays, "__getitem__") and not isinstance(arrays, dict):
        return _sequence(name, [*cast(Iterable[object], arrays)])  # a sequence of a class of its own, as SCICO has them
    kind = type(arrays).__name__
    raise TypeError(f"{name} requires a tuple or list of arrays, got {arrays!r} of type {kind}")


def _common(name: str, arrays: Sequence[Array], dtype: DType | None) -> list[Any]:
    """The arrays with one dtype: that asked for, or the one in which they meet."""
    if not arrays:
        raise ValueError(f"{name} requires at least one array")
    if dtype is not None:
        return [converted(array_operand(name, x), dtype) for x in arrays]
    if len(arrays) == 1:
        return [array_operand(name, arrays[0])]
    return promote(name, *arrays)


def concatenate(arrays: ArrayLike | Sequence[ArrayLike], axis: int | None = 0, dtype: DTypeLike | None = None) -> Array:
    """Join arrays along a dimension that they have.

    Args:
        arrays: a sequence of arrays of one rank, equal in all other dimensions.
        axis: along which dimension; None: of the arrays with one dimension each.
        dtype: the dtype of the result; None: that in which the arrays meet.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array or sequence of arrays.
        ValueError: without arrays, for shapes that do not fit, an axis out of bounds, or arrays without dimensions.

    >>> import tangrad
    >>> tangrad.numpy.concatenate([tangrad.numpy.zeros(2), tangrad.numpy.ones(1)])
    Array([0., 0., 1.], dtype=float32)
    """
    if thread.trace is EVAL_TRACE and type(axis) is int and dtype is None and type(arrays) in _SEQUENCES:
        known: Any = arrays
        try:
            call = _joins[(axis, *[x.aval for x in known])]
        except (AttributeError, KeyError):
            pass  # no arrays, or types that were not met before
        else:
            return call(*known)
    parts = _sequence("concatenate", arrays)
    if axis is None:
        parts, axis = [ravel(x) for x in parts], 0
    made = _common("concatenate", parts, user_dtype("concatenate", dtype))
    ranks = {x.aval.ndim for x in made}
    if ranks == {0}:
        raise ValueError("concatenate: arrays without dimensions cannot be joined; use stack")
    if len(ranks) > 1:
        shapes = ", ".join([str(x.aval.shape) for x in made])
        raise ArgumentError(f"concatenate: arrays must have one number of dimensions, got shapes {shapes}")
    dimension = canonical_axis("concatenate", axis, made[0].aval.ndim)
    if len(made) == 1:
        return made[0]
    if all(map(is_, made, parts)) and type(axis) is int:
        return _joins.apply((axis, *[x.aval for x in made]), concatenate_p, tuple(made), {"dimension": dimension})
    return concatenate_p.bind(*made, dimension=dimension)


_SEQUENCES = (list, tuple)
_joins = DirectCalls()  # by the axis and the types of the arrays, where these are joined as they are


def concat(arrays: Sequence[ArrayLike], /, *, axis: int | None = 0) -> Array:
    """Join arrays along a dimension that they have.

    Args:
        arrays: a sequence of arrays of one rank, equal in all other dimensions.
        axis: along which dimension; None: of the arrays with one dimension each.

    Returns:
        An array of the dtype in which the arrays meet.

    Raises:
        TypeError: for what is no array or sequence of arrays.
        ValueError: without arrays, for shapes that do not fit, or an axis out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.concat([tangrad.numpy.zeros(2), tangrad.numpy.ones(1)])
    Array([0., 0., 1.], dtype=float32)
    """
    return concatenate(arrays, axis=axis)


@as_one("axis", "out", "dtype", sequence="arrays")
def stack(
    arrays: ArrayLike | Sequence[ArrayLike], axis: int = 0, out: None = None, dtype: DTypeLike | None = None
) -> Array:
    """Join arrays of one shape along a new dimension.

    Args:
        arrays: a sequence of arrays.
        axis: where the new dimension stands in the result.
        out: must be None.
        dtype: the dtype of the result; None: that in which the arrays meet.

    Returns:
        An array with one dimension more.

    Raises:
        TypeError: for what is no array or sequence of arrays.
        ValueError: without arrays, for shapes that differ, or an axis out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.stack([tangrad.numpy.zeros(2), tangrad.numpy.ones(2)])
    Array([[0., 0.],
           [1., 1.]], dtype=float32)
    """
    refuse_out("stack", out)
    if isinstance(arrays, Array) and arrays.ndim:
        whole = moveaxis(arrays, 0, canonical_axis("stack", axis, arrays.ndim))
        return whole if dtype is None else asarray(whole, dtype=dtype)
    made = _common("stack", _sequence("stack", arrays), user_dtype("stack", dtype))
    shapes = [x.aval.shape for x in made]
    if len(set(shapes)) > 1:
        raise ValueError(f"stack: arrays must have one shape, got {', '.join(map(str, shapes))}")
    rank = len(shapes[0]) + 1
    dimension = canonical_axis("stack", axis, rank)
    widened = [expand_dims(x, dimension) for x in made]
    return widened[0] if len(widened) == 1 else concatenate_p.bind(*widened, dimension=dimension)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Take an array apart along a dimension.

    Args:
        x: an array.
        axis: the dimension, which the parts lack.

    Returns:
        A tuple of arrays.

    Raises:
        TypeError: `x` is no array.
        ValueError: it has no dimensions, or the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.unstack(tangrad.numpy.arange(2))
    (Array(0, dtype=int32), Array(1, dtype=int32))
    """
    made = array_operand("unstack", x)
    if not made.aval.ndim:
        raise ValueError("unstack requires an array with dimensions")
    dimension = canonical_axis("unstack", axis, made.aval.ndim)
    size = made.aval.shape[dimension]
    if not size:
        return ()
    if not isinstance(made, Tracer) and not thread.trace.stages:
        return tuple(moveaxis(made, dimension, 0))
    parts = split_p.bind(made, sizes=(1,) * size, axis=dimension)
    return tuple([squeeze_p.bind(part, dimensions=(dimension,)) for part in parts])


# --- by the names of directions ---


@as_one("dtype", sequence="tup")
def vstack(tup: ArrayLike | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Join arrays along their first dimension; vectors count as rows.

    Args:
        tup: a sequence of arrays.
        dtype: the dtype of the result; None: that in which the arrays meet.

    Returns:
        An array of at least two dimensions.

    Raises:
        TypeError: for what is no array or sequence of arrays.
        ValueError: without arrays, or for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.vstack([tangrad.numpy.zeros(2), tangrad.numpy.ones(2)]).shape
    (2, 2)
    """
    return concatenate([atleast_2d(x) for x in _sequence("vstack", tup)], axis=0, dtype=dtype)


@as_one("dtype", sequence="tup")
def hstack(tup: ArrayLike | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Join arrays along their second dimension; vectors along their only one.

    Args:
        tup: a sequence of arrays.
        dtype: the dtype of the result; None: that in which the arrays meet.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array or sequence of arrays.
        ValueError: without arrays, or for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.hstack([tangrad.numpy.zeros(2), tangrad.numpy.ones(1)])
    Array([0., 0., 1.], dtype=float32)
    """
    parts = [atleast_1d(x) for x in _sequence("hstack", tup)]
    return concatenate(parts, axis=0 if parts and parts[0].ndim == 1 else 1, dtype=dtype)


@as_one("dtype", sequence="tup")
def dstack(tup: ArrayLike | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Join arrays along their third dimension.

    Args:
        tup: a sequence of arrays.
        dtype: the dtype of the result; None: that in which the arrays meet.

    Returns:
        An array of at least three dimensions.

    Raises:
        TypeError: for what is no array or sequence of arrays.
        ValueError: without arrays, or for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.dstack([tangrad.numpy.zeros(2), tangrad.numpy.ones(2)]).shape
    (1, 2, 2)
    """
    return concatenate([atleast_3d(x) for x in _sequence("dstack", tup)], axis=2, dtype=dtype)


@as_one(sequence="tup")
def column_stack(tup: ArrayLike | Sequence[ArrayLike]) -> Array:
    """Join vectors and matrices as columns.

    Args:
        tup: a sequence of arrays of one or two dimensions.

    Returns:
        An array of two dimensions.

    Raises:
        TypeError: for what is no array or sequence of arrays.
        ValueError: without arrays, or for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.column_stack([tangrad.numpy.zeros(3), tangrad.numpy.ones(3)]).shape
    (3, 2)
    """
    parts = [array_operand("column_stack", x) for x in _sequence("column_stack", tup)]
    return concatenate([x if x.ndim > 1 else expand_dims(atleast_1d(x), 1) for x in parts], axis=1)


@as_one("axis")
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Join an array and further values.

    Args:
        arr: an array or number.
        values: what comes after it.
        axis: along which dimension; None: of both with one dimension.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.append(tangrad.numpy.arange(2), 7)
    Array([0, 1, 7], dtype=int32)
    """
    check_array_like("append", arr, values)
    check_dtypes("append", arr, values)
    return concatenate([arr, values], axis=axis)


# --- blocks ---


def block(arrays: object) -> Array:
    """Assemble an array from nested lists of blocks.

    Args:
        arrays: lists of arrays, all nested alike: the innermost lists are joined along the last dimension, those around
            them along the one before, and so on.

    Returns:
        An array.

    Raises:
        TypeError: for tuples, and for what is no array.
        ValueError: for empty lists, lists nested unevenly, and shapes that do not fit.

    >>> import tangrad
    >>> x = tangrad.numpy.arange(2)
    >>> tangrad.numpy.block([[x, x], [x, x]])
    Array([[0, 1, 0, 1],
           [0, 1, 0, 1]], dtype=int32)
    """
    depth = _depth(arrays)
    leaves: list[Value] = []
    _gather_leaves(arrays, leaves)
    rank = max([depth, *[x.ndim for x in leaves]])
    return _assembled(arrays, depth, rank)


def _depth(value: object) -> int:
    if isinstance(value, tuple):
        raise TypeError("block takes nested lists, got a tuple")
    if not isinstance(value, list):
        return 0
    if not value:
        raise ValueError("block: lists must not be empty")
    depths = {_depth(item) for item in value}
    if len(depths) > 1:
        raise ValueError(f"block: lists must be nested evenly, found depths {sorted(depths)} beside each other")
    return depths.pop() + 1


def _gather_leaves(value: object, leaves: list[Value]) -> None:
    if isinstance(value, list):
        for item in value:
            _gather_leaves(item, leaves)
    else:
        leaves.append(array_operand("block", value))


def _assembled(value: object, depth: int, rank: int) -> Array:
    if not isinstance(value, list):
        made = array_operand("block", value)
        return broadcast_to_shape(made, (1,) * (rank - made.ndim) + made.shape) if made.ndim < rank else made
    return concatenate([_assembled(item, depth - 1, rank) for item in value], axis=rank - depth)
