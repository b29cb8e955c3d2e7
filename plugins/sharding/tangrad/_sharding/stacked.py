"""Arrays with one row on each device, as `pmap` takes them: `device_put_sharded`, `device_put_replicated`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from tangrad import tree
from tangrad._sharding.making import assembled
from tangrad._sharding.mesh import Mesh
from tangrad._sharding.named import NamedSharding, PartitionSpec
from tangrad.core import Array, Device, Tracer, get_aval, is_array_value, put, transfers
from tangrad.core.backends import is_addressable
from tangrad.typing import ArrayLike, PyTree, Value


@overload
def device_put_sharded(shards: Sequence[ArrayLike], devices: Sequence[Device]) -> Array: ...
@overload
def device_put_sharded(shards: Sequence[PyTree], devices: Sequence[Device]) -> PyTree: ...
@transfers.copies_explicitly
def device_put_sharded(shards: Sequence[Any], devices: Sequence[Device]) -> PyTree:
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


def _stacked(what: str, leaves: Sequence[Any], rows: NamedSharding) -> Value:
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
