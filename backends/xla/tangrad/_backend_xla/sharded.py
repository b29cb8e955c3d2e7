"""Arrays over several devices: where shardings put them, how they are made of parts, and moved."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla import jaxlib_api
from tangrad._backend_xla.array import Placement, XlaArray
from tangrad._backend_xla.clients import XlaDevice
from tangrad._backend_xla.jaxlib_api import physical_aval
from tangrad.core import ClosedJaxpr, Jaxpr, ShapedArray, Sharding, Var
from tangrad.core.backends import Parts, is_addressable
from tangrad.core.programs import compile_program

if TYPE_CHECKING:
    from tangrad.core import Device


PLACEMENT_LIMIT = 4096
WHOLE_LIMIT = 256
LAYOUT_LIMIT = 4096  # pairs of a placement and a shape
# How many ways of moving arrays between processes are kept, each a compiled program.
MOVE_LIMIT = 256

_placements: dict[Sharding, Placement] = {}
_moves: dict[Any, Any] = {}
_lock = threading.Lock()


def placement_of(sharding: Sharding) -> Placement:
    """The placement of arrays of a sharding: one object for each, as placements compare by identity.

    A sharding over one device is that device. Raises ValueError for devices of other backends or several platforms.
    """
    found = _placements.get(sharding)
    if found is None:
        with _lock:
            if len(_placements) >= PLACEMENT_LIMIT:
                _placements.clear()
            found = _placements.setdefault(sharding, _make(sharding))
    return found


def _make(sharding: Sharding) -> Placement:
    devices: Sequence[Any] = sharding.device_order
    for device in devices:
        if type(device) is not XlaDevice or device.client is not devices[0].client:
            raise ValueError(f"{sharding} must be of devices of the XLA backend on one platform, got {device!r}")
    reachable = [device for device in devices if is_addressable(device)]
    if not reachable:
        raise ValueError(
            f"{sharding} has no device of this process: its devices belong to the processes "
            f"{sorted({device.process_index for device in devices})}, and this is process "
            f"{devices[0].backend.process_index}"
        )
    if len(devices) == 1:
        return devices[0].committed
    # Buffers are in the order of the devices' numbers, so that programs can take arrays over any arrangement of them.
    ordered = in_order(devices)
    raw = [device.raw for device in ordered]
    hlo_of_rank = cache(lambda ndim: hlo_sharding(sharding, ordered, ndim))
    over = jaxlib_api.OverDevices(raw, hlo_of_rank, sharding.is_fully_replicated)
    return Placement(ordered, over, True, sharding, in_order(reachable))


@lru_cache(WHOLE_LIMIT)
def whole(over: Sharding, ndim: int) -> Placement:
    """The placement of arrays of `ndim` dimensions, whole on each device of a sharding, written as types have it."""
    return placement_of(over.resharded((1,) * ndim, over.device_order))


def in_order(devices: Sequence[object]) -> tuple[Any, ...]:
    """Devices by their numbers."""
    return tuple(sorted(devices, key=lambda device: device.id))


def hlo_sharding(sharding: Sharding, ordered: Sequence[Device], ndim: int) -> Any:
    """jaxlib's object for a sharding of arrays of `ndim` dimensions."""
    part = dict(zip(sharding.device_order, sharding.coordinates(ndim), strict=True))
    order = sorted(range(len(ordered)), key=lambda number: (part[ordered[number]], number))
    return jaxlib_api.tiled_sharding(sharding.tiles(ndim), order)


