"""New arrays of one value: `tangrad.numpy.zeros`, `full_like`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from tangrad._numpy.conversion import asarray, placed
from tangrad._numpy.new_arrays import HOST_LIMIT, adopt, type_of_array
from tangrad._numpy.operands import (
    TABLE_LIMIT,
    broadcast_to_shape,
    canonical_shape,
    is_array_like,
    not_array_like,
    operand,
    user_dtype,
)
from tangrad.core import EVAL_TRACE, Array, ShapedArray, as_array, dtypes, literal, put, thread, transfers
from tangrad.core.caches import register_cache
from tangrad.core.transformations import device_beside
from tangrad.extend.lax import (
    broadcast_in_dim_p,
    constrained,
    convert_element_type_p,
    float0_zeros,
    is_device,
    place_of,
    sharding_of,
)
from tangrad.typing import (
    ArrayLike,
    DeviceLike,
    Dimensions,
    DType,
    DTypeLike,
    HasShapeAndDType,
    Shape,
    ShardingLike,
    Value,
)


def filled(
    shape: Dimensions, number: object, dtype: DType, weak_type: bool = False, device: DeviceLike = None
) -> Array:
    """An array of one number."""
    if device is None and thread.trace is EVAL_TRACE:
        known = _on_host.get((shape, dtype, weak_type))
        if known is not None:
            return adopt(_contents(shape, number, dtype), known)
    if isinstance(dtype, dtypes.ExtendedDType):
        return placed(_of_words(shape, number, dtype), device)
    if dtype == dtypes.float0:
        return float0_zeros(shape)
    if device is not None and not is_device(device):
        return constrained(filled(shape, number, dtype, weak_type), device, as_given=True)
    if device is not None or (thread.trace is EVAL_TRACE and fits_host(shape)):
        aval = type_of_array(shape, dtype, weak_type)
        contents = _contents(shape, number, dtype)
        if device is not None:
            return put(contents, aval, device=device)
        if len(_on_host) >= TABLE_LIMIT:
            _on_host.clear()
        _on_host[shape, dtype, weak_type] = aval
        return adopt(contents, aval)
    return broadcast_in_dim_p.bind(literal(number, dtype, weak_type), shape=shape, broadcast_dimensions=())


def _of_words(shape: Dimensions, number: object, dtype: dtypes.ExtendedDType) -> Value:
    """Elements that NumPy does not know, such as random keys, each of whose words is the number."""
    physical = dtype.physical_aval(ShapedArray(shape, dtype))
    if type(number) is not int:
        raise TypeError(f"arrays of {dtype.name} are made of integers, got {number!r} of type {type(number).__name__}")
    return dtype.of_physical(as_array(filled(physical.shape, number, physical.dtype)))


# (shape, dtype, whether it is weak) -> the type of an array that is made on the host, if no device is given.
_on_host: dict[object, ShapedArray] = {}
register_cache(_on_host.clear)


def _contents(shape: tuple[int, ...], number: object, dtype: Any) -> np.ndarray:
    if type(number) is int and number == 0:
        return np.zeros(shape, dtype)
    if type(number) not in (int, float):
        return np.full(shape, number, dtype)
    contents = np.empty(shape, dtype)
    contents.fill(number)
    return contents


def fits_host(shape: Dimensions) -> bool:
    total = 1
    for size in shape:
        total = total * size
    return type(total) is int and total <= HOST_LIMIT


# --- one value ---


# What fills an array with numbers of its own.
COPIES_FROM_HOST = dict.fromkeys(["empty", "empty_like", "ones", "ones_like", "zeros", "zeros_like"], True) | {
    "full_like": lambda given: transfers.is_from_host(given["fill_value"])
}


def zeros(
    shape: Shape, dtype: DTypeLike | None = None, *, device: DeviceLike = None, out_sharding: ShardingLike = None
) -> Array:
    """Make an array of zeros.

    Args:
        shape: an integer or a sequence of integers.
        dtype: the dtype; None: the default float.
        device: the device to put it on, or a sharding.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of that shape and dtype.

    Raises:
        TypeError: `shape` holds other things than integers, or `dtype` is no dtype.
        ValueError: a size is negative.

    >>> import tangrad
    >>> tangrad.numpy.zeros((2, 3))
    Array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    if out_sharding is not None:
        device = place_of("zeros", device, out_sharding)
    wanted = user_dtype("zeros", float if dtype is None else dtype)
    sizes = canonical_shape("zeros", shape)
    return filled(sizes, 0, wanted, device=device)


