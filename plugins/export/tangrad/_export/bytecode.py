"""What a module in MLIR's binary form consists of, read without MLIR, whose own reader ends the process over bytes that
were altered.

A file begins with a magic word, its version and who wrote it; sections follow, each with a number and a length: of
strings; of dialects and the names of their operations; of attributes; of properties, which are attributes by position;
and of operations, with the blocks and regions within them. Nearly every number is a varint: the zeros at the low end of
the first byte say how many bytes follow it. Of all that only the names of operations, and the targets of custom calls
are kept. Source: "MLIR Bytecode Format", versions 5 and 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

MAGIC = b"ML\xefR"
VERSIONS = (5, 6)
DEEPEST = 102  # regions within each other: of the module, of its functions, and a hundred in these
STRINGS, DIALECTS, ATTRIBUTES, OFFSETS, OPERATIONS, PROPERTIES = 0, 1, 2, 3, 4, 8
# What follows an operation's name, by bits.
HAS_ATTRIBUTES, HAS_RESULTS, HAS_OPERANDS, HAS_SUCCESSORS, HAS_REGIONS, HAS_USE_ORDERS, HAS_PROPERTIES, UNKNOWN = (
    1 << bit for bit in range(8)
)
CUSTOM_CALL = re.compile(r"vhlo\.custom_call_v\d+|stablehlo\.custom_call")
TARGET = 2  # after api_version and backend_config
STRING = 14  # what the dialect of files calls a string


class Contents(NamedTuple):
    """The names of a module's operations, wherever in it, and the targets of its custom calls."""

    operations: frozenset[str]
    targets: frozenset[str]


class DamagedModule(ValueError):
    """Bytes are no module in MLIR's binary form."""


def _damaged(problem: str) -> NoReturn:
    raise DamagedModule(f"these bytes are no portable artifact of StableHLO: {problem}")


