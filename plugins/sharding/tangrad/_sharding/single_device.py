"""The sharding of arrays that are on one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._sharding.constraint import constrained
from tangrad._sharding.gspmd import GSPMDSharding
from tangrad._sharding.hlo import HloSharding
from tangrad._sharding.memory import checked_memory_kind
from tangrad._sharding.tilings import hlo_of
from tangrad.core import Array, Device, Sharding, class_boundary
from tangrad.extend.lax import device_put


@class_boundary
class SingleDeviceSharding(Sharding):
    """A whole array on one device.

    Args:
        device: the device.
        memory_kind: its memory; None for the usual one.

    Raises TypeError for what is not a device.

    >>> import tangrad
    >>> from tangrad.sharding import SingleDeviceSharding
    >>> SingleDeviceSharding(tangrad.devices()[0]).is_fully_replicated
    True
    """

    __slots__ = ("device", "memory_kind")
    grid = ()
    is_fully_replicated = True

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        if not isinstance(device, Device):
            raise TypeError(f"SingleDeviceSharding takes a device (tangrad.devices()), got {device!r}")
        self.device = device
        self.memory_kind = checked_memory_kind(memory_kind, device)

    @property
    def device_order(self) -> tuple[Device, ...]:
        return (self.device,)

    def dimension_axes(self, ndim: int) -> tuple[tuple[Any, ...], ...]:
        return ((),) * ndim

    def resharded(self, tiles: Sequence[int], order: Sequence[Device]) -> Sharding:
        return self if len(order) == 1 else GSPMDSharding(order, hlo_of(order, tiles, order))

    def with_dimension(self, position: int, ndim: int, axes: Any = None) -> SingleDeviceSharding:
        return self

    def constrain(self, value: Any) -> Array:
        return device_put(value, self.device) if self.memory_kind is None else constrained(value, self)

    def with_memory_kind(self, kind: str | None) -> SingleDeviceSharding:
        """The same in another memory of the device; None: the usual one. Raises ValueError for an unknown kind."""
        return SingleDeviceSharding(self.device, memory_kind=kind)

    def to_hlo(self, ndim: int) -> HloSharding:
        """XLA's notation for it."""
        return HloSharding(None)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SingleDeviceSharding)
            and self.device is other.device
            and self.memory_kind == other.memory_kind
        )

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, self.device, self.memory_kind))

    def __repr__(self) -> str:
        memory = "" if self.memory_kind is None else f", memory_kind={self.memory_kind}"
        return f"SingleDeviceSharding(device={self.device!r}{memory})"
