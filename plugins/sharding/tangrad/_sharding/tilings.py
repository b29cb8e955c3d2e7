"""From any sharding to the list of devices by the parts that they hold, and to XLA's notation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._sharding.hlo import HloSharding
from tangrad.core import Device, Sharding


def part_numbers(sharding: Sharding, ndim: int) -> list[Device]:
    """The devices by the part that they hold: those of the first part, of the next along the last dimension, …."""
    coordinates = sharding.coordinates(ndim)
    order = sharding.device_order
    return [order[number] for number in sorted(range(len(order)), key=lambda number: (coordinates[number], number))]


def hlo_of(numbering: Sequence[Any], tiles: Sequence[int], order: Sequence[Any]) -> HloSharding:
    """XLA's notation, where devices have their place in `numbering` as a number."""
    number = {device: place for place, device in enumerate(numbering)}
    return HloSharding(tuple(tiles), [number[device] for device in order])


def refuse_axes(sharding: Sharding, axes: Any) -> None:
    """Raise ValueError where a mapped dimension is to be sharded along mesh axes, and the sharding has no mesh."""
    if axes is not None:
        raise ValueError(f"spmd_axis_name={axes!r} names axes of a mesh, and {sharding} has none; use a NamedSharding")
