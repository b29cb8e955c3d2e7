"""HLO shardings: XLA's own notation for how an array is cut, `{devices=[2,1,4]<=[8] last_tile_dim_replicate}`.

The devices of a program have numbers from 0. A tiling gives how many parts each dimension is cut into, and lists the
devices part by part; a further dimension of the tiling is the number of devices that repeat each part. Lists of devices
that are an array of consecutive numbers with its dimensions transposed are written `<=[sizes]T(permutation)`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad.core import Device, Sharding, class_boundary


@class_boundary
class HloSharding:
    """One HLO sharding.

    Attributes:
        tiles: in how many parts each dimension is cut; None: every device has the whole, however many dimensions.
        devices: the numbers of the devices, part by part, those that repeat a part one after the other.

    >>> from tangrad.sharding import HloSharding
    >>> HloSharding.parse("{devices=[2,1,4]<=[8] last_tile_dim_replicate}").tiles
    (2, 1)
    """

    __slots__ = ("devices", "tiles")

    def __init__(self, tiles: Sequence[int] | None, devices: Sequence[int] = ()) -> None:
        self.tiles = None if tiles is None else tuple(tiles)
        self.devices = tuple([int(number) for number in devices])
        if self.tiles is not None and (len(self.devices) % math.prod(self.tiles) or not self.devices):
            raise ValueError(
                f"{len(self.devices)} devices cannot hold the parts of a tiling {list(self.tiles)} equally"
            )
        if sorted(self.devices) != list(range(len(self.devices))):
            raise ValueError(f"the devices of an HLO sharding are numbered from 0, each once, got {self.devices}")

    @property
    def copies(self) -> int:
        """On how many devices each part is repeated."""
        return 1 if self.tiles is None else len(self.devices) // math.prod(self.tiles)

    def split(self) -> tuple[int, ...]:
        """The tiles of a sharding that is not replicated."""
        return () if self.tiles is None else self.tiles

    def is_replicated(self) -> bool:
        """Whether every device has the whole."""
        return self.tiles is None or math.prod(self.tiles) == 1

    @classmethod
    def of(cls, value: Any) -> HloSharding:
        """An HLO sharding from its text, or from jaxlib's object for one."""
        if isinstance(value, HloSharding):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        if value.is_replicated():
            return cls(None)
        tiles, devices = value.tile_assignment_dimensions(), np.asarray(value.tile_assignment_devices()).reshape(-1)
        return cls(tiles[:-1] if value.replicate_on_last_tile_dim() else tiles, devices.tolist())

    @classmethod
    def parse(cls, text: str) -> HloSharding:
        """The HLO sharding of a text. Raises ValueError for what cannot be read, or is for parts of programs."""
        inside = text.strip().removeprefix("{").removesuffix("}").strip()
        if inside in ("replicated", "maximal device=0"):
            return cls(None)
        found = _TILED.fullmatch(inside)
        if found is None:
            raise ValueError(f"expected {{replicated}} or {{devices=[...]...}}, got the HLO sharding {text!r}")
        tiles = _numbers(found["tiles"])
        order = _iota(found) if found["iota"] is not None else np.array(_numbers(found["list"]))
        if order.size != math.prod(tiles):
            raise ValueError(f"a tiling {list(tiles)} needs {math.prod(tiles)} devices, got {text!r}")
        return cls(tiles[:-1] if found["repeat"] else tiles, order.reshape(-1).tolist())

    def __str__(self) -> str:
        if self.is_replicated():
            return "{replicated}"
        shape = self.split() if self.copies == 1 else (*self.split(), self.copies)
        repeat = "" if self.copies == 1 else " last_tile_dim_replicate"
        return f"{{devices=[{_listed(shape)}]{_order_text(self.devices)}{repeat}}}"

    __repr__ = __str__

    def _key(self) -> tuple[tuple[int, ...] | None, ...]:
        return () if self.is_replicated() else (self.tiles, self.devices)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HloSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


_TILED = re.compile(
    r"devices=\[(?P<tiles>[\d,]+)\]"
    r"(?:<=\[(?P<iota>[\d,]+)\](?:T\((?P<permutation>[\d,]+)\))?|(?P<list>[\d,]+))"
    r"(?P<repeat> last_tile_dim_replicate| last_tile_dims=\{replicated\})?"
)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple([int(word) for word in text.split(",")])


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _iota(found: re.Match[str]) -> np.ndarray:
    sizes = _numbers(found["iota"])
    order = np.arange(math.prod(sizes)).reshape(sizes)
    return order if found["permutation"] is None else order.transpose(_numbers(found["permutation"]))


def _order_text(devices: Sequence[int]) -> str:
    """A list of devices, as a transposed range where it is one."""
    steps = _strides(devices)
    if steps is None:
        return _listed(devices)
    # The axes of the range from the slowest varying on are those of the list by falling strides.
    by_stride = sorted(range(len(steps)), key=lambda axis: -steps[axis][1])
    sizes = [steps[axis][0] for axis in by_stride]
    permutation = [by_stride.index(axis) for axis in range(len(steps))]
    if permutation == sorted(permutation):
        return f"<=[{len(devices)}]"
    return f"<=[{_listed(sizes)}]T({_listed(permutation)})"


def _strides(devices: Sequence[int]) -> list[tuple[int, int]] | None:
    """The list as a walk through a range: (size, stride) of each axis, the slowest first; None if it is none."""
    found: list[tuple[int, int]] = []
    block = 1
    while block < len(devices):
        stride = devices[block] - devices[0]
        size = 1
        while size * block < len(devices) and devices[size * block] == devices[0] + size * stride:
            size += 1
        if stride <= 0 or len(devices) % (block * size) or devices[0] != 0:
            return None
        found.insert(0, (size, stride))
        block *= size
    rebuilt = np.zeros((), int)
    for size, stride in found:
        rebuilt = np.add.outer(rebuilt, np.arange(size) * stride)
    return found if rebuilt.reshape(-1).tolist() == list(devices) else None


def part_numbers(sharding: Sharding, ndim: int) -> list[Device]:
    """The devices by the part that they hold: those of the first part, of the next along the last dimension, …."""
    coordinates = sharding.coordinates(ndim)
    order = sharding.device_order
    return [order[number] for number in sorted(range(len(order)), key=lambda number: (coordinates[number], number))]


def hlo_of(numbering: Sequence[object], tiles: Sequence[int], order: Sequence[object]) -> HloSharding:
    """XLA's notation, where devices have their place in `numbering` as a number."""
    number = {device: place for place, device in enumerate(numbering)}
    return HloSharding(tuple(tiles), [number[device] for device in order])


def refuse_axes(sharding: Sharding, axes: object) -> None:
    """Raise ValueError where a mapped dimension is to be sharded along mesh axes, and the sharding has no mesh."""
    if axes is not None:
        raise ValueError(f"spmd_axis_name={axes!r} names axes of a mesh, and {sharding} has none; use a NamedSharding")