def ones(
    shape: Shape, dtype: DTypeLike | None = None, *, device: DeviceLike = None, out_sharding: ShardingLike = None
) -> Array:
    """Make an array of ones.

    Args:
        shape: an integer or a sequence of integers.
        dtype: the dtype; None: the default float.
        device: the device to put it on, or a sharding.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of that shape and dtype.

    Raises:
        TypeError: `shape` holds other things than integers, or `dtype` is no dtype.
        ValueError: a size is negative.

    >>> import tangrad
    >>> tangrad.numpy.ones(3, dtype=int)
    Array([1, 1, 1], dtype=int32)
    """
    if out_sharding is not None:
        device = place_of("ones", device, out_sharding)
    wanted = user_dtype("ones", float if dtype is None else dtype)
    sizes = canonical_shape("ones", shape)
    return filled(sizes, 1, wanted, device=device)


def empty(
    shape: Shape, dtype: DTypeLike | None = None, *, device: DeviceLike = None, out_sharding: ShardingLike = None
) -> Array:
    """Make an array; its elements are zeros, since uninitialised memory has no place in pure functions.

    Args:
        shape: an integer or a sequence of integers.
        dtype: the dtype; None: the default float.
        device: the device to put it on, or a sharding.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of that shape and dtype.

    Raises:
        TypeError: `shape` holds other things than integers, or `dtype` is no dtype.
        ValueError: a size is negative.

    >>> import tangrad
    >>> tangrad.numpy.empty(2)
    Array([0., 0.], dtype=float32)
    """
    if out_sharding is not None:
        device = place_of("empty", device, out_sharding)
    wanted = user_dtype("empty", float if dtype is None else dtype)
    sizes = canonical_shape("empty", shape)
    return filled(sizes, 0, wanted, device=device)


def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Make an array filled with a value.

    Args:
        shape: an integer or a sequence of integers.
        fill_value: a number, or an array that broadcasts to `shape`.
        dtype: the dtype; None: that of `fill_value`.
        device: the device to put it on, or a sharding.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of that shape and dtype; weakly typed if `fill_value` is and no dtype is given.

    Raises:
        TypeError: `shape` holds other things than integers, `fill_value` is no array, or `dtype` is no dtype.
        ValueError: a size is negative, or `fill_value` does not fit.

    >>> import tangrad
    >>> tangrad.numpy.full((2, 2), 7.0)
    Array([[7., 7.],
           [7., 7.]], dtype=float32, weak_type=True)
    """
    sizes = canonical_shape("full", shape)
    wanted = user_dtype("full", dtype)
    return placed(_full("full", sizes, fill_value, wanted, None), place_of("full", device, out_sharding))


def _full(name: str, shape: Dimensions, value: object, dtype: DType | None, weak_type: bool | None) -> Value:
    """Filled with a number, or with an array that is broadcast; its own dtype and weak type where None is given."""
    kind = type(value)
    if kind in (int, float) and dtype is None and weak_type is None:
        return filled(shape, value, _checked_default(value), True)
    if isinstance(value, (list, tuple)):
        value = asarray(value)
    if not is_array_like(value):
        raise TypeError(not_array_like(name, value, 1))
    weak = (dtypes.is_weakly_typed(value) if dtype is None else False) if weak_type is None else weak_type
    wanted = dtypes.dtype_of(value) if dtype is None else dtype
    if type(value) in (int, float, complex, bool):
        if isinstance(wanted, dtypes.ExtendedDType):
            return filled(shape, value, wanted)
        if type(value) is int:
            dtypes.check_integer_fits(value, wanted)
        if wanted.kind in "fcVb" or type(value) in (int, bool):
            return filled(shape, value, wanted, weak)
    made = operand(name, value, 1)
    if made.aval.dtype != wanted or made.aval.weak_type is not weak:
        made = convert_element_type_p.bind(made, new_dtype=wanted, weak_type=weak)
    _check_fits(name, made.aval.shape, shape)
    return broadcast_to_shape(asarray(made), shape)


def _checked_default(value: object) -> np.dtype:
    """The dtype of an array that is made of a Python number. Raises OverflowError for an integer beyond it."""
    dtype = dtypes.canonicalize_dtype(type(value))
    if type(value) is int and not -(1 << 31) <= value < 1 << 31:
        dtypes.check_integer_fits(value, dtype)
    return dtype


def _check_fits(name: str, own: tuple[object, ...], shape: Dimensions) -> None:
    if len(own) > len(shape) or any(a not in (1, b) for a, b in zip(own[::-1], shape[::-1])):
        raise ValueError(f"{name}: a value of shape {own} does not broadcast to shape {shape}")


# --- like another array ---


def _like(
    name: str,
    value: ArrayLike | HasShapeAndDType,
    dtype: DTypeLike | None,
    shape: Sequence[SupportsIndex] | SupportsIndex | None,
) -> tuple[tuple[int, ...], np.dtype, bool]:
    """Shape, dtype and weak type of an array like `value`; anything with a shape and a dtype will do."""
    if shape is None and dtype is None and isinstance(value, Array):
        aval = value.aval
        return aval.shape, aval.dtype, aval.weak_type
    if not is_array_like(value) and not (hasattr(value, "shape") and hasattr(value, "dtype")):
        raise TypeError(not_array_like(name, value, 0))
    sizes = tuple(getattr(value, "shape", ())) if shape is None else canonical_shape(name, shape)
    wanted = user_dtype(name, dtype)
    if wanted is not None:
        return sizes, wanted, False
    return sizes, dtypes.dtype_of(value), dtypes.is_weakly_typed(value)


def _place_like(name: str, value: object, shape: object, device: DeviceLike, out_sharding: ShardingLike) -> Any:
    """The placement of an array like another one: the given one, or that of the other's type."""
    place = place_of(name, device, out_sharding)
    if place is None and shape is None:
        place = sharding_of(value)
    return device_beside(value) if place is None else place


