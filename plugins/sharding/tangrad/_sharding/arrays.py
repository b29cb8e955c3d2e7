"""How arrays are sharded: properties and methods of every array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._sharding.context import get_abstract_mesh
from tangrad._sharding.named import NamedSharding, PartitionSpec
from tangrad._sharding.unnamed import SingleDeviceSharding
from tangrad.core import Array, ShapedArray, Sharding, Tracer, class_boundary
from tangrad.core.backends import is_addressable
from tangrad.errors import ConcretizationTypeError

if TYPE_CHECKING:
    pass


@class_boundary
class Shard:
    """The part of an array on one device.

    Attributes:
        device: the device.
        index: which part of the array it is: a slice for each dimension.
        replica_id: its number among the devices that hold the same part, from 0.
        data: the part, as an array on the device; None on a device of another process.
    """

    __slots__ = ("data", "device", "index", "replica_id")

    def __init__(self, device: Any, index: tuple[slice, ...], replica_id: int, data: Any) -> None:
        self.device = device
        self.index = index
        self.replica_id = replica_id
        self.data = data

    def __repr__(self) -> str:
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, data={self.data!r})"


class NoPlaceError(ConcretizationTypeError, AttributeError):
    """The sharding of a traced array is asked for. Programs that may hold one write `getattr(x, "sharding", None)`."""


def _sharding(array: Any) -> Sharding:
    """The sharding of the array. Of a type: along the explicit axes of its mesh.

    Raises an error that is a ConcretizationTypeError and an AttributeError for a traced array whose type has none:
    that has no place yet.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> np.ones(3).sharding.num_devices
    1
    """
    if isinstance(array, ShapedArray):
        return NamedSharding(get_abstract_mesh(), PartitionSpec(*[None] * len(array.shape)))
    if isinstance(array, Tracer):
        if array.aval.infer_types is None:
            raise NoPlaceError(array, "asking for its sharding")
        return array.aval.sharding
    found = array.stated_sharding if array.user_sharding is None else array.user_sharding
    if found is None and array.aval.infer_types is not None:  # a mesh of one device
        return array.aval.placed
    return SingleDeviceSharding(array.device) if found is None else found


def _addressable_shards(array: Any) -> list[Shard]:
    """The parts of the array on the devices of this process, in the order of the sharding's devices."""
    return [shard for shard in _global_shards(array) if is_addressable(shard.device)]


def _global_shards(array: Array) -> list[Shard]:
    """The parts of the array on all devices, without data on those of other processes."""
    sharding = _sharding(array)
    seen: dict[str, int] = {}
    shards = []
    parts = iter(type(array).backend.parts(array))
    for device, index in zip(sharding.device_order, sharding.indices(array.shape), strict=True):
        replica = seen.get(str(index), 0)
        seen[str(index)] = replica + 1
        shards.append(Shard(device, index, replica, next(parts) if is_addressable(device) else None))
    return shards


def addressable_data(array: Array, index: int) -> Array:
    """The part of the array on the `index`-th device of this process, as an array on that device."""
    return _addressable_shards(array)[index].data


sharding = property(_sharding)
addressable_shards = property(_addressable_shards)
global_shards = property(_global_shards)


def _device_buffers(array: object) -> list[object]:
    """The parts of the array on the devices of this process, as arrays of one device each."""
    return [shard.data for shard in _addressable_shards(array)]


def _device_buffer(array: object) -> object:
    """The contents of an array of one device, as an array. Raises ValueError for one on several."""
    buffers = _device_buffers(array)
    if len(buffers) != 1:
        raise ValueError(f"the array is on {len(buffers)} devices of this process; use x.device_buffers")
    return buffers[0]


device_buffer = property(_device_buffer)
device_buffers = property(_device_buffers)