class Reader:
    """Takes numbers and bytes from a part of a file. Raises DamagedModule at its end."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def copy(self) -> Reader:
        """Another reader of what is left."""
        return Reader(self.data, self.at, self.end)

    def take(self, count: int) -> int:
        """Pass over bytes; where they begin."""
        start = self.at
        if count > self.end - start:
            _damaged(f"{count} bytes are missing at byte {start}")
        self.at = start + count
        return start

    def byte(self) -> int:
        return self.data[self.take(1)]

    def number(self) -> int:
        """A varint."""
        first = self.byte()
        if first & 1:
            return first >> 1
        if not first:
            start = self.take(8)
            return int.from_bytes(self.data[start : start + 8], "little")
        more = (first & -first).bit_length() - 1
        start = self.take(more)
        return (first | int.from_bytes(self.data[start : start + more], "little") << 8) >> (more + 1)

    def count(self) -> int:
        """How many things follow; each takes a byte at least."""
        count = self.number()
        if count > self.end - self.at:
            _damaged(f"{count} things are declared to follow at byte {self.at}")
        return count

    def numbers(self) -> int:
        """Pass over numbers, after how many they are, which is returned."""
        count = self.count()
        for _ in range(count):
            self.number()
        return count

    def section(self) -> tuple[int, Reader]:
        """The number of a section, and its contents."""
        kind, length = self.byte(), self.number()
        if kind & 0x80:
            alignment = self.number()
            if not 0 < alignment <= 4096:
                _damaged(f"a section is aligned to {alignment} bytes")
            self.take(-self.at % alignment)
        start = self.take(length)
        return kind & 0x7F, Reader(self.data, start, start + length)

    @property
    def has_more(self) -> bool:
        return self.at < self.end


def read_contents(data: bytes) -> Contents:
    """What a module consists of. Raises DamagedModule."""
    if not data.startswith(MAGIC):
        _damaged(f"the bytes begin with {data[:4]!r}")
    return _Module(data).contents()


class _Module:
    """The tables of a module, and what its operations refer to."""

    def __init__(self, data: bytes) -> None:
        reader = Reader(data, len(MAGIC))
        version = reader.number()
        if version not in VERSIONS:
            _damaged(f"it has version {version} of MLIR's binary form, and versions {VERSIONS} are read")
        while reader.byte():  # who wrote it
            pass
        sections: dict[int, Reader] = {}
        while reader.has_more:
            kind, contents = reader.section()
            if kind in sections:
                _damaged(f"there are two sections {kind}")
            sections[kind] = contents
        missing = {STRINGS, DIALECTS, ATTRIBUTES, OFFSETS, OPERATIONS} - sections.keys()
        if missing:
            _damaged(f"there is no section {min(missing)}")
        self._data, self._sections = data, sections
        self._strings = _read_strings(sections[STRINGS])
        self._names = self._read_names(sections[DIALECTS])
        self._attributes = self._read_offsets(sections[OFFSETS], sections[ATTRIBUTES])
        self._properties = self._read_properties(sections.get(PROPERTIES))

    def contents(self) -> Contents:
        operations, targets = set(), set()
        for name, properties in self._walk():
            operations.add(name)
            if CUSTOM_CALL.fullmatch(name):
                targets.add(self._target(properties))
        return Contents(frozenset(map(_without_version, operations)), frozenset(targets))

    # --- tables ------------------------------------------------------------------------------------------------------

    def _string(self, number: int) -> str:
        if number >= len(self._strings):
            _damaged(f"string {number} of {len(self._strings)} is named")
        return self._strings[number]

    def _read_names(self, reader: Reader) -> list[str]:
        """The names of operations, which are grouped by dialect."""
        dialects: list[str] = []
        names = []
        for _ in range(reader.count()):
            name = reader.number()
            dialects.append(self._string(name >> 1))
            if name & 1:
                reader.section()  # its version
        reader.number()  # of names
        while reader.has_more:
            dialect = reader.number()
            if dialect >= len(dialects):
                _damaged(f"dialect {dialect} of {len(dialects)} is named")
            for _ in range(reader.count()):
                names.append(f"{dialects[dialect]}.{self._string(reader.number() >> 1)}")
        return names

    def _read_offsets(self, reader: Reader, contents: Reader) -> list[Reader]:
        """The position of each attribute."""
        count = reader.number()
        reader.number()  # of types, which follow the attributes
        found: list[Reader] = []
        while reader.has_more and len(found) < count:
            reader.number()  # the dialect
            for _ in range(reader.count()):
                length = reader.number() >> 1
                start = contents.take(length)
                found.append(Reader(self._data, start, start + length))
        if len(found) != count:
            _damaged(f"there are {len(found)} attributes, and {count} are declared")
        return found

    def _read_properties(self, reader: Reader | None) -> list[Reader]:
        found: list[Reader] = []
        if reader is None:
            return found
        for _ in range(reader.count()):
            length = reader.number()
            start = reader.take(length)
            found.append(Reader(self._data, start, start + length))
        return found

    def _target(self, properties: int | None) -> str:
        """The target among the properties of a custom call, which are in the order of their names."""
        if properties is None or properties >= len(self._properties):
            _damaged("a custom call has no properties")
        reader = self._properties[properties].copy()
        number = [reader.number() for _ in range(TARGET + 1)][TARGET]
        if number >= len(self._attributes):
            _damaged(f"attribute {number} of {len(self._attributes)} is named")
        attribute = self._attributes[number].copy()
        if attribute.number() != STRING:
            _damaged("the target of a custom call is no string")
        return self._string(attribute.number())

    # --- operations --------------------------------------------------------------------------------------------------

    def _walk(self) -> Iterator[tuple[str, int | None]]:
        """The name of each operation, and the number of its properties; None without."""
        reader = self._sections[OPERATIONS].copy()
        yield from self._block(reader, 0)
        if reader.has_more:
            _damaged("bytes follow the operations")

    def _block(self, reader: Reader, depth: int) -> Iterator[tuple[str, int | None]]:
        if depth > DEEPEST:
            _damaged(f"regions are nested more than {DEEPEST} deep")
        head = reader.number()
        if head & 1:
            arguments = reader.count()
            for _ in range(arguments):
                if reader.number() & 1:
                    reader.number()  # a location
            if reader.byte():
                _pass_orders_of_uses(reader, arguments)
        for _ in range(head >> 1):
            yield from self._operation(reader, depth)

    def _operation(self, reader: Reader, depth: int) -> Iterator[tuple[str, int | None]]:
        number, mask = reader.number(), reader.byte()
        if number >= len(self._names) or mask & UNKNOWN:
            _damaged(f"operation {number} of {len(self._names)} has the parts {mask:#x}")
        reader.number()  # its location
        if mask & HAS_ATTRIBUTES:
            reader.number()
        yield self._names[number], reader.number() if mask & HAS_PROPERTIES else None
        results = reader.numbers() if mask & HAS_RESULTS else 0
        for part in (HAS_OPERANDS, HAS_SUCCESSORS):
            if mask & part:
                reader.numbers()
        if mask & HAS_USE_ORDERS:
            _pass_orders_of_uses(reader, results)
        if mask & HAS_REGIONS:
            head = reader.number()
            inner = reader.section()[1] if head & 1 else reader  # those that see nothing around them are together
            for _ in range(head >> 1):
                yield from self._region(inner, depth + 1)
            if inner is not reader and inner.has_more:
                _damaged("bytes follow the regions of an operation")

    def _region(self, reader: Reader, depth: int) -> Iterator[tuple[str, int | None]]:
        blocks = reader.count()
        if blocks:
            reader.number()  # of values
        for _ in range(blocks):
            yield from self._block(reader, depth)


def _pass_orders_of_uses(reader: Reader, values: int) -> None:
    for _ in range(1 if values == 1 else reader.count()):
        if values != 1:
            reader.number()  # which value
        for _ in range(reader.number() >> 1):
            reader.number()


def _without_version(name: str) -> str:
    """The name of an operation today: `vhlo.sine_v2`, as files have it, is `stablehlo.sine`."""
    return re.sub(r"^vhlo\.(.*)_v\d+$", r"stablehlo.\1", name)


def _read_strings(reader: Reader) -> list[str]:
    lengths = [reader.number() for _ in range(reader.count())]
    found = []
    for length in reversed(lengths):
        start = reader.take(length)
        found.append(reader.data[start : start + max(0, length - 1)].decode("utf-8", "backslashreplace"))
    return found
