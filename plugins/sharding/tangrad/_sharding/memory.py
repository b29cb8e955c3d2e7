"""Memories of devices: where a platform has several, a sharding says which one."""

from __future__ import annotations

from typing import Any


def checked_memory_kind(kind: str | None, device: Any) -> str | None:
    """The kind of memory, None for the usual one. Raises ValueError for one that the device does not have."""
    if kind is None or device.memory(kind) == device.default_memory():
        return None
    return kind
