"""Sharded arrays made of their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad.core import Array, ShapedArray, Sharding, Tracer, as_array, as_sharding, dtypes, get_aval, put


def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Callable[[Any], Any], *, dtype: Any = None
) -> Any:
    """An array of which a function makes the parts: it is asked for those of this process alone, each once.

    Args:
        shape: the shape of the whole.
        sharding: how it is to lie on devices.
        data_callback: from a tuple of slices, one for each dimension, to that part of the array, as a NumPy array or
            anything that becomes one.
        dtype: of the array; default: that of the first part.

    Raises:
        ValueError: for a shape that the sharding cannot cut, a part of another shape, parts of different dtypes.
        TypeError: for what is no sharding.

    >>> import tangrad
    >>> import numpy
    >>> sharding = tangrad.NamedSharding(tangrad.make_mesh((1,), ("x",)), tangrad.P("x"))
    >>> tangrad.make_array_from_callback((4,), sharding, lambda index: numpy.arange(4.0)[index])
    Array([0., 1., 2., 3.], dtype=float32)
    """
    sharding = as_sharding(sharding, "make_array_from_callback")
    shape = ShapedArray(shape, bool).shape
    part_shape = _part_shape("make_array_from_callback", sharding, shape)
    made: dict[str, Any] = {}
    parts = []
    for device, index in zip(sharding.device_order, sharding.indices(shape), strict=True):
        key = str(index)
        if key not in made:
            found = data_callback(index)
            contents = found.to_numpy() if isinstance(found, Array) else np.asarray(found)
            if contents.shape != part_shape:
                raise ValueError(
                    f"make_array_from_callback: the part {index} of an array of shape {shape} has the shape "
                    f"{part_shape}, but data_callback returned one of shape {contents.shape}"
                )
            aval = (
                get_aval(contents) if dtype is None else ShapedArray(contents.shape, dtypes.canonicalize_dtype(dtype))
            )
            made[key] = contents, aval
        contents, aval = made[key]
        parts.append(put(contents, aval, device=device))
    return _assembled("make_array_from_callback", shape, sharding, parts)


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Sequence[int] | None = None
) -> Any:
    """An array of what each process has of it: with one process, of the whole.

    Args:
        sharding: how it is to lie on devices.
        local_data: the part of this process, as a NumPy array.
        global_shape: the shape of the whole; default: that of `local_data`.

    Raises ValueError where the shapes do not fit.

    >>> import tangrad
    >>> import numpy
    >>> sharding = tangrad.NamedSharding(tangrad.make_mesh((1,), ("x",)), tangrad.P("x"))
    >>> tangrad.make_array_from_process_local_data(sharding, numpy.arange(2))
    Array([0, 1], dtype=int32)
    """
    sharding = as_sharding(sharding, "make_array_from_process_local_data")
    contents = np.asarray(local_data)
    if global_shape is not None and tuple(global_shape) != contents.shape:
        raise ValueError(
            f"make_array_from_process_local_data: one process has the whole array, of shape {tuple(global_shape)}, got "
            f"local_data of shape {contents.shape}"
        )
    _part_shape("make_array_from_process_local_data", sharding, contents.shape)
    return sharding.device_order[0].backend.put(contents, get_aval(contents), sharding)


def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Any, arrays: Sequence[Any]) -> Any:
    """An array of its parts, which lie on the devices already; nothing is copied.

    Args:
        shape: the shape of the whole.
        sharding: how it lies on devices.
        arrays: the parts, each on one device of the sharding, in any order.

    Raises:
        ValueError: for a missing part, one on another device, one of another shape or dtype.
        TypeError: for what is no array, or no sharding.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> sharding = tangrad.NamedSharding(tangrad.make_mesh((1,), ("x",)), tangrad.P("x"))
    >>> tangrad.make_array_from_single_device_arrays((2,), sharding, [np.ones(2)])
    Array([1., 1.], dtype=float32)
    """
    sharding = as_sharding(sharding, "make_array_from_single_device_arrays")
    shape = ShapedArray(shape, bool).shape
    by_device: dict[Any, Any] = {}
    for array in arrays:
        if not isinstance(array, Array) or isinstance(array, Tracer):
            raise TypeError(f"make_array_from_single_device_arrays takes arrays, got {array!r}")
        by_device[array.device] = array
    missing = [device for device in sharding.device_order if device not in by_device]
    if missing or len(arrays) != sharding.num_devices:
        raise ValueError(
            f"make_array_from_single_device_arrays: {sharding} needs one array on each of its {sharding.num_devices} "
            f"devices, got {len(arrays)}; missing: {missing}"
        )
    parts = [by_device[device] for device in sharding.device_order]
    return _assembled("make_array_from_single_device_arrays", shape, sharding, parts)


def _part_shape(function: str, sharding: Sharding, shape: Sequence[int]) -> tuple[int, ...]:
    sharding.check_shape(shape, f"{function}: an array")
    return sharding.shard_shape(shape)


def _assembled(function: str, shape: tuple[int, ...], sharding: Sharding, parts: Sequence[Any]) -> Any:
    expected = _part_shape(function, sharding, shape)
    first = parts[0].aval
    for device, part in zip(sharding.device_order, parts, strict=True):
        if part.shape != expected or part.dtype != first.dtype:
            raise ValueError(
                f"{function}: each part of an array of shape {shape} must be of shape {expected} and dtype "
                f"{first.dtype}, got {part.aval.str_short()} for {device!r}"
            )
    backend = sharding.device_order[0].backend
    return as_array(backend.assemble(first.update(shape=shape), sharding, parts))
