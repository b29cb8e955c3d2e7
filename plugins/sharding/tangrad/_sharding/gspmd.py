"""Shardings in XLA's own notation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._sharding.constraint import constrained
from tangrad._sharding.hlo import HloSharding
from tangrad._sharding.tilings import hlo_of, refuse_axes
from tangrad.core import Array, Device, Sharding, class_boundary


@class_boundary
class GSPMDSharding(Sharding):
    """A sharding given as an HLO sharding.

    Args:
        devices: the devices that the numbers of the HLO sharding mean.
        hlo: an `HloSharding`, its text, or jaxlib's object for one.
        memory_kind: the memory of the devices; only the usual one.

    Raises ValueError for a text that cannot be read, or that is for another number of devices.

    >>> import tangrad
    >>> from tangrad.sharding import GSPMDSharding
    >>> GSPMDSharding(tangrad.devices()[:1], "{replicated}").is_fully_replicated
    True
    """

    __slots__ = ("_devices", "hlo")

    def __init__(self, devices: Sequence[Device], hlo: Any, *, memory_kind: str | None = None) -> None:
        if memory_kind not in (None, "device"):
            raise ValueError(f"GSPMDSharding is for the usual memory of devices, got memory_kind={memory_kind!r}")
        self._devices = tuple(devices)
        self.hlo = HloSharding.of(hlo)
        if self.hlo.tiles is not None and len(self.hlo.devices) != len(self._devices):
            raise ValueError(f"{self.hlo} is for {len(self.hlo.devices)} devices, got {len(self._devices)}")

    @classmethod
    def get_replicated(cls, devices: Sequence[Device]) -> GSPMDSharding:
        """The whole array on each of the devices."""
        return cls(devices, HloSharding(None))

    @property
    def device_order(self) -> tuple[Device, ...]:
        if self.hlo.is_replicated():
            return self._devices
        return tuple([self._devices[number] for number in self.hlo.devices])

    @property
    def grid(self) -> tuple[tuple[Any, int], ...]:
        if self.hlo.is_replicated():
            return (("copies", len(self._devices)),)
        return (*enumerate(self.hlo.tiles), ("copies", self.hlo.copies))  # type: ignore[arg-type]

    def dimension_axes(self, ndim: int) -> tuple[tuple[Any, ...], ...]:
        if self.hlo.is_replicated():
            return ((),) * ndim
        rank = len(self.hlo.tiles)  # type: ignore[arg-type]
        if rank > ndim:
            raise ValueError(f"{self.hlo} is for arrays of {rank} dimensions, and cannot be used for one of {ndim}")
        return tuple([(dimension,) for dimension in range(rank)]) + ((),) * (ndim - rank)

    @property
    def is_fully_replicated(self) -> bool:
        return self.hlo.is_replicated()

    def resharded(self, tiles: Sequence[int], order: Sequence[Device]) -> Sharding:
        return GSPMDSharding(self._devices, hlo_of(self._devices, tiles, order))

    def with_dimension(self, position: int, ndim: int, axes: Any = None) -> GSPMDSharding:
        refuse_axes(self, axes)
        if self.hlo.is_replicated():
            return self
        tiles = [*self.hlo.tiles, *[1] * (ndim - len(self.hlo.tiles))]  # type: ignore[misc, arg-type]
        return GSPMDSharding(self._devices, HloSharding((*tiles[:position], 1, *tiles[position:]), self.hlo.devices))

    def constrain(self, value: Any) -> Array:
        return constrained(value, self)

    def to_hlo(self, ndim: int) -> HloSharding:
        """XLA's notation for it, for arrays of `ndim` dimensions."""
        axes = self.dimension_axes(ndim)
        if self.hlo.tiles is None or len(axes) == len(self.hlo.tiles):
            return self.hlo
        return HloSharding(self.tiles(ndim), self.hlo.devices)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GSPMDSharding) and self.hlo == other.hlo and self._devices == other._devices

    def __hash__(self) -> int:
        return hash((self.hlo, self._devices))

    def __repr__(self) -> str:
        return f"GSPMDSharding({self.hlo})"
