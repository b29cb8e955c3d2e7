"""Sharded arrays made of their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad.core import Array, ShapedArray, Sharding, Tracer, as_array, dtypes, get_aval, put, transfers
from tangrad.core.backends import as_sharding, is_addressable
from tangrad.typing import DTypeLike, Value


def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Callable[[Any], Any], dtype: DTypeLike | None = None
) -> Array:
    """An array of which a function makes the parts: it is asked for those of this process alone, each once.

    Args:
        shape: the shape of the whole.
        sharding: the sharding of the array.
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
    for device, index in sharding.addressable_devices_indices_map(shape).items():
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
        transfers.copied(transfers.HOST_TO_DEVICE, aval, device)
        parts.append(put(contents, aval, device=device))
    return assembled("make_array_from_callback", shape, sharding, parts)


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Sequence[int] | None = None
) -> Array:
    """An array of what each process has of it: with one process, of the whole.

    Args:
        sharding: the sharding of the array.
        local_data: the part of this process, as a NumPy array: what its devices hold, side by side. Along a dimension
            that is not cut between processes each has the whole.
        global_shape: the shape of the whole; default: what follows if each process has parts of the same size. Where it
            is stated, `local_data` may have the whole along any dimension: this process's part is taken of it.

    Raises ValueError where the shapes do not fit, or the parts of this process are no block.

    >>> import tangrad
    >>> import numpy
    >>> sharding = tangrad.NamedSharding(tangrad.make_mesh((1,), ("x",)), tangrad.P("x"))
    >>> tangrad.make_array_from_process_local_data(sharding, numpy.arange(2))
    Array([0, 1], dtype=int32)
    """
    what = "make_array_from_process_local_data"
    sharding = as_sharding(sharding, what)
    contents = np.asarray(local_data)
    block = _Block(sharding, contents.ndim)
    shape = block.whole_shape(contents.shape) if global_shape is None else ShapedArray(global_shape, bool).shape
    part_shape = _part_shape(what, sharding, shape)
    starts = block.starts(contents.shape, shape)
    parts = []
    for device, coordinate in block.coordinates.items():
        index = tuple([
            slice((number - start) * size, (number - start + 1) * size)
            for number, start, size in zip(coordinate, starts, part_shape, strict=True)
        ])  # fmt: skip
        transfers.copied(transfers.HOST_TO_DEVICE, get_aval(contents[index]), device)
        parts.append(put(contents[index], device=device))
    return assembled(what, shape, sharding, parts)


class _Block:
    """The parts of arrays that the devices of this process hold.

    Attributes:
        coordinates: device of this process -> which part it holds: the number along each dimension.
    """

    def __init__(self, sharding: Sharding, ndim: int) -> None:
        places = zip(sharding.device_order, sharding.coordinates(ndim), strict=True)
        self.coordinates = {device: place for device, place in places if is_addressable(device)}
        self._sharding = sharding
        self._tiles = sharding.tiles(ndim)
        self._held = [sorted(set(numbers)) for numbers in zip(*self.coordinates.values(), strict=True)]
        for dimension, numbers in enumerate(self._held):
            if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
                raise ValueError(
                    f"make_array_from_process_local_data: along dimension {dimension} this process holds the parts "
                    f"{numbers} of {self._tiles[dimension]} by {sharding}, which are not adjacent; make the "
                    f"array of its parts: tangrad.make_array_from_callback"
                )

    def whole_shape(self, local_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the whole, where each process has as much of it as this one."""
        for dimension, (size, numbers) in enumerate(zip(local_shape, self._held, strict=True)):
            if size % len(numbers):
                raise ValueError(
                    f"make_array_from_process_local_data: dimension {dimension} of local_data, of size {size}, does "
                    f"not divide into the {len(numbers)} parts that its devices hold by {self._sharding}"
                )
        return tuple([
            size // len(numbers) * tiles
            for size, numbers, tiles in zip(local_shape, self._held, self._tiles, strict=True)
        ])  # fmt: skip

    def starts(self, local_shape: Sequence[int], shape: Sequence[int]) -> list[int]:
        """For each dimension the number of the part with which the data of this process begin."""
        found = []
        if len(local_shape) != len(shape):
            raise ValueError(
                f"make_array_from_process_local_data: local_data has the shape {tuple(local_shape)}, and global_shape "
                f"is {tuple(shape)}, of another rank"
            )
        for dimension, (size, whole) in enumerate(zip(local_shape, shape, strict=True)):
            numbers = self._held[dimension]
            own = whole // self._tiles[dimension] * len(numbers)
            if size not in (own, whole):
                raise ValueError(
                    f"make_array_from_process_local_data: of dimension {dimension}, of size {whole}, this process "
                    f"holds {own} by {self._sharding}, got local_data of shape {tuple(local_shape)}"
                )
            found.append(numbers[0] if size == own else 0)
        return found


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: DTypeLike | None = None
) -> Array:
    """An array of its parts, which are on the devices already; nothing is copied.

    Args:
        shape: the shape of the whole.
        sharding: the sharding of the array.
        arrays: the parts, each on one device of the sharding, in any order: those of this process.
        dtype: that of the parts, if said.

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
        if dtype is not None and array.dtype != dtypes.canonicalize_dtype(dtype):
            raise ValueError(
                f"make_array_from_single_device_arrays: dtype is {dtypes.canonicalize_dtype(dtype)}, and a part has "
                f"{array.dtype}"
            )
        by_device[array.device] = array
    wanted = [device for device in sharding.device_order if is_addressable(device)]
    missing = [device for device in wanted if device not in by_device]
    if missing or len(arrays) != len(wanted):
        raise ValueError(
            f"make_array_from_single_device_arrays: {sharding} needs one array on each of its {len(wanted)} "
            f"devices, got {len(arrays)}; missing: {missing}"
        )
    parts = [by_device[device] for device in wanted]
    return assembled("make_array_from_single_device_arrays", shape, sharding, parts)


def _part_shape(function: str, sharding: Sharding, shape: Sequence[int]) -> tuple[int, ...]:
    sharding.check_shape(shape, f"{function}: an array")
    return sharding.shard_shape(shape)


def assembled(function: str, shape: tuple[int, ...], sharding: Sharding, parts: Sequence[Value]) -> Array:
    """An array of its parts, checked for the public function of that name. Raises ValueError where they do not fit."""
    expected = _part_shape(function, sharding, shape)
    first = parts[0].aval
    devices = [device for device in sharding.device_order if is_addressable(device)]
    for device, part in zip(devices, parts, strict=True):
        if part.shape != expected or part.dtype != first.dtype:
            raise ValueError(
                f"{function}: each part of an array of shape {shape} must be of shape {expected} and dtype "
                f"{first.dtype}, got {part.aval.str_short()} for {device!r}"
            )
    backend = sharding.device_order[0].backend
    return as_array(backend.assemble(first.update(shape=shape), sharding, parts))
