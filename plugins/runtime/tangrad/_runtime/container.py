"""The file around a saved program: how large it may be, what is wrong with one, which distributions it needs."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tangrad.core import Primitive, composition, find_primitive, rule_table

# --- What is wrong with a saved program, or with one that is to be saved ----------------------------------------------


class ArtifactError(ValueError):
    """A program cannot be saved, or a file holds no program that can be run here. The message states why.

    Nothing of a refused file is kept, and none of it has been run.

    >>> from tangrad import runtime
    >>> runtime.load(b"no program")
    Traceback (most recent call last):
        ...
    tangrad._runtime.container.ArtifactError: not a saved program: the file has 10 bytes, its header alone takes 32
    """


def of_type(value: object) -> str:
    """A value and its type, for messages, cut where it is long."""
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} of type {type(value).__name__}"


# --- How large a saved program may be, for those who load files of others ---------------------------------------------


@dataclass(frozen=True)
class Limits:
    """What a file may ask for; one that asks for more is refused before anything is allocated for it.

    Attributes:
        file_bytes: of the whole file.
        program_bytes: of the section that describes the program; to read it takes some thirty times as much memory.
        equations: in the program and those nested in it.
        value_bytes: of any one array that the program takes, computes or returns.

    >>> from tangrad import runtime
    >>> runtime.Limits(value_bytes=1 << 20).equations
    100000
    """

    file_bytes: int = 4 << 30
    program_bytes: int = 64 << 20
    equations: int = 100_000
    value_bytes: int = 4 << 30


DEFAULT = Limits()


# --- The file around a saved program: named sections behind a table, each with its checksum ---------------------------
#     offset  bytes
#     0       8      89 54 47 52 0D 0A 1A 0A
#     8       4      version of this layout: 1
#     12      4      number of sections, at most 64
#     16      8      length of the file
#     24      4      CRC-32 of the bytes before, and of the table
#     28      4      zero
#     32      40 n   the table: for each section its name (16 bytes, ASCII, filled with zeros), its offset (8), its
#                    length (8), its CRC-32 (4), and zero (4)
#
# Sections are in the order of the table, each at the next multiple of 64, with zeros between them; the file ends with
# the last. Integers are little-endian. So every byte is checked: a file that was cut, altered, or put together from two
# is refused. The first bytes show, as those of PNG do, whether a file was sent as text.
#
# Readers pass over sections that they do not know.


MAGIC = b"\x89TGR\r\n\x1a\n"
VERSION = 1
MOST_SECTIONS = 64
ALIGNMENT = 64

_HEADER = struct.Struct("<8sIIQII")
_ROW = struct.Struct("<16sQQII")
_CHECKED = 24  # bytes of the header that its checksum is of
HEADER_BYTES = _HEADER.size


def pack(sections: Mapping[str, bytes]) -> bytes:
    """The file with these sections. Raises ValueError for too many, or names that are not 1 to 16 ASCII letters.

    >>> from tangrad._runtime.container import pack, unpack
    >>> bytes(unpack(pack({"data": b"1234"}))["data"])
    b'1234'
    """
    if len(sections) > MOST_SECTIONS:
        raise ValueError(f"at most {MOST_SECTIONS} sections, got {len(sections)}")
    table, parts = [], []
    end = HEADER_BYTES + _ROW.size * len(sections)
    for name, contents in sections.items():
        encoded = name.encode("ascii", "replace")
        if not (0 < len(encoded) <= 16 and name.isascii() and name.isidentifier()):
            raise ValueError(f"the name of a section must be 1 to 16 ASCII letters, got {name!r}")
        start = _aligned(end)
        table.append(_ROW.pack(encoded, start, len(contents), zlib.crc32(contents), 0))
        parts += [bytes(start - end), contents]
        end = start + len(contents)
    rows = b"".join(table)
    head = _HEADER.pack(MAGIC, VERSION, len(sections), end, 0, 0)[:_CHECKED]
    return b"".join([head, struct.pack("<II", zlib.crc32(head + rows), 0), rows, *parts])


def unpack(data: bytes | memoryview) -> dict[str, memoryview]:
    """The sections of a file, as parts of it; nothing is copied. Raises ArtifactError for anything but a whole file."""
    view = memoryview(data)
    rows = _table(view)
    sections: dict[str, memoryview] = {}
    end = HEADER_BYTES + _ROW.size * len(rows)
    for name, start, length, checksum in rows:
        if start != _aligned(end) or length > len(view) - start:
            raise ArtifactError(f"the file is damaged: section {name!r} is not where it should be")
        if any(view[end:start]) or zlib.crc32(view[start : start + length]) != checksum:
            raise ArtifactError(f"the file is damaged: section {name!r} is not what was written")
        if name in sections:
            raise ArtifactError(f"the file is damaged: it has two sections {name!r}")
        sections[name] = view[start : start + length]
        end = start + length
    if end != len(view):
        raise ArtifactError(f"the file is damaged: {len(view) - end} bytes follow its last section")
    return sections


def check_header(head: bytes, size: int) -> None:
    """Raise ArtifactError unless a file of `size` bytes may begin so: asked before the rest is read."""
    if size < HEADER_BYTES or len(head) < HEADER_BYTES:
        raise ArtifactError(f"not a saved program: the file has {size} bytes, its header alone takes {HEADER_BYTES}")
    magic, version, count, length, _, zero = _HEADER.unpack_from(head)
    if magic != MAGIC:
        raise ArtifactError(f"not a saved program: the file begins with {bytes(magic)!r}, expected {MAGIC!r}")
    if version != VERSION:
        raise ArtifactError(f"the file has version {version} of the format; this distribution reads version {VERSION}")
    if length != size:
        raise ArtifactError(f"the file is damaged: it has {size} bytes, its header states {length}")
    if zero or count > MOST_SECTIONS or HEADER_BYTES + _ROW.size * count > size:
        raise ArtifactError("the file is damaged: its header makes no sense")


def _table(view: memoryview) -> list[tuple[str, int, int, int]]:
    check_header(bytes(view[:HEADER_BYTES]), len(view))
    _, _, count, _, checksum, _ = _HEADER.unpack_from(view)
    rows = view[HEADER_BYTES : HEADER_BYTES + _ROW.size * count]
    if zlib.crc32(rows, zlib.crc32(view[:_CHECKED])) != checksum:
        raise ArtifactError("the file is damaged: its table of sections is not what was written")
    return list(_rows(rows))


def _rows(rows: memoryview) -> Iterator[tuple[str, int, int, int]]:
    for name, start, length, checksum, zero in _ROW.iter_unpack(rows):
        text = name.rstrip(b"\0").decode("ascii", "replace")
        if zero or not text.isidentifier():
            raise ArtifactError("the file is damaged: its table of sections makes no sense")
        yield text, start, length, checksum


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


# --- Which distributions a saved program needs, and whether those that are installed will do ---

Requirement = tuple[str, str, str]  # family, distribution, version
PRIMITIVES = "tangrad.primitives"
# Distribution -> those that have become parts of it: older files name them, and so does the page on distributions.
JOINED = {
    "tangrad-collectives": ("tangrad-named-axes",),
    "tangrad-conformance": ("tangrad-scaffold",),
    "tangrad-custom-rules": ("tangrad-checkpoint", "tangrad-jacobians"),
    "tangrad-export": ("tangrad-xla-computation",),
    "tangrad-lax": ("tangrad-control-flow", "tangrad-linalg", "tangrad-symbolic"),
    "tangrad-numpy": ("tangrad-fft", "tangrad-ops"),
    "tangrad-references": ("tangrad-pallas",),
    "tangrad-scipy": ("tangrad-image", "tangrad-ode", "tangrad-example-libraries"),
    "tangrad-sharding": ("tangrad-pjit", "tangrad-pmap", "tangrad-shard-map", "tangrad-xmap"),
}
_PRESENT = {former: present for present, formers in JOINED.items() for former in formers}


def requirements_of(primitives: Iterable[Primitive]) -> list[Requirement]:
    """For each family of some primitives: the family, the distribution that ships it, and its version.

    Raises ArtifactError for a primitive that no installed distribution has registered: it could not be found again.
    """
    found: dict[str, Requirement] = {}
    for primitive in primitives:
        family = primitive.family
        plugin = composition().find(PRIMITIVES, family)
        if plugin is None or not plugin.distribution or plugin.load().primitives.get(primitive.name) is not primitive:
            raise ArtifactError(
                f"the program uses {primitive.identity!r}, which no installed distribution registers under "
                f"{PRIMITIVES!r}, so that it could not be found again"
            )
        found[family] = (family, plugin.distribution, plugin.version)
    return [found[family] for family in sorted(found)]


def check_requirements(requirements: Sequence[Requirement]) -> None:
    """Raise ArtifactError naming every family that is not installed, or in a version that will not do."""
    wrong = []
    for family, named, version in requirements:
        distribution = _PRESENT.get(named, named)
        plugin = composition().find(PRIMITIVES, family)
        if plugin is None:
            wrong.append(f"  * {family!r}, of {distribution} {version}: not installed; pip install {distribution}")
        elif plugin.distribution != distribution:
            installed = f"{plugin.distribution} {plugin.version}"
            wrong.append(f"  * {family!r}, of {distribution} {version}: here it belongs to {installed}")
        elif not is_compatible(plugin.version, version):
            wrong.append(f"  * {family!r}, of {distribution} {version}: {plugin.version} is installed")
    if wrong:
        raise ArtifactError("the program needs primitives that are not here:\n" + "\n".join(wrong))


def is_compatible(installed: str, saved: str) -> bool:
    """Whether a program saved with one version of a distribution runs with another.

    It does with the same or a later one of the same series: of the same major version, and before 1.0 of the same minor
    version.

    >>> from tangrad._runtime.container import is_compatible
    >>> is_compatible("1.4.0", "1.2.5"), is_compatible("1.2", "1.4"), is_compatible("0.3.0", "0.2.0")
    (True, False, False)
    """
    here, there = _numbers(installed), _numbers(saved)
    series = 1 if there[0] else 2
    return here[:series] == there[:series] and here >= there


def _numbers(version: str) -> tuple[int, ...]:
    found = [int(number) for number in re.findall(r"\d{1,9}", version.partition("+")[0])[:3]]
    return (*found, 0, 0, 0)[:3]


def find_usable(identity: str) -> Primitive | None:
    """The primitive `family.name`, if it can run here. Raises ArtifactError naming it."""
    try:
        primitive = find_primitive(identity)
    except LookupError as error:
        raise ArtifactError(f"the program uses {identity!r}: {error}") from None
    status = rule_table("lower.numpy").cell(primitive).status
    if status not in ("rule", "general", "derived"):
        raise ArtifactError(f"the program uses {identity!r}, for which the NumPy backend has no lowering ({status})")
    return primitive
