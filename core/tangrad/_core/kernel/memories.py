"""Memories of devices: the usual one, where programs compute, and others, where arrays can wait."""

from __future__ import annotations

from typing import Any

from tangrad._core.diagnostics.public_boundaries import class_boundary


class Memory:
    """One memory of a device.

    Attributes:
        kind: what the platform calls it, such as "device" or "pinned_host".
        device: the device.
    """

    __slots__ = ("device", "kind")

    def __init__(self, device: Any, kind: str) -> None:
        self.device = device
        self.kind = kind

    @property
    def platform(self) -> str:
        """The platform of the device."""
        return str(self.device.platform)

    @property
    def process_index(self) -> int:
        """The process that the device is attached to."""
        return int(self.device.process_index)

    def addressable_by_devices(self) -> list[Any]:
        """The devices that reach it."""
        return [self.device]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory) and self.device is other.device and self.kind == other.kind

    def __hash__(self) -> int:
        return hash((self.kind, id(self.device)))

    def __repr__(self) -> str:
        return f"Memory(kind={self.kind!r}, device={self.device!r})"


@class_boundary
class HasMemories:
    """What devices say of their memories.

    Attributes:
        memory_kinds: the kinds that there are, the usual one first.
    """

    __slots__ = ()
    memory_kinds: tuple[str, ...] = ("device",)

    def addressable_memories(self) -> list[Memory]:
        """The memories that the device reaches, the usual one first.

        >>> import tangrad
        >>> tangrad.devices()[0].addressable_memories()[0].kind
        'device'
        """
        return [Memory(self, kind) for kind in self.memory_kinds]

    def default_memory(self) -> Memory:
        """The usual memory, where programs compute."""
        return Memory(self, self.memory_kinds[0])

    def memory(self, kind: str) -> Memory:
        """The memory of a kind. Raises ValueError for one that the device does not have, naming those that it has."""
        if kind not in self.memory_kinds:
            raise ValueError(
                f"{self!r} has the memory kinds {', '.join([repr(known) for known in self.memory_kinds])}, not {kind!r}"
            )
        return Memory(self, kind)
