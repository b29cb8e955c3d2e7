"""Whole steps and patterns of 0 and 1: `tangrad.numpy.arange`, `eye`, `tri`, …"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any, SupportsIndex

import numpy as np

from tangrad._numpy.conversion import placed
from tangrad._numpy.creation import fits_host
from tangrad._numpy.new_arrays import HOST_LIMIT, array_of
from tangrad._numpy.operands import (
    INT32,
    canonical_shape,
    check_array_like,
    convert,
    index_argument,
    shape_of,
    user_dtype,
)
from tangrad.core import EVAL_TRACE, Array, Primitive, Tracer, concrete_or_error, dtypes, literal, thread, transfers
from tangrad.core.arguments import is_symbolic, max_size
from tangrad.extend.lax import add_p, eq_p, ge_p, iota_p, mul_p, place_of, size_operand
from tangrad.typing import ArrayLike, DeviceLike, Dimensions, DType, DTypeLike, ShardingLike

# Of what transfer guards ask: ranges from 0 by 1 are counted on the device.
COPIES_FROM_HOST = {
    **dict.fromkeys(["eye", "identity", "tri"], True),
    "arange": lambda given: (
        given["stop"] is not None
        and transfers.is_from_host([given["start"], given["stop"], given["step"]])
        and not (type(given["start"]) is int and given["start"] == 0 and given["step"] in (None, 1))
    ),
}

_INTEGERS = (int, np.integer)
_LARGE = 1 << 30
_WIDE = frozenset([np.dtype("float32"), np.dtype("float64")])
_PYTHON_NUMBERS = frozenset({int, float, NoneType})


def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Make evenly spaced numbers within an interval, of a given step.

    Args:
        start: the first number; the end of the interval, if `stop` is not given, which then begins at 0.
        stop: the end, which is left out.
        step: the distance; default 1.
        dtype: the dtype; None: that in which the arguments meet.
        device: the device to put it on, or a sharding.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of one dimension.

    Raises:
        TypeError: for what is no number; ConcretizationTypeError for traced ones.
        ValueError: for arrays with dimensions, and a step of 0.

    >>> import tangrad
    >>> tangrad.numpy.arange(2, 8, 2)
    Array([2, 4, 6], dtype=int32)
    """
    if out_sharding is not None:
        device = place_of("arange", device, out_sharding)
    if dtype is None and device is None:
        given_kinds = type(start), type(stop), type(step)
        if _PYTHON_NUMBERS.issuperset(given_kinds) and start is not None:
            first, end = (0, start) if stop is None else (start, stop)
            kind = float if float in given_kinds else int
            return _range(first, end, 1 if step is None else step, dtypes.canonicalize_dtype(kind))
    if any([is_symbolic(value) for value in (start, stop, step)]):
        return _symbolic_range(start, stop, step, dtype)
    given = [value for value in (start, stop, step) if value is not None]
    kinds = {type(value) for value in given}
    if not kinds <= {int, float}:
        given = [_scalar(value, name) for value, name in zip((start, stop, step), ("start", "stop", "step"))]
        start, stop, step = given
        given = [value for value in given if value is not None]
    wanted = dtypes.result_type(*given) if dtype is None else user_dtype("arange", dtype)
    if stop is None:
        start, stop = 0, start
    return placed(_range(start, stop, 1 if step is None else step, wanted), device)


def _scalar(value: object, name: str) -> Any:
    if value is None:
        return None
    check_array_like("arange", value)
    if shape_of(value):
        raise ValueError(f"arange: {name} must be a number, got shape {shape_of(value)}")
    if isinstance(value, Tracer):
        value = concrete_or_error(value, f"the argument {name} of arange")
    return value.to_numpy()[()] if hasattr(value, "to_numpy") else value


_arange: Callable[..., np.ndarray] = np.arange  # whose stub has no dtype by position


def _range(start: Any, stop: Any, step: Any, dtype: np.dtype) -> Array:
    """Of integers an operation where programs are staged, lest they hold the numbers; else made by NumPy."""
    if step == 0:
        raise ValueError("arange: step must not be 0")
    plain = type(start) is type(stop) is type(step) is int
    integers = dtype.kind in "iu" and (plain or all([isinstance(value, _INTEGERS) for value in (start, stop, step)]))
    if not integers:
        if dtype in _WIDE and -_LARGE < start < _LARGE and -_LARGE < stop < _LARGE and abs(step) > 1 / _LARGE:
            return array_of(_arange(start, stop, step, dtype))  # nothing is reported
        with np.errstate(all="ignore"):
            made = np.arange(start, stop, step, dtype=dtype if dtype.kind in "iufc" else None).astype(dtype, copy=False)
        return array_of(made)
    size = len(range(int(start), int(stop), int(step)))
    if thread.trace is EVAL_TRACE and size <= HOST_LIMIT:
        end = start + size * step
        if plain and dtype is INT32 and -_LARGE < start < _LARGE and -_LARGE < end < _LARGE:
            return array_of(_arange(start, end, step, dtype))
        return array_of(np.arange(start, end, step).astype(dtype))
    numbers = iota_p.bind(dtype=dtype, shape=(size,), dimension=0)
    if step != 1:
        numbers = mul_p.bind(numbers, literal(int(step), dtype))
    return numbers if start == 0 else add_p.bind(numbers, literal(int(start), dtype))


