"""Arrays over several devices: where shardings put them, how they are made of parts, and moved."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad.backends.xla import jaxlib_api
from tangrad.backends.xla.array import Placement, XlaArray, physical_aval
from tangrad.backends.xla.clients import XlaDevice
from tangrad.core import Sharding

PLACEMENT_LIMIT = 4096

_placements: dict[Sharding, Placement] = {}
_lock = threading.Lock()


def placement_of(sharding: Sharding) -> Placement:
    """The placement of arrays that lie as a sharding says: one object for each, as placements compare by identity.

    One device is a device, however it is said. Raises ValueError for devices of other backends or several platforms.
    """
    found = _placements.get(sharding)
    if found is None:
        with _lock:
            if len(_placements) >= PLACEMENT_LIMIT:
                _placements.clear()
            found = _placements.setdefault(sharding, _make(sharding))
    return found


def _make(sharding: Sharding) -> Placement:
    devices = sharding.device_order
    for device in devices:
        if type(device) is not XlaDevice or device.client is not devices[0].client:  # type: ignore[attr-defined]
            raise ValueError(f"{sharding} must be of devices of the XLA backend on one platform, got {device!r}")
    if sharding.memory_kind is not None:
        raise ValueError(f"the XLA backend keeps arrays in the usual memory of devices, got {sharding}")
    if len(devices) == 1:
        return devices[0].committed  # type: ignore[attr-defined, no-any-return]
    # Buffers lie in the order of the devices' numbers, so that programs can take arrays over any arrangement of them.
    ordered = in_order(devices)
    raw = [device.raw for device in ordered]
    over = jaxlib_api.OverDevices(
        raw, lambda ndim: _hlo_sharding(sharding, ordered, ndim), sharding.is_fully_replicated
    )
    return Placement(ordered, over, True, sharding)


def in_order(devices: Sequence[Any]) -> tuple[Any, ...]:
    """Devices by their numbers."""
    return tuple(sorted(devices, key=lambda device: device.id))


def _hlo_sharding(sharding: Sharding, ordered: Sequence[Any], ndim: int) -> Any:
    """jaxlib's object for a sharding of arrays of `ndim` dimensions."""
    part = dict(zip(sharding.device_order, sharding.coordinates(ndim), strict=True))
    order = sorted(range(len(ordered)), key=lambda number: (part[ordered[number]], number))
    return jaxlib_api.tiled_sharding(sharding.tiles(ndim), order)


def put(contents: np.ndarray[Any, Any], aval: Any, placement: Placement) -> XlaArray:
    """An array over several devices with the contents of a NumPy array, which are copied, each part once."""
    sharding: Sharding = placement.spread
    sharding.check_shape(aval.shape)
    made: dict[str, Any] = {}
    parts = []
    for index in indices_of(placement, aval.shape):
        key = str(index)
        if key not in made:
            made[key] = np.array(contents[index], order="C")
        parts.append(made[key])
    return XlaArray(aval, jaxlib_api.put_shards(parts, physical_aval(aval), placement.sharding), placement)


def move(array: XlaArray, placement: Placement) -> XlaArray:
    """An array at another placement over several devices. Parts that some device has already are copied from there."""
    array._check_not_deleted()
    sharding: Sharding = placement.spread
    source = array.placement
    if source.devices[0].client is not placement.devices[0].client:
        return put(array._contents(), array.aval, placement)
    shape = array.aval.shape
    sharding.check_shape(shape)
    wanted = [_bounds(index, shape) for index in indices_of(placement, shape)]
    held: dict[Any, Any] = {}
    for device, index, part in zip(source.devices, indices_of(source, shape), raw_parts(array), strict=True):
        held.setdefault(_bounds(index, shape), {})[device] = part
    if not all([bounds in held for bounds in wanted]):
        return put(array._contents(), array.aval, placement)
    buffers = []
    for device, bounds in zip(placement.devices, wanted, strict=True):
        there = held[bounds]
        part = there.get(device)
        if part is None:
            aval = physical_aval(part_aval(array.aval, bounds))
            part = jaxlib_api.copy_to(next(iter(there.values())), aval, device.committed.sharding)
        buffers.append(part)
    return XlaArray(array.aval, jaxlib_api.assemble(buffers, physical_aval(array.aval), placement.sharding), placement)


def assemble(aval: Any, placement: Placement, parts: Sequence[XlaArray]) -> XlaArray:
    """An array of parts on one device each, in the order of its sharding's devices."""
    buffers = dict(zip(placement.spread.device_order, [part.value for part in parts], strict=True))
    ordered = [buffers[device] for device in placement.devices]
    return XlaArray(aval, jaxlib_api.assemble(ordered, physical_aval(aval), placement.sharding), placement)


def parts_of(array: XlaArray) -> list[XlaArray]:
    """The parts of an array, on one device each, in the order of its sharding's devices."""
    placement, shape = array.placement, array.aval.shape
    if placement.spread is None:
        return [array]
    parts = {
        device: XlaArray(part_aval(array.aval, _bounds(index, shape)), part, device.committed)
        for device, index, part in zip(placement.devices, indices_of(placement, shape), raw_parts(array), strict=True)
    }
    return [parts[device] for device in placement.spread.device_order]


def indices_of(placement: Placement, shape: Sequence[int]) -> list[tuple[slice, ...]]:
    """For each device which part of an array it holds."""
    if placement.spread is None:
        return [(slice(None),) * len(shape)]
    indices = dict(zip(placement.spread.device_order, placement.spread.indices(shape), strict=True))
    return [indices[device] for device in placement.devices]


def raw_parts(array: XlaArray) -> list[Any]:
    """The buffers of the parts."""
    placement = array.placement
    if placement.spread is None:
        return [array.value]
    aval = array.aval
    avals = [part_aval(aval, _bounds(index, aval.shape)) for index in indices_of(placement, aval.shape)]
    return jaxlib_api.shards_of(
        array.value,
        [physical_aval(aval) for aval in avals],
        [device.committed.sharding for device in placement.devices],
    )


def part_aval(aval: Any, bounds: tuple[tuple[int, int], ...]) -> Any:
    """The type of the part between bounds."""
    return aval.update(shape=tuple([stop - start for start, stop in bounds]))


def _bounds(index: tuple[slice, ...], shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple([part.indices(size)[:2] for part, size in zip(index, shape, strict=True)])