def zeros_like(
    a: ArrayLike | HasShapeAndDType,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Make an array of zeros like another array.

    Args:
        a: an array or number, or anything with a shape and a dtype.
        dtype, shape: what is to differ from `a`.
        device: the device to put it on, or a sharding; by default that of `a`,
            if its type has a sharding or it is on several devices.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of the shape and dtype of `a`, but for `dtype` and `shape`.

    Raises:
        TypeError: `a` is no array, `dtype` no dtype.

    >>> import tangrad
    >>> tangrad.numpy.zeros_like(tangrad.numpy.arange(3))
    Array([0, 0, 0], dtype=int32)
    """
    sizes, wanted, weak = _like("zeros_like", a, dtype, shape)
    return filled(sizes, 0, wanted, weak, _place_like("zeros_like", a, shape, device, out_sharding))


def ones_like(
    a: ArrayLike | HasShapeAndDType,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Make an array of ones like another array.

    Args:
        a: an array or number, or anything with a shape and a dtype.
        dtype, shape: what is to differ from `a`.
        device: the device to put it on, or a sharding; by default that of `a`,
            if its type has a sharding or it is on several devices.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of the shape and dtype of `a`, but for `dtype` and `shape`.

    Raises:
        TypeError: `a` is no array, `dtype` no dtype.

    >>> import tangrad
    >>> tangrad.numpy.ones_like(tangrad.numpy.arange(3))
    Array([1, 1, 1], dtype=int32)
    """
    sizes, wanted, weak = _like("ones_like", a, dtype, shape)
    return filled(sizes, 1, wanted, weak, _place_like("ones_like", a, shape, device, out_sharding))


def empty_like(
    prototype: ArrayLike | HasShapeAndDType,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: DeviceLike = None,
) -> Array:
    """Make an array of zeros like another array; see `empty`.

    Args:
        prototype: an array or number, or anything with a shape and a dtype.
        dtype, shape: what is to differ from `prototype`.
        device: the device to put it on, or a sharding; by default the sharding in the type of `prototype`, if any.

    Returns:
        An array of the shape and dtype of `prototype`, but for `dtype` and `shape`.

    Raises:
        TypeError: `prototype` is no array, `dtype` no dtype.

    >>> import tangrad
    >>> tangrad.numpy.empty_like(tangrad.numpy.arange(3.0))
    Array([0., 0., 0.], dtype=float32)
    """
    sizes, wanted, weak = _like("empty_like", prototype, dtype, shape)
    return filled(sizes, 0, wanted, weak, _place_like("empty_like", prototype, shape, device, None))


def full_like(
    a: ArrayLike | HasShapeAndDType,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Make an array like another one, filled with a value.

    Args:
        a: an array or number, or anything with a shape and a dtype.
        fill_value: a number, or an array that broadcasts to the shape.
        dtype, shape: what is to differ from `a`.
        device: the device to put it on, or a sharding; by default that of `a`,
            if its type has a sharding or it is on several devices.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of the shape and dtype of `a`, but for `dtype` and `shape`.

    Raises:
        TypeError: `a` or `fill_value` is no array, `dtype` no dtype.
        ValueError: `fill_value` does not fit.

    >>> import tangrad
    >>> tangrad.numpy.full_like(tangrad.numpy.arange(3), 7)
    Array([7, 7, 7], dtype=int32)
    """
    sizes, wanted, weak = _like("full_like", a, dtype, shape)
    place = _place_like("full_like", a, shape, device, out_sharding)
    return placed(_full("full_like", sizes, fill_value, wanted, weak), place)