def put(contents: np.ndarray, aval: ShapedArray, placement: Placement) -> XlaArray:
    """An array over several devices with the contents of a NumPy array, which are copied, each part once.

    Of an array over several processes each makes the parts that it holds; the contents must be the same everywhere.
    """
    sharding: Sharding = placement.user_sharding
    sharding.check_shape(aval.shape)
    layout = layout_of(placement, aval.shape)
    made = [np.array(contents[index], order="C") for index in layout.distinct]
    parts = [made[number] for number in layout.numbers]
    if (shares := shares_of(sharding)) is not None:
        held = dict(zip(sharding.device_order, shares.holds, strict=True))
        buffers = [
            jaxlib_api.put(
                part if held[device] else np.zeros_like(part),
                physical_aval(part_aval(aval, bounds)),
                device.committed.sharding,
            )
            for part, device, bounds in zip(parts, placement.reachable, layout.bounds, strict=True)
        ]  # one by one: jaxlib would hold them for copies of one
        return XlaArray(aval, jaxlib_api.assemble(buffers, physical_aval(aval), placement.sharding), placement)
    return XlaArray(aval, jaxlib_api.put_shards(parts, physical_aval(aval), placement.sharding), placement)


def shares_of(sharding: Any) -> Any:
    """How what devices hold makes an array of a sharding, where they hold shares of it; else None."""
    combine = getattr(sharding, "combine", None)
    return None if combine is None else combine()


def move(array: XlaArray, placement: Placement) -> XlaArray:
    """An array at another placement over several devices. Parts that some device has already are copied from there."""
    array._check_not_deleted()
    sharding: Sharding = placement.user_sharding
    source = array.placement
    if source.devices[0].client is not placement.devices[0].client:
        return put(array._contents(), array.aval, placement)
    shape = array.aval.shape
    sharding.check_shape(shape)
    wanted, there = layout_of(placement, shape).bounds, layout_of(source, shape).bounds
    if not source.sharding.is_fully_addressable and source.devices != placement.devices:
        if not placement.sharding.is_fully_addressable or not array.is_whole_here():
            raise ValueError(
                f"an array sharded by {source.user_sharding} over devices of several processes cannot be moved to "
                f"{sharding}, which has other devices; gather it first: "
                f"tangrad.experimental.multihost_utils.process_allgather(x, tiled=True)"
            )
    elif not source.sharding.is_fully_addressable and not source.sharding.is_fully_replicated:
        return _move_between_processes(array, placement)
    # From one of the host's own devices by way of the host: one copy, which all devices read, not one for each.
    if not set(wanted).issubset(there) or (source.user_sharding is None and source.devices[0].platform == "cpu"):
        return put(array._contents(), array.aval, placement)
    held: dict[Any, Any] = {}
    for device, bounds, part in zip(source.reachable, there, raw_parts(array), strict=True):
        held.setdefault(bounds, {})[device] = part
    buffers = []
    for device, bounds in zip(placement.reachable, wanted, strict=True):
        holders = held[bounds]
        part = holders.get(device)
        if part is None:
            aval = physical_aval(part_aval(array.aval, bounds))
            part = jaxlib_api.copy_to(next(iter(holders.values())), aval, device.committed.sharding)
        buffers.append(part)
    return XlaArray(array.aval, jaxlib_api.assemble(buffers, physical_aval(array.aval), placement.sharding), placement)


def _move_between_processes(array: XlaArray, placement: Placement) -> XlaArray:
    """Parts that other processes hold come by a program that does nothing else, which all processes run."""
    key = array.aval, array.placement, placement
    program = _moves.get(key)
    if program is None:
        variable = Var(array.aval)
        identity = ClosedJaxpr(Jaxpr((), (variable,), (variable,), ()), ())
        program = compile_program(
            identity, XlaArray.backend, "move", out_shardings=(placement.user_sharding,), places=(array.placement,)
        ).executable
        with _lock:
            if len(_moves) >= MOVE_LIMIT:
                _moves.clear()
            _moves[key] = program
    (moved,) = program.execute([array])
    return moved


