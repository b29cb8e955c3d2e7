"""The record of one folder of `sys.path`: which distributions are in it and the entry points of ours, as text on disk.

A plain text format, because what is in a cache folder must never be executed, and because `json` costs 1.2 ms to
import:

    tangrad-discovery 1 <CRC-32 of the rest>
    <path> TAB <state of the folder>
    <names of all distributions in it, separated by TABs>
    [@]
    <distribution> TAB <version> TAB <location of its entry_points.txt>
    ...
    [<group>]
    <entry name> TAB <value> TAB <distribution>
    ...
    [~]
    <file that may change in place> TAB <state of the file>
    ...
    [!]
    <distribution> TAB <problem>
    ...

The rows of a group are parsed when it is asked for.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from typing import NamedTuple

from tangrad._core.composition.files import read_own_file, write_new_file

_FAMILY = b"tangrad-discovery "  # of every version
_MAGIC = _FAMILY + b"1 "
_DISTRIBUTIONS, _WATCHED, _PROBLEMS = "@", "~", "!"


class Distribution(NamedTuple):
    """An installed distribution that has entry points of ours."""

    name: str
    version: str
    location: str


class Record:
    """What one entry of `sys.path` holds."""

    __slots__ = ("_distributions", "_sections", "_texts", "names", "path", "state")

    def __init__(self, path: str, state: str, names: list[str], sections: dict[str, str]) -> None:
        self.path = path
        self.state = state
        self.names = names
        self._sections = sections
        self._texts: dict[str, str] = {}
        self._distributions: dict[str, Distribution] | None = None

    @property
    def distributions(self) -> dict[str, Distribution]:
        """The distributions that have entry points of ours, by name."""
        found = self._distributions
        if found is None:
            found = {}
            for row in self.rows(_DISTRIBUTIONS):  # the first of a name, as `distribution` finds it
                found.setdefault(row[0], Distribution(*row))
            self._distributions = found
        return found

    @property
    def problems(self) -> list[tuple[str, ...]]:
        """What could not be read: distribution and problem."""
        return self.rows(_PROBLEMS)

    @property
    def watched(self) -> list[tuple[str, ...]]:
        """The files that may change while the folder's own time stays, each with its state."""
        return self.rows(_WATCHED)

    def groups(self) -> list[str]:
        """Return the groups that distributions of this folder use."""
        return [group for group in self._sections if len(group) > 1]

    def groups_of(self, distribution: str) -> list[str]:
        """Return the groups that one distribution uses."""
        end = f"\t{distribution}\n"
        return [group for group in self.groups() if end in self._text(group)] if distribution in self.names else []

    def _text(self, group: str) -> str:
        """The rows of a group, each between two ends of line."""
        text = self._texts.get(group)
        if text is None:
            text = self._texts[group] = f"\n{self._sections[group]}\n"
        return text

    def distribution(self, name: str) -> Distribution | None:
        """Return a distribution that has entry points of ours, without reading about the others."""
        rows = self.rows_for(_DISTRIBUTIONS, name)
        return Distribution(*rows[0]) if rows else None

    def rows(self, group: str) -> list[tuple[str, ...]]:
        """Return `(entry name, value, distribution)` for each entry point of `group` in this folder."""
        section = self._sections.get(group)
        width = 2 if group in (_WATCHED, _PROBLEMS) else 3
        rows = [tuple(row.split("\t")) for row in section.split("\n")] if section else []
        return rows if all(len(row) == width for row in rows) else [row for row in rows if len(row) == width]

    def rows_for(self, group: str, name: str, with_suffixes: bool = False) -> list[tuple[str, ...]]:
        """Return the rows of `group` that begin with `name`, or also with `name.suffix`; the others are not parsed.

        A search in the text: splitting the 770 public names of a full installation costs as much as importing pluggy.
        """
        if group not in self._sections:
            return []
        text, wanted, ends = self._text(group), f"\n{name}", ("\t", ".") if with_suffixes else ("\t",)
        rows = []
        start, last = text.find(wanted), len(text) - 1
        while 0 <= start < last:  # at the last end of line no row begins
            stop = text.find("\n", start + 1)
            if text.startswith(ends, start + len(wanted)):
                rows.append(tuple(text[start + 1 : stop].split("\t")))
            start = text.find(wanted, stop)
        return [row for row in rows if len(row) == 3]

    def is_same(self, other: Record | None) -> bool:
        """Return whether another record holds the same."""
        mine = (self.path, self.state, self.names, self._sections)
        return other is not None and mine == (other.path, other.state, other.names, other._sections)

    def text(self) -> str:
        """Return the record as the text that `parse` reads, without its first line."""
        lines = [f"{self.path}\t{self.state}", "\t".join(self.names)]
        lines.extend(f"[{group}]\n{section}" for group, section in self._sections.items())
        return "\n".join(lines)


