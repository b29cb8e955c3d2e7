"""Meshes of the devices that there are, and sharded arrays made of their parts."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from tangrad import tree
from tangrad._sharding.mesh import AxisType, Mesh
from tangrad._sharding.named import NamedSharding, PartitionSpec, axes_of
from tangrad._sharding.unnamed import SingleDeviceSharding
from tangrad.core import (
    Array,
    Device,
    ShapedArray,
    Sharding,
    Tracer,
    as_array,
    dtypes,
    get_aval,
    get_backend,
    is_array_value,
    put,
    transfers,
)
from tangrad.core.backends import as_sharding, is_addressable
from tangrad.core.settings import define_choice
from tangrad.errors import ArgumentError
from tangrad.typing import ArrayLike, DTypeLike, PyTree, ShardingLike, Value

_TYPES = {axis_type.name.lower(): axis_type for axis_type in (AxisType.Explicit, AxisType.Auto)}
mesh_axis_types = define_choice(
    "mesh_axis_types",
    "explicit",
    tuple(_TYPES),
    "The type of the axes of meshes that `make_mesh` makes without `axis_types`.",
    changes_results=False,
)


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[object],
    axis_types: object = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh with axes of these sizes, over the first devices that there are.

    Args:
        axis_shapes: the sizes of the axes.
        axis_names: their names.
        axis_types: see `Mesh`; default: that of the setting `mesh_axis_types`, all Explicit unless it is set.
        devices: the devices to take, in order; default: those of the backend in use.

    Raises ValueError where there are too few devices, or other numbers of sizes and names.

    >>> import tangrad
    >>> tangrad.make_mesh((1, 1), ("data", "model")).shape["data"]
    1
    """
    sizes = _sizes(axis_shapes, "make_mesh: axis_shapes")
    names = tuple(axis_names) if isinstance(axis_names, (tuple, list)) else (axis_names,)
    if len(sizes) != len(names):
        raise ValueError(f"make_mesh: axis_shapes {sizes} and axis_names {names} must be of the same length")
    if any([size < 1 for size in sizes]):
        raise ValueError(f"make_mesh: the axes of a mesh must have positive sizes, got {sizes}")
    found = list(get_backend().devices() if devices is None else devices)
    count = math.prod(sizes)
    if count > len(found):
        raise ValueError(
            f"make_mesh: a mesh of shape {sizes} needs {count} devices, and there are {len(found)}: {found}"
        )
    types = (_TYPES[mesh_axis_types.value],) * len(names) if axis_types is None else axis_types
    return Mesh(_grid(found[:count], sizes), names, types)


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """An array of devices to make a `Mesh` of, in which devices that follow one another are neighbours along the last
    axis.

    Args:
        mesh_shape: the sizes of the axes, by increasing traffic along them.
        devices: all devices of the mesh; default: those of the backend in use.
        contiguous_submeshes, allow_split_physical_axes: for devices that are wired as a grid; on processors and GPUs
            nothing depends on them.

    Returns:
        a NumPy array of devices, of shape `mesh_shape`.

    Raises ValueError unless there are as many devices as places, TypeError for sizes that are no integers.

    >>> import tangrad
    >>> from tangrad.experimental.mesh_utils import create_device_mesh
    >>> create_device_mesh((1, 1), tangrad.devices()[:1]).shape
    (1, 1)
    """
    sizes = _sizes(mesh_shape, "create_device_mesh: mesh_shape")
    found = list(get_backend().devices() if devices is None else devices)
    if any([size < 1 for size in sizes]) or math.prod(sizes) != len(found):
        raise ValueError(
            f"create_device_mesh: a mesh of shape {sizes} has {math.prod(sizes)} places, and there are {len(found)} "
            f"devices; name those to use: devices=..."
        )
    return _grid(found, sizes)


