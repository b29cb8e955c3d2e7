"""Shardings that name no axes: in XLA's notation, on one device, and by the positions of devices in an array."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._sharding.hlo import HloSharding, hlo_of, part_numbers, refuse_axes
from tangrad._sharding.primitives import constrained
from tangrad.core import Array, Device, Sharding, class_boundary
from tangrad.extend.lax import device_put

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike


def checked_memory_kind(kind: str | None, device: Device) -> str | None:
    """The kind of memory, None for the usual one. Raises ValueError for one that the device does not have."""
    if kind is None or device.memory(kind) == device.default_memory():
        return None
    return kind


def memory_text(sharding: Sharding) -> str:
    """What a text adds for another memory than the usual one."""
    return "" if sharding.other_memory is None else f", memory_kind={sharding.other_memory}"


@class_boundary
class GSPMDSharding(Sharding):
    """A sharding given as an HLO sharding.

    Args:
        devices: the devices that the numbers of the HLO sharding mean.
        hlo: an `HloSharding`, its text, or jaxlib's object for one.
        memory_kind: the memory of the devices; None for the usual one.

    Raises ValueError for a text that cannot be read, or that is for another number of devices, and for a memory that
    the devices do not have.

    >>> import tangrad
    >>> from tangrad.sharding import GSPMDSharding
    >>> GSPMDSharding(tangrad.devices()[:1], "{replicated}").is_fully_replicated
    True
    """

    __slots__ = ("_devices", "hlo", "other_memory")

    def __init__(self, devices: Sequence[Device], hlo: object, *, memory_kind: str | None = None) -> None:
        self._devices = tuple(devices)
        self.other_memory = checked_memory_kind(memory_kind, self._devices[0])
        self.hlo = HloSharding.of(hlo)
        if self.hlo.tiles is not None and len(self.hlo.devices) != len(self._devices):
            raise ValueError(f"{self.hlo} is for {len(self.hlo.devices)} devices, got {len(self._devices)}")

    @classmethod
    def get_replicated(cls, devices: Sequence[Device], *, memory_kind: str | None = None) -> GSPMDSharding:
        """The whole array on each of the devices."""
        return cls(devices, HloSharding(None), memory_kind=memory_kind)

    def with_memory_kind(self, kind: str | None) -> GSPMDSharding:
        """The same in another memory of the devices; None: the usual one. Raises ValueError for an unknown kind."""
        return GSPMDSharding(self._devices, self.hlo, memory_kind=kind)

    @property
    def device_order(self) -> tuple[Device, ...]:
        if self.hlo.is_replicated():
            return self._devices
        return tuple([self._devices[number] for number in self.hlo.devices])

    @property
    def grid(self) -> tuple[tuple[Hashable, int], ...]:
        if self.hlo.is_replicated():
            return (("copies", len(self._devices)),)
        return (*enumerate(self.hlo.split()), ("copies", self.hlo.copies))

    def dimension_axes(self, ndim: int) -> tuple[tuple[Hashable, ...], ...]:
        if self.hlo.is_replicated():
            return ((),) * ndim
        rank = len(self.hlo.split())
        if rank > ndim:
            raise ValueError(f"{self.hlo} is for arrays of {rank} dimensions, and cannot be used for one of {ndim}")
        return tuple([(dimension,) for dimension in range(rank)]) + ((),) * (ndim - rank)

    @property
    def is_fully_replicated(self) -> bool:
        return self.hlo.is_replicated()

    def resharded(self, tiles: Sequence[int], order: Sequence[Device]) -> Sharding:
        return GSPMDSharding(self._devices, hlo_of(self._devices, tiles, order), memory_kind=self.other_memory)

    def with_dimension(self, position: int, ndim: int, axes: object = None) -> GSPMDSharding:
        refuse_axes(self, axes)
        if self.hlo.is_replicated():
            return self
        tiles = self.hlo.split()
        tiles += (1,) * (ndim - len(tiles))
        hlo = HloSharding((*tiles[:position], 1, *tiles[position:]), self.hlo.devices)
        return GSPMDSharding(self._devices, hlo, memory_kind=self.other_memory)

    def constrain(self, value: ArrayLike) -> Array:
        return constrained(value, self)

    def to_hlo(self, ndim: int) -> HloSharding:
        """XLA's notation for it, for arrays of `ndim` dimensions."""
        axes = self.dimension_axes(ndim)
        if self.hlo.tiles is None or len(axes) == len(self.hlo.tiles):
            return self.hlo
        return HloSharding(self.tiles(ndim), self.hlo.devices)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GSPMDSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.hlo, self._devices, self.other_memory

    def __repr__(self) -> str:
        return f"GSPMDSharding({self.hlo}{memory_text(self)})"


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

    __slots__ = ("device", "other_memory")
    grid = ()
    is_fully_replicated = True

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        if not isinstance(device, Device):
            raise TypeError(f"SingleDeviceSharding takes a device (tangrad.devices()), got {device!r}")
        self.device = device
        self.other_memory = checked_memory_kind(memory_kind, device)

    @property
    def device_order(self) -> tuple[Device, ...]:
        return (self.device,)

    def dimension_axes(self, ndim: int) -> tuple[tuple[()], ...]:
        return ((),) * ndim

    def resharded(self, tiles: Sequence[int], order: Sequence[Device]) -> Sharding:
        return self if len(order) == 1 else GSPMDSharding(order, hlo_of(order, tiles, order))

    def with_dimension(self, position: int, ndim: int, axes: object = None) -> SingleDeviceSharding:
        return self

    def constrain(self, value: Array) -> Array:
        return device_put(value, self.device) if self.other_memory is None else constrained(value, self)

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
            and self.other_memory == other.other_memory
        )

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, self.device, self.other_memory))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r}{memory_text(self)})"