def check_agreement(value: object, placement: Placement) -> None:
    """Raise ValueError unless all processes have the same contents for an array that is to be on devices of several.

    Args:
        value: a NumPy array, or an array that this process can read.

    It is a collective: every process of the placement's devices has to call it. One process agrees with itself.
    """
    if len(placement.reachable) == len(placement.devices):
        return
    contents = np.ascontiguousarray(value._contents() if isinstance(value, XlaArray) else value)
    described = hashlib.blake2b(f"{contents.dtype} {contents.shape}".encode(), digest_size=16)
    described.update(contents.reshape(-1).view(np.uint8).data)
    words = np.frombuffer(described.digest(), np.uint32)
    devices = placement.devices
    aval = ShapedArray((len(devices), len(words)), words.dtype)
    rows = placement_of(placement.user_sharding.resharded((len(devices), 1), devices))
    own = put(np.broadcast_to(words, aval.shape), aval, rows)
    gathered = move(own, placement_of(placement.user_sharding.resharded((), devices))).to_numpy()
    differing = {
        device.process_index for device, row in zip(devices, gathered, strict=True) if not (row == gathered[0]).all()
    }
    if differing:
        raise ValueError(
            f"an array of shape {contents.shape} and dtype {contents.dtype} that is to be sharded by "
            f"{placement.user_sharding} over devices of several processes must have the same contents in each: those "
            f"of the processes {sorted(differing)} differ from those of process {devices[0].process_index}. Where "
            f"each process has its own part: tangrad.make_array_from_process_local_data(sharding, part)"
        )


def assemble(aval: ShapedArray, placement: Placement, parts: Sequence[XlaArray]) -> XlaArray:
    """An array of the parts on devices of this process, in the order of its sharding's devices."""
    here = [device for device in placement.user_sharding.device_order if is_addressable(device)]
    buffers = dict(zip(here, [part.value for part in parts], strict=True))
    ordered = [buffers[device] for device in placement.reachable]
    return XlaArray(aval, jaxlib_api.assemble(ordered, physical_aval(aval), placement.sharding), placement)


def parts_of(array: XlaArray) -> list[XlaArray]:
    """The parts of an array on devices of this process, in the order of its sharding's devices."""
    placement, shape = array.placement, array.aval.shape
    if placement.user_sharding is None:
        return [array]
    parts = {
        device: XlaArray(part_aval(array.aval, bounds), part, device.committed)
        for device, bounds, part in zip(
            placement.reachable, layout_of(placement, shape).bounds, raw_parts(array), strict=True
        )
    }
    return [parts[device] for device in placement.user_sharding.device_order if device in parts]


@lru_cache(LAYOUT_LIMIT)
def layout_of(placement: Placement, shape: tuple[int, ...]) -> Parts:
    """Which part of an array each device of this process holds, in the order of the placement's devices."""
    if placement.user_sharding is None:
        whole = tuple([slice(None)] * len(shape))
        return Parts((0,), (whole,), (tuple([(0, size) for size in shape]),), (whole,))
    order: dict[Device, int] = {device: number for number, device in enumerate(placement.user_sharding.device_order)}
    parts = placement.user_sharding.parts(shape)
    at = [order[device] for device in placement.reachable]
    # Numbered anew: of an array over several processes each has some of the parts.
    here = {number: position for position, number in enumerate(dict.fromkeys([parts.numbers[one] for one in at]))}
    return Parts(
        tuple([here[parts.numbers[one]] for one in at]),
        tuple([parts.indices[one] for one in at]),
        tuple([parts.bounds[one] for one in at]),
        tuple([parts.distinct[number] for number in here]),
    )


def raw_parts(array: XlaArray) -> list[Any]:
    """The buffers of the parts on devices of this process."""
    placement = array.placement
    if placement.user_sharding is None:
        return [array.value]
    aval = array.aval
    bounds = layout_of(placement, aval.shape).bounds
    avals = {part: physical_aval(part_aval(aval, part)) for part in set(bounds)}
    return jaxlib_api.shards_of(
        array.value,
        [avals[part] for part in bounds],
        [device.committed.sharding for device in placement.reachable],
    )


def part_aval(aval: ShapedArray, bounds: tuple[tuple[int, int], ...]) -> ShapedArray:
    """The type of the part between bounds."""
    return aval.plain.update(shape=tuple([stop - start for start, stop in bounds]))
