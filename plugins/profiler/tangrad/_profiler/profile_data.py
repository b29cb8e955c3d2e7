"""What a profile holds, as objects: planes, lines and events of the files `*.xplane.pb` that `profiler.trace` writes.

They are protocol buffers, read here without a library of their own: fields are numbers with a kind and contents.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tangrad.core import class_boundary

Statistic = int | float | str | bytes | None

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and the position after it."""
    value = shift = 0
    while shift < 70:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
    raise ValueError("a number is longer than ten bytes")


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: pairs of a number, and an integer, a float or bytes."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        kind = key & 7
        if kind == _VARINT:
            value, position = _varint(data, position)
            yield key >> 3, value
        elif kind == _FIXED64:
            yield key >> 3, struct.unpack_from("<d", data, position)[0]
            position += 8
        elif kind == _BYTES:
            length, position = _varint(data, position)
            if position + length > len(data):
                raise ValueError("a field is longer than its message")
            yield key >> 3, data[position : position + length]
            position += length
        elif kind == _FIXED32:
            yield key >> 3, struct.unpack_from("<f", data, position)[0]
            position += 4
        else:
            raise ValueError(f"a field is of the unknown kind {kind}")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _first(data: bytes, number: int, default: bytes | int) -> Any:
    return next((value for field, value in _fields(data) if field == number), default)


class _Names:
    """The names that events and statistics of a plane refer to by numbers."""

    def __init__(self, events: dict[int, str], stats: dict[int, str]) -> None:
        self.events = events
        self.stats = stats

    def statistics(self, data: bytes, number: int) -> Iterator[tuple[str, Statistic]]:
        """The statistics in a message, whose field `number` they are: pairs of a name and a value."""
        for field, value in _fields(data):
            if field == number:
                yield self._statistic(value)

    def _statistic(self, data: bytes) -> tuple[str, Statistic]:
        name = ""
        found: Statistic = None
        for field, value in _fields(data):
            if field == 1:
                name = self.stats.get(value, "")
            elif field == 4:
                found = _signed(value)
            elif field == 5:
                found = value.decode(errors="replace")
            elif field == 7:
                found = self.stats.get(value, "")
            else:
                found = value
        return name, found


def _named(entries: list[bytes]) -> dict[int, str]:
    """Of a map from numbers to messages the names in these."""
    found = {}
    for entry in entries:
        message = _first(entry, 2, b"")
        found[_first(entry, 1, 0)] = _first(message, 2, b"").decode(errors="replace")
    return found


@class_boundary
class ProfileEvent:
    """Something that took time.

    Attributes:
        name: what it was.
        start_ns, duration_ns, end_ns: when, in nanoseconds.
    """

    __slots__ = ("_data", "_names", "duration_ns", "name", "start_ns")

    def __init__(self, data: bytes, names: _Names, origin: int) -> None:
        self._data = data
        self._names = names
        self.name: str = names.events.get(_first(data, 1, 0), "")
        self.start_ns: float = origin + _signed(_first(data, 2, 0)) / 1000
        self.duration_ns: float = _signed(_first(data, 3, 0)) / 1000

    @property
    def end_ns(self) -> float:
        """When it ended."""
        return self.start_ns + self.duration_ns

    @property
    def stats(self) -> Iterator[tuple[str, Statistic]]:
        """What is known of it: pairs of a name and a value."""
        return self._names.statistics(self._data, 4)


@class_boundary
class ProfileLine:
    """What happened one after the other: on a thread, or a stream of a device.

    Attributes:
        name: of the thread or stream.
    """

    __slots__ = ("_data", "_names", "name")

    def __init__(self, data: bytes, names: _Names) -> None:
        self._data = data
        self._names = names
        self.name: str = (_first(data, 11, b"") or _first(data, 2, b"")).decode(errors="replace")

    @property
    def events(self) -> Iterator[ProfileEvent]:
        """Its events."""
        origin = _signed(_first(self._data, 3, 0))
        for field, value in _fields(self._data):
            if field == 4:
                yield ProfileEvent(value, self._names, origin)


@class_boundary
class ProfilePlane:
    """What one device, or the host, did.

    Attributes:
        name: such as "/host:CPU".
    """

    __slots__ = ("_data", "_names", "name")

    def __init__(self, data: bytes) -> None:
        fields: dict[int, list[Any]] = {4: [], 5: []}
        for field, value in _fields(data):
            if field in fields:
                fields[field].append(value)
        self._data = data
        self._names = _Names(_named(fields[4]), _named(fields[5]))
        self.name: str = _first(data, 2, b"").decode(errors="replace")

    @property
    def lines(self) -> Iterator[ProfileLine]:
        """Its threads or streams."""
        for field, value in _fields(self._data):
            if field == 3:
                yield ProfileLine(value, self._names)

    @property
    def stats(self) -> Iterator[tuple[str, Statistic]]:
        """What is known of it: pairs of a name and a value."""
        return self._names.statistics(self._data, 6)


@class_boundary
class ProfileData:
    """A profile: what the host and the devices did while `profiler.trace` recorded, on the XLA backend.

    `ProfileData.from_file(path)` reads one. Nothing else has to be installed for it.

    Args:
        serialized: the contents of a file `*.xplane.pb`.

    Raises TypeError for what are no bytes, ValueError for bytes that are no profile.

    >>> from tangrad.profiler import ProfileData
    >>> list(ProfileData(b"").planes)
    []
    """

    __slots__ = ("_planes",)

    def __init__(self, serialized: bytes) -> None:
        if not isinstance(serialized, (bytes, bytearray)):
            raise TypeError(f"ProfileData: expected the bytes of a profile, got {serialized!r}")
        try:
            self._planes = [ProfilePlane(value) for field, value in _fields(bytes(serialized)) if field == 1]
        except (ValueError, IndexError, struct.error, TypeError, AttributeError) as error:
            raise ValueError(f"ProfileData: these {len(serialized)} bytes are no profile: {error}") from None

    @classmethod
    def from_file(cls, proto_file_path: str | os.PathLike[str]) -> ProfileData:
        """The profile in a file `*.xplane.pb`, below `plugins/profile/` in the folder that a trace was written to.

        Raises ValueError for a file that is none, OSError where it cannot be read.
        """
        return cls(Path(proto_file_path).read_bytes())

    @classmethod
    def from_serialized_xspace(cls, serialized_xspace: bytes) -> ProfileData:
        """The profile in the contents of such a file. Raises as the class."""
        return cls(serialized_xspace)

    @property
    def planes(self) -> Iterator[ProfilePlane]:
        """What the host and each device did."""
        return iter(self._planes)

    def find_plane_with_name(self, name: str) -> ProfilePlane | None:
        """The plane of this name, or None."""
        return next((plane for plane in self._planes if plane.name == name), None)