class Builder:
    """Collects what a scan finds into a `Record`."""

    __slots__ = ("_names", "_rows", "path", "state")

    def __init__(self, path: str, state: str) -> None:
        self.path = path
        self.state = state
        self._names: dict[str, None] = {}
        self._rows: dict[str, list[str]] = {}

    def _add(self, group: str, *parts: str) -> None:
        self._rows.setdefault(group, []).append("\t".join(part.replace("\t", " ").replace("\n", " ") for part in parts))

    def add_name(self, name: str) -> bool:
        """Note that a distribution is here; False if it already was, so that the first one counts."""
        if name in self._names:
            return False
        self._names[name] = None
        return True

    def add_problem(self, name: str, problem: str) -> None:
        """Add what is wrong with a distribution's metadata."""
        self._add(_PROBLEMS, name, problem)

    def add_watched(self, file: str, state: str) -> None:
        """Add a file that may change in place."""
        self._add(_WATCHED, file, state)

    def add_entry_points(self, name: str, version: str, data: bytes, location: str) -> None:
        """Add a distribution with those entry points in `data`, an entry_points.txt, that are ours."""
        self._add(_DISTRIBUTIONS, name, version, location)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.add_problem(name, f"{location} is not UTF-8: {error}")
            return
        group = ""
        for line in text.splitlines():
            line = line.strip()
            if line.startswith("[") and line.endswith("]"):
                group = line[1:-1].strip()
            elif line.startswith("[") or (line.endswith("]") and "=" not in line):
                group = ""  # whose entries follow is unknown
                self.add_problem(name, f"{location}: {line!r} is no header of a section, such as [tangrad.api]")
            elif line and line[0] not in "#;" and group.startswith("tangrad."):
                entry, equals, value = (part.strip() for part in line.partition("="))
                if equals and entry and value and "\t" not in entry + value and entry[0] != "[":
                    self._add(group, entry, value, name)
                else:
                    self.add_problem(name, f"{location}: {line!r} in [{group}] is not 'name = module:attribute'")

    def finish(self) -> Record:
        """Return the record of everything added."""
        sections = {group: "\n".join(rows) for group, rows in self._rows.items()}
        return Record(self.path, self.state, list(self._names), sections)


def name_and_version(folder: str) -> tuple[str, str]:
    """Return the normalised name and the version that the name of a metadata folder states.

    >>> name_and_version("Tangrad_Finufft-0.2.dist-info")
    ('tangrad-finufft', '0.2')
    """
    stem = folder.rpartition(".")[0]
    name, _, version = stem.partition("-")
    if folder.endswith(("egg-info", ".egg")):
        version = version.partition("-py")[0]
    return normalise(name), version


def normalise(name: str) -> str:
    """Return a distribution's name in normal form (PEP 503): lower case, `-` for each run of `-`, `_`, `.`."""
    name = name.lower().replace("_", "-").replace(".", "-")
    while "--" in name:
        name = name.replace("--", "-")
    return name


def file_name(path: str) -> str:
    """Return the name of a folder's record. A collision costs a scan, no mistake: the record states its path."""
    data = os.fsencode(path)
    return f"{zlib.crc32(data):08x}{zlib.adler32(data):08x}.txt"


def parse(data: bytes) -> Record | None:
    """Return the record that `data` holds; None if it is cut, altered, or of another version."""
    header, _, body = data.partition(b"\n")
    if header != _MAGIC + b"%08x" % zlib.crc32(body):
        return None
    try:
        first, *rest = body.decode("utf-8", "surrogateescape").split("\n[")
        about, names = first.split("\n")
        path, state = about.split("\t")
        sections = {}
        for section in rest:
            group, _, rows = section.partition("]\n")
            sections[group] = rows
        return Record(path, state, names.split("\t") if names else [], sections)
    except ValueError:
        return None


def is_record(file: str) -> bool | None:
    """Return whether `file` is a record as discovery writes them: of this user, neither cut nor altered.

    None for a file of another name than records have: it is another program's.
    """
    return read(file) is not None if _is_own_name(os.path.basename(file)) else None


def read(file: str) -> Record | None:
    """Return the record in `file`; None if it is not there, not whole, or not this user's.

    A record names modules that will be imported: what another user put into a shared folder is not taken at its word.
    """
    try:
        return parse(read_own_file(file))
    except (OSError, ValueError):
        return None


def write(file: str, record: Record, maximum: int) -> bool:
    """Write a record in one step, so that no reader ever sees half of it; False if the folder does not allow it."""
    temporary = f"{file}.{os.getpid()}.{id(record):x}"
    try:
        body = record.text().encode("utf-8", "surrogateescape")
        contents = _MAGIC + b"%08x\n" % zlib.crc32(body) + body
        if not record.is_same(parse(contents)):  # names of folders may hold what separates names here
            return False
        folder = os.path.dirname(file)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_new_file(temporary, contents)
        os.replace(temporary, file)
        _prune(folder, maximum)
    except (OSError, ValueError):
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        return False
    return True


def _prune(folder: str, maximum: int) -> None:
    """Delete the oldest records beyond `maximum`, and with them what an interrupted writer left.

    The user may keep other things in the folder: what has no name as records have, or does not begin as they
    do, is neither counted nor touched.
    """
    files = [os.path.join(folder, name) for name in os.listdir(folder) if _is_own_name(name)]
    if len(files) <= maximum:
        return
    files = sorted(filter(_is_own, files), key=_age)
    for file in files[: max(0, len(files) - maximum)]:
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            os.unlink(file)


def _is_own_name(name: str) -> bool:
    """Whether `write` makes files of this name: a record's, or that name, a process and an address."""
    stem, *rest = name.split(".")
    if len(stem) != 16 or len(rest) not in (1, 3) or rest[0] != "txt":
        return False
    return all(map(_is_hexadecimal, [stem, *rest[1:]]))


def _is_hexadecimal(text: str) -> bool:
    return text != "" and not text.strip("0123456789abcdef")


def _is_own(file: str) -> bool:
    """Whether a file of such a name begins as records of any version do; what a writer left may be empty."""
    try:
        contents = read_own_file(file)
    except OSError:
        return False
    return contents.startswith(_FAMILY) or (contents == b"" and not file.endswith(".txt"))


def _age(file: str) -> float:
    try:
        return os.lstat(file).st_mtime
    except OSError:
        return 0.0