def _symbolic_range(start: Any, stop: Any, step: Any, dtype: DTypeLike | None) -> Array:
    """Of symbolic dimensions and integers. As many as steps fit; none where the end is not beyond the start."""
    first, end = (0, start) if stop is None else (start, stop)
    by = 1 if step is None else step
    if not all([is_symbolic(value) or isinstance(value, _INTEGERS) for value in (first, end, by)]):
        raise ValueError(f"arange with symbolic dimensions takes integers, got start={first}, stop={end}, step={by}")
    if not is_symbolic(by) and by == 0:
        raise ValueError("arange: step must not be 0")
    wanted = dtypes.default_int_dtype() if dtype is None else user_dtype("arange", dtype)
    backwards = not is_symbolic(by) and by < 0
    size = max_size((first - end - by - 1) // -by if backwards else (end - first + by - 1) // by, 0)
    numbers = iota_p.bind(dtype=wanted, shape=(size,), dimension=0)
    if is_symbolic(by) or by != 1:
        numbers = mul_p.bind(numbers, size_operand(by, wanted))
    return add_p.bind(numbers, size_operand(first, wanted)) if is_symbolic(first) or first else numbers


# --- patterns ---


def iota(shape: Dimensions, dimension: int, dtype: DType = INT32) -> Array:
    """0, 1, 2, … along one dimension."""
    return iota_p.bind(dtype=dtype, shape=shape, dimension=dimension)


def diagonal_mask(rows: object, columns: object, offset: Any, primitive: Primitive) -> Array:
    """`primitive(row + offset, column)` for each element of a matrix. The offset is an integer, traced or not."""
    shape = (rows, columns)
    moved = literal(offset, INT32) if type(offset) is int else convert(offset, INT32)
    return primitive.bind(add_p.bind(iota(shape, 0), moved), iota(shape, 1))


def _diagonal(name: str, k: object) -> int | Tracer:
    """Which diagonal: an integer, or a traced one as it is."""
    if isinstance(k, Tracer) and k.concrete() is None and not k.ndim and dtypes.issubdtype(k.dtype, np.integer):
        return k
    return index_argument(name, k, "k")


def eye(
    N: SupportsIndex,
    M: SupportsIndex | None = None,
    k: ArrayLike = 0,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
) -> Array:
    """Make a matrix with ones on a diagonal and zeros elsewhere.

    Args:
        N: the number of rows.
        M: the number of columns; None: `N`.
        k: which diagonal: 0 the main one, positive above it, negative below. It may be traced.
        dtype: the dtype; None: the default float.
        device: the device to put it on, or a sharding.

    Returns:
        An array of shape (N, M).

    Raises:
        TypeError: a size or `k` is no integer.
        ValueError: a size is negative.

    >>> import tangrad
    >>> tangrad.numpy.eye(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    wanted = user_dtype("eye", float if dtype is None else dtype)
    (rows,) = canonical_shape("eye", N, "N")
    (columns,) = (rows,) if M is None else canonical_shape("eye", M, "M")
    offset = _diagonal("eye", k)
    if type(offset) is int and thread.trace is EVAL_TRACE and fits_host((rows, columns)):
        return placed(array_of(np.eye(rows, columns, offset, wanted)), device)
    return placed(convert(diagonal_mask(rows, columns, offset, eq_p), wanted), device)


def identity(n: SupportsIndex, dtype: DTypeLike | None = None) -> Array:
    """Make an identity matrix.

    Args:
        n: the number of rows and columns.
        dtype: the dtype; None: the default float.

    Returns:
        An array of shape (n, n).

    Raises:
        TypeError: `n` is no integer.
        ValueError: `n` is negative.

    >>> import tangrad
    >>> tangrad.numpy.identity(2, dtype=int)
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    return eye(n, dtype=dtype)


def tri(N: SupportsIndex, M: SupportsIndex | None = None, k: ArrayLike = 0, dtype: DTypeLike | None = None) -> Array:
    """Make a matrix with ones at and below a diagonal, zeros above it.

    Args:
        N: the number of rows.
        M: the number of columns; None: `N`.
        k: which diagonal: 0 the main one, positive above it, negative below. It may be traced.
        dtype: the dtype; None: the default float.

    Returns:
        An array of shape (N, M).

    Raises:
        TypeError: a size or `k` is no integer.
        ValueError: a size is negative.

    >>> import tangrad
    >>> tangrad.numpy.tri(2, 3)
    Array([[1., 0., 0.],
           [1., 1., 0.]], dtype=float32)
    """
    wanted = user_dtype("tri", float if dtype is None else dtype)
    (rows,) = canonical_shape("tri", N, "N")
    (columns,) = (rows,) if M is None else canonical_shape("tri", M, "M")
    return convert(diagonal_mask(rows, columns, _diagonal("tri", k), ge_p), wanted)