def _sizes(given: Sequence[int], what: str) -> tuple[int, ...]:
    try:
        return tuple([operator.index(size) for size in given])
    except TypeError:
        raise TypeError(f"{what} must be a sequence of integers, got {given!r}") from None


def _grid(devices: Sequence[Device], sizes: tuple[int, ...]) -> np.ndarray:
    grid = np.empty(len(devices), object)
    grid[:] = devices
    return grid.reshape(sizes)


# --- Sharded arrays made of their parts, with one row on each device, or of what one process has of them ---


def make_array_from_callback(
    shape: Sequence[int], sharding: Sharding, data_callback: Callable[..., object], dtype: DTypeLike | None = None
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
    made: dict[str, tuple[np.ndarray, ShapedArray]] = {}
    parts = []
    for device, index in sharding.addressable_devices_indices_map(shape).items():
        key = str(index)
        if key not in made:
            found = data_callback(index)
            contents = found.to_numpy() if isinstance(found, Array) else np.asarray(found)
            given = found if isinstance(found, Array) else contents  # the contents of keys are their words
            if given.shape != part_shape:
                raise ValueError(
                    f"make_array_from_callback: the part {index} of an array of shape {shape} has the shape "
                    f"{part_shape}, but data_callback returned one of shape {given.shape}"
                )
            aval = ShapedArray(
                given.shape, get_aval(given).dtype if dtype is None else dtypes.canonicalize_dtype(dtype)
            )
            made[key] = contents, aval
        contents, aval = made[key]
        transfers.copied(transfers.HOST_TO_DEVICE, aval, device)
        parts.append(put(contents, aval, device=device))
    return assembled("make_array_from_callback", shape, sharding, parts)


@overload
def make_array_from_process_local_data(
    sharding: ShardingLike, local_data: ArrayLike, global_shape: Sequence[int] | None = None
) -> Array: ...
@overload
def make_array_from_process_local_data(sharding: PyTree, local_data: PyTree, global_shape: PyTree = None) -> PyTree: ...
def make_array_from_process_local_data(
    sharding: ShardingLike | PyTree, local_data: PyTree, global_shape: Sequence[int] | PyTree = None
) -> PyTree:
    """Arrays of what each process has of them: with one process, of the whole.

    Args:
        sharding: the sharding of the array: a sharding, a partition spec of the mesh in use, or a device.
        local_data: the part of this process, as a NumPy array: what its devices hold, side by side. Along a dimension
            that is not cut between processes each has the whole. Or a tree of arrays, of which the other arguments may
            be prefixes.
        global_shape: the shape of the whole; default: what follows if each process has parts of the same size. Where it
            is stated, `local_data` may have the whole along any dimension: this process's part is taken of it.

    Returns:
        arrays of those shapes, in the structure of `local_data`.

    Raises ValueError where shapes or structures do not fit, or the parts of this process are no block.

    >>> import tangrad
    >>> import numpy
    >>> sharding = tangrad.NamedSharding(tangrad.make_mesh((1,), ("x",)), tangrad.P("x"))
    >>> tangrad.make_array_from_process_local_data(sharding, numpy.arange(2))
    Array([0, 1], dtype=int32)
    """
    shardings = tree.broadcast(sharding, local_data, is_leaf=lambda x: not isinstance(x, (dict, list, tuple)))
    shapes = tree.broadcast(global_shape, local_data, is_leaf=_is_shape)
    return tree.map(_from_process, local_data, shardings, shapes, is_leaf=lambda x: x is None)


def _is_shape(value: object) -> bool:
    """Whether it is a leaf of a tree of shapes: None, or a sequence of sizes."""
    nodes = (tuple, list, dict)
    return value is None or (isinstance(value, (tuple, list)) and not any([isinstance(one, nodes) for one in value]))


def _from_process(local_data: ArrayLike, target: ShardingLike, global_shape: Sequence[int] | None) -> Array:
    what = "make_array_from_process_local_data"
    sharding: Sharding = SingleDeviceSharding(target) if isinstance(target, Device) else as_sharding(target, what)
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
    shape: Sequence[int], sharding: Sharding, arrays: Sequence[object], *, dtype: DTypeLike | None = None
) -> Array:
    """An array of its parts, which are on the devices already; nothing is copied.

    Args:
        shape: the shape of the whole.
        sharding: the sharding of the array.
        arrays: the parts, each on one device of the sharding, in any order: those of this process.
        dtype: that of the parts, if given.

    Raises:
        ValueError: for a missing part, one on another device, one of another shape or dtype.
        ArgumentError: for what is no array, a traced one too. TypeError: for what is no sharding.

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
            raise ArgumentError(f"make_array_from_single_device_arrays takes arrays, got {array!r}")
        if dtype is not None and array.dtype != dtypes.canonicalize_dtype(dtype):
            raise ValueError(
                f"make_array_from_single_device_arrays: dtype is {dtypes.canonicalize_dtype(dtype)}, and a part has "
                f"{array.dtype}"
            )
        if len(array.devices()) != 1:
            raise ValueError(
                f"make_array_from_single_device_arrays: each array is on one device, got one on "
                f"{len(array.devices())}: {array.aval.str_short()}"
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


@overload
def device_put_sharded(shards: Sequence[ArrayLike], devices: Sequence[Device]) -> Array: ...
@overload
def device_put_sharded(shards: Sequence[PyTree], devices: Sequence[Device]) -> PyTree: ...
@transfers.copies_explicitly
def device_put_sharded(shards: Sequence[object], devices: Sequence[Device]) -> PyTree:
    """Stack trees of arrays along a new first axis, each on a device of its own.

    Args:
        shards: a tree for each device; arrays and numbers in the same place have one shape and dtype.
        devices: the devices, in the order of the stack.

    Returns:
        a tree of arrays with `len(devices)` as their first size, cut along it.

    Raises:
        TypeError: for what is no sequence, no array, a traced one, or no device.
        ValueError: for no shards, for another number of devices, or a device twice, and for trees and arrays that
            differ.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.device_put_sharded([np.arange(2)], tangrad.devices()[:1])
    Array([[0, 1]], dtype=int32)
    """
    what = "device_put_sharded"
    if not isinstance(shards, Sequence) or isinstance(shards, str):
        raise TypeError(f"{what} takes a sequence of shards, got {shards!r} of type {type(shards).__name__}")
    rows = _rows_on(what, devices)
    if len(shards) != len(devices):
        raise ValueError(f"{what} takes a shard for each device, got {len(shards)} shards and {len(devices)} devices")
    columns, structure = [], tree.structure(shards[0])
    for number, shard in enumerate(shards):
        leaves, own = tree.flatten(shard)
        if own != structure:
            raise ValueError(f"{what}: shard 0 is a tree {structure}, and shard {number} a tree {own}")
        columns.append(leaves)
    stacked = [_stacked(what, leaves, rows) for leaves in zip(*columns, strict=True)]
    return structure.unflatten(stacked)


@overload
def device_put_replicated(x: ArrayLike, devices: Sequence[Device]) -> Array: ...
@overload
def device_put_replicated(x: PyTree, devices: Sequence[Device]) -> PyTree: ...
@transfers.copies_explicitly
def device_put_replicated(x: PyTree, devices: Sequence[Device]) -> PyTree:
    """Copy a tree of arrays to each of several devices, as rows of arrays with a new first axis.

    Args:
        x: a tree of arrays and numbers.
        devices: the devices, in the order of the rows.

    Returns:
        a tree of arrays with `len(devices)` as their first size, cut along it.

    Raises:
        TypeError: for what is no array, or a traced one, or no device.
        ValueError: for no devices, or a device twice.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.device_put_replicated({"w": np.arange(2)}, tangrad.devices()[:1])
    {'w': Array([[0, 1]], dtype=int32)}
    """
    rows = _rows_on("device_put_replicated", devices)
    return tree.map(lambda leaf: _stacked("device_put_replicated", [leaf] * len(devices), rows), x)


def _rows_on(what: str, devices: Sequence[Device]) -> NamedSharding:
    if not isinstance(devices, Sequence) or not all([isinstance(device, Device) for device in devices]):
        raise TypeError(f"{what} takes a sequence of devices (tangrad.devices()), got {devices!r}")
    if not devices:
        raise ValueError(f"{what} takes at least one device, got none")
    return NamedSharding(Mesh(tuple(devices), ("rows",)), PartitionSpec("rows"))


def _stacked(what: str, leaves: Sequence[object], rows: NamedSharding) -> Value:
    avals = []
    for leaf in leaves:
        if not is_array_value(leaf):
            raise TypeError(f"{what} takes arrays and numbers, got {leaf!r} of type {type(leaf).__name__}")
        if isinstance(leaf, Tracer):
            raise TypeError(f"{what} takes arrays, got a traced one: call it outside of the transformation")
        avals.append(get_aval(leaf).strip_weak_type())
    for number, aval in enumerate(avals):
        if aval != avals[0]:
            raise ValueError(f"{what}: shard 0 is {avals[0].str_short()}, and shard {number} {aval.str_short()}")
    row = avals[0].update(shape=(1, *avals[0].shape))
    parts = []
    for device, leaf in zip(rows.device_order, leaves, strict=True):
        if is_addressable(device):
            direction = transfers.DEVICE_TO_DEVICE if isinstance(leaf, Array) else transfers.HOST_TO_DEVICE
            transfers.copied(direction, avals[0], device, explicit=True)
            contents = leaf.to_numpy() if isinstance(leaf, Array) else np.asarray(leaf)
            parts.append(put(contents[None], row, device=device))
    return assembled(what, (len(leaves), *avals[0].shape), rows, parts)


def global_array(value: object, mesh: Mesh, spec: PartitionSpec) -> Array:
    """The array over a mesh of which each process has `value`; parts that are on its devices already are not copied.

    Args:
        value: an array that this process can read, or a NumPy array: what the devices of this process hold, side by
            side.

    Raises ValueError for a shape that its devices cannot share.
    """
    sharding = NamedSharding(mesh, spec)
    if not isinstance(value, Array):
        return make_array_from_process_local_data(sharding, value)
    user_sharding = getattr(value, "user_sharding", None)
    if user_sharding is None or not user_sharding.is_equivalent_to(NamedSharding(mesh.local_mesh, spec), value.ndim):
        return make_array_from_process_local_data(sharding, value.to_numpy())
    parts = type(value).backend.parts(value)
    return make_array_from_single_device_arrays(_scaled(value.shape, spec, mesh.local_mesh, mesh), sharding, parts)


def local_array(array: Array, mesh: Mesh, spec: PartitionSpec) -> Array:
    """This process's part of an array that is sharded over a mesh, as an array over its part of the mesh."""
    here = mesh.local_mesh
    if here == mesh and getattr(array, "user_sharding", None) == NamedSharding(mesh, spec):
        return array
    parts = type(array).backend.parts(array)
    shape = _scaled(array.shape, spec, mesh, here)
    return make_array_from_single_device_arrays(shape, NamedSharding(here, spec), parts)


def _scaled(shape: tuple[int, ...], spec: PartitionSpec, source: Mesh, target: Mesh) -> tuple[int, ...]:
    """The shape of arrays over another mesh, whose devices hold parts of the same shape."""
    found = list(shape)
    for dimension, entry in enumerate(spec):
        counts = [math.prod([mesh.shape[axis] for axis in axes_of(entry)]) for mesh in (source, target)]
        found[dimension] = found[dimension] // counts[0] * counts[1]
    return tuple(found)
