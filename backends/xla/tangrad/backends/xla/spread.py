"""Arrays over several devices: where shardings put them, how they are made of parts, and moved."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from tangrad.backends.xla import jaxlib_api
from tangrad.backends.xla.array import Placement, XlaArray, physical_aval
from tangrad.backends.xla.clients import XlaDevice
from tangrad.core import Parts, Sharding

PLACEMENT_LIMIT = 4096
LAYOUT_LIMIT = 4096  # pairs of a placement and a shape

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
    hlo_of_rank = cache(lambda ndim: _hlo_sharding(sharding, ordered, ndim))
    over = jaxlib_api.OverDevices(raw, hlo_of_rank, sharding.is_fully_replicated)
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
    layout = layout_of(placement, aval.shape)
    made = [np.array(contents[index], order="C") for index in layout.distinct]
    parts = [made[number] for number in layout.numbers]
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
    wanted, there = layout_of(placement, shape).bounds, layout_of(source, shape).bounds
    # From one of the host's own devices by way of the host: one copy, which all devices read, not one for each.
    if not set(wanted).issubset(there) or (source.spread is None and source.devices[0].platform == "cpu"):
        return put(array._contents(), array.aval, placement)
    held: dict[Any, Any] = {}
    for device, bounds, part in zip(source.devices, there, raw_parts(array), strict=True):
        held.setdefault(bounds, {})[device] = part
    buffers = []
    for device, bounds in zip(placement.devices, wanted, strict=True):
        holders = held[bounds]
        part = holders.get(device)
        if part is None:
            aval = physical_aval(part_aval(array.aval, bounds))
            part = jaxlib_api.copy_to(next(iter(holders.values())), aval, device.committed.sharding)
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
        device: XlaArray(part_aval(array.aval, bounds), part, device.committed)
        for device, bounds, part in zip(
            placement.devices, layout_of(placement, shape).bounds, raw_parts(array), strict=True
        )
    }
    return [parts[device] for device in placement.spread.device_order]


@lru_cache(LAYOUT_LIMIT)
def layout_of(placement: Placement, shape: tuple[int, ...]) -> Parts:
    """Which part of an array each device of a placement holds, in the order of its devices."""
    if placement.spread is None:
        whole = tuple([slice(None)] * len(shape))
        return Parts((0,), (whole,), (tuple([(0, size) for size in shape]),), (whole,))
    order: dict[Any, int] = {device: number for number, device in enumerate(placement.spread.device_order)}
    parts = placement.spread.parts(shape)
    at = [order[device] for device in placement.devices]
    return Parts(
        tuple([parts.numbers[number] for number in at]),
        tuple([parts.indices[number] for number in at]),
        tuple([parts.bounds[number] for number in at]),
        parts.distinct,
    )


def raw_parts(array: XlaArray) -> list[Any]:
    """The buffers of the parts."""
    placement = array.placement
    if placement.spread is None:
        return [array.value]
    aval = array.aval
    bounds = layout_of(placement, aval.shape).bounds
    avals = {part: physical_aval(part_aval(aval, part)) for part in set(bounds)}
    return jaxlib_api.shards_of(
        array.value,
        [avals[part] for part in bounds],
        [device.committed.sharding for device in placement.devices],
    )


def part_aval(aval: Any, bounds: tuple[tuple[int, int], ...]) -> Any:
    """The type of the part between bounds."""
    return aval.update(shape=tuple([stop - start for start, stop in bounds]))