@class_boundary
class PositionalSharding(Sharding):
    """Devices in an array of as many dimensions as the arrays to be cut: dimension i is cut into as many parts as that
    array is long there.

    Args:
        devices: a sequence or an array of devices, each once.
        memory_kind: the memory of the devices; only the usual one.

    The array is changed with `reshape` and `transpose`; `replicate(axis)` joins the devices along an axis, which then
    hold the same part each.

    >>> import tangrad
    >>> from tangrad.sharding import PositionalSharding
    >>> sharding = PositionalSharding(tangrad.devices()[:1]).reshape(1, 1)
    >>> sharding.shape, sharding.replicate(0).shard_shape((2, 4))
    ((1, 1), (2, 4))
    """

    __slots__ = ("_sets",)

    def __init__(self, devices: Sequence[Device], *, memory_kind: str | None = None) -> None:
        if memory_kind not in (None, "device"):
            raise ValueError(f"PositionalSharding is for the usual memory of devices, got memory_kind={memory_kind!r}")
        grid = np.asarray(devices, dtype=object)
        for device in grid.flat:
            if not isinstance(device, Device):
                raise TypeError(f"PositionalSharding takes devices (tangrad.devices()), got {device!r}")
        if len(set(grid.flat)) != grid.size or not grid.size:
            raise ValueError(f"PositionalSharding takes each device once, and at least one, got {devices!r}")
        # The last dimension of the array lists those that hold the same part.
        self._sets = grid.reshape(*grid.shape, 1)

    @classmethod
    def _of(cls, sets: np.ndarray) -> PositionalSharding:
        made = object.__new__(cls)
        made._sets = sets
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of devices."""
        return self._sets.shape[:-1]

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return self._sets.ndim - 1

    def reshape(self, *shape: Any) -> PositionalSharding:
        """The devices in another shape, given as integers or as one tuple; one of them may be -1."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        try:
            places = np.arange(self._sets[..., 0].size).reshape(sizes)
        except ValueError:
            raise ValueError(f"{self._sets[..., 0].size} positions cannot be reshaped to {tuple(sizes)}") from None
        return self._of(self._sets.reshape(*places.shape, self._sets.shape[-1]))

    def transpose(self, *axes: object) -> PositionalSharding:
        """The devices with the dimensions of their array in another order; without arguments in the opposite one."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        order = tuple(order) or tuple(range(self.ndim))[::-1]
        return self._of(self._sets.transpose(*order, self.ndim))

    T = property(transpose)

    def replicate(self, axis: int | None = None, keepdims: bool = True) -> PositionalSharding:
        """The devices along an axis, or all, joined: they hold the same part each."""
        sets = self._sets
        if axis is None:
            joined = sets.reshape((*[1] * self.ndim, -1) if keepdims else (-1,))
            return self._of(joined)
        if not -self.ndim <= axis < self.ndim:
            raise ValueError(f"replicate: axis {axis} is out of bounds for devices of shape {self.shape}")
        axis %= self.ndim
        moved = np.moveaxis(sets, axis, -2)
        joined = moved.reshape(*moved.shape[:-2], -1)
        return self._of(np.expand_dims(joined, axis) if keepdims else joined)

    @property
    def device_order(self) -> tuple[Device, ...]:
        return tuple(self._sets.flat)

    @property
    def grid(self) -> tuple[tuple[Hashable, int], ...]:
        return (*enumerate(self.shape), ("copies", self._sets.shape[-1]))

    def dimension_axes(self, ndim: int) -> tuple[tuple[Hashable, ...], ...]:
        if self.ndim > ndim:
            raise ValueError(
                f"{self} is for arrays of rank {self.ndim} or more, and cannot be used for one of rank {ndim}; see "
                "replicate"
            )
        return tuple([(dimension,) for dimension in range(self.ndim)]) + ((),) * (ndim - self.ndim)

    @property
    def is_fully_replicated(self) -> bool:
        return self._sets[..., 0].size == 1

    def resharded(self, tiles: Sequence[int], order: Sequence[Device]) -> Sharding:
        return GSPMDSharding(self.device_order, hlo_of(self.device_order, tiles, order))

    def with_dimension(self, position: int, ndim: int, axes: object = None) -> PositionalSharding:
        refuse_axes(self, axes)
        sizes = [*self.shape, *[1] * (ndim - self.ndim)]
        return self.reshape(*sizes[:position], 1, *sizes[position:])

    def constrain(self, value: ArrayLike) -> Array:
        return constrained(value, self)

    def to_hlo(self, ndim: int) -> HloSharding:
        """XLA's notation for it, for arrays of `ndim` dimensions; devices are numbered as they are listed."""
        return hlo_of(self.device_order, self.tiles(ndim), part_numbers(self, ndim))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PositionalSharding)
            and self._sets.shape == other._sets.shape
            and self.device_order == other.device_order
        )

    def __hash__(self) -> int:
        return hash((self._sets.shape, self.device_order))

    def __repr__(self) -> str:
        sets = [[device.id for device in group] for group in self._sets.reshape(-1, self._sets.shape[-1])]
        names = ["{" + ",".join(map(str, group)) + "}" for group in sets]
        return f"PositionalSharding({np.array(names, object).reshape(self.shape).tolist()})"
