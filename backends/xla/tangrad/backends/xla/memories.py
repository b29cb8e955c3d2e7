"""Arrays in another memory of their devices than the usual one: they wait there, and are brought to compute with.

Programs are compiled for the usual memory. So to everybody who computes such an array is one in the usual memory, of
which a copy is made whenever its buffer is asked for, and which is gone when the computation is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad.backends.xla import jaxlib_api, spread
from tangrad.backends.xla.array import Placement, XlaArray, deleted_message
from tangrad.backends.xla.jaxlib_api import physical_aval
from tangrad.core import ShapedArray, Sharding


class StoredArray(XlaArray):
    """An array in another memory.

    Attributes:
        placement: where it lies when it is brought to the usual memory.
        value: a buffer there, a new one each time.
    """

    __slots__ = ("_sharding", "_stored")

    def __init__(self, aval: ShapedArray, placement: Placement, sharding: Sharding, stored: Sequence[Any]) -> None:
        self.aval = aval
        self.placement = placement
        self._unsent = None
        self._sharding = sharding
        self._stored = tuple(stored)

    @property
    def value(self) -> Any:  # type: ignore[override]
        self._check_not_deleted()
        found = [
            jaxlib_api.copy_to(buffer, aval, jaxlib_api.OnDevice(device.raw, device.memory_kinds[0]))
            for buffer, aval, device in zip(self._stored, _part_avals(self), self.placement.reachable, strict=True)
        ]
        aval, sharding = physical_aval(self.aval), self.placement.sharding
        if self.placement.spread is None:
            return jaxlib_api.with_aval(found[0], aval, sharding)
        return jaxlib_api.assemble(found, aval, sharding)

    @property
    def spread(self) -> Any:
        """Its `Sharding`, which says in which memory it is."""
        return self._sharding

    def in_usual_memory(self) -> XlaArray:
        return XlaArray(self.aval, self.value, self.placement)

    def _check_not_deleted(self, cause: BaseException | None = None) -> None:
        if self.is_deleted():
            raise RuntimeError(deleted_message(self)) from cause

    def block_until_ready(self) -> XlaArray:
        self._check_not_deleted()
        for buffer in self._stored:
            buffer.block_until_ready()
        return self

    def is_ready(self) -> bool:
        self._check_not_deleted()
        return all([buffer.is_ready() for buffer in self._stored])

    def delete(self) -> None:
        for buffer in self._stored:
            buffer.delete()

    def is_deleted(self) -> bool:
        return any([buffer.is_deleted() for buffer in self._stored])

    def on_device_size_in_bytes(self) -> int:
        return sum([int(buffer.on_device_size_in_bytes()) for buffer in self._stored])

    def unsafe_buffer_pointer(self) -> int:
        return int(self._stored[0].unsafe_buffer_pointer())


def _part_avals(array: XlaArray) -> list[Any]:
    """The types of the buffers on the devices of this process."""
    bounds = spread.layout_of(array.placement, array.aval.shape).bounds
    return [physical_aval(spread.part_aval(array.aval, one)) for one in bounds]


def stored(array: XlaArray, sharding: Sharding) -> StoredArray:
    """A copy of an array in the memory that a sharding says; the array lies as that says, in the usual one."""
    placement = array.placement
    buffers = [
        jaxlib_api.copy_to(buffer, aval, jaxlib_api.OnDevice(device.raw, sharding.memory_kind))
        for buffer, aval, device in zip(spread.raw_parts(array), _part_avals(array), placement.reachable, strict=True)
    ]
    return StoredArray(array.aval, placement, sharding, buffers)
