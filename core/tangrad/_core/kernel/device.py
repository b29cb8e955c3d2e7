"""One device of a backend, and its memories."""

from __future__ import annotations

from typing import Any, NamedTuple

from tangrad._core.diagnostics.tracebacks import class_boundary


class Memory(NamedTuple):
    """One memory of a device: the usual one, where programs compute, or another, where arrays can wait.

    Attributes:
        kind: what the platform calls it, such as "device" or "pinned_host".
        device: the device.
    """

    kind: str
    device: Any

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


@class_boundary
class Device:
    """One device of a backend.

    Attributes:
        backend: the backend it belongs to.
        id: its number, from 0.
        platform: "cpu", "gpu", …
        process_index: the process that it is attached to.
        memory_kinds: the kinds of memories that there are, the usual one, where programs compute, first.
    """

    __slots__ = ("__weakref__", "backend", "id", "platform", "process_index")
    memory_kinds: tuple[str, ...] = ("device",)

    def __init__(self, backend: Any, id: int, platform: str, process_index: int = 0) -> None:
        self.backend, self.id, self.platform, self.process_index = backend, id, platform, process_index

    @property
    def device_kind(self) -> str:
        return self.platform

    def addressable_memories(self) -> list[Memory]:
        """The memories that the device reaches, the usual one first.

        >>> import tangrad
        >>> tangrad.devices()[0].addressable_memories()[0].kind
        'device'
        """
        return [Memory(kind, self) for kind in self.memory_kinds]

    def default_memory(self) -> Memory:
        """The usual memory, where programs compute."""
        return Memory(self.memory_kinds[0], self)

    def memory(self, kind: str) -> Memory:
        """The memory of a kind. Raises ValueError for one that the device does not have, naming those that it has."""
        if kind not in self.memory_kinds:
            raise ValueError(
                f"{self!r} has the memory kinds {', '.join([repr(known) for known in self.memory_kinds])}, not {kind!r}"
            )
        return Memory(kind, self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id})"

    def __str__(self) -> str:
        return f"{self.backend.name}:{self.platform}:{self.id}"
