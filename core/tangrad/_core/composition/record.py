"""The record of a folder of `sys.path`: its distributions and their entry points of ours, as text on disk; their index.

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
import re
import stat
import zlib
from collections.abc import Iterable
from typing import NamedTuple

_FAMILY = b"tangrad-discovery "  # of every version
_MAGIC = _FAMILY + b"1 "
_DISTRIBUTIONS, _WATCHED, _PROBLEMS = "@", "~", "!"
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


class Distribution(NamedTuple):
    """An installed distribution that has entry points of ours."""

    name: str
    version: str
    location: str


class Record:
    """What one entry of `sys.path` holds: the names of all distributions in it, and rows by sections, as text."""

    __slots__ = ("_distributions", "_sections", "names", "path", "state")

    def __init__(self, path: str, state: str) -> None:
        self.path = path
        self.state = state
        self.names: dict[str, None] = {}
        self._sections: dict[str, str] = {}  # rows, each between two ends of line
        self._distributions: dict[str, Distribution] | None = None

    # --- what is in it ---

    @property
    def distributions(self) -> dict[str, Distribution]:
        """The distributions that have entry points of ours, by name."""
        if self._distributions is None:
            rows = reversed(self.rows(_DISTRIBUTIONS))  # the first of a name counts
            self._distributions = {row[0]: Distribution(*row) for row in rows}
        return self._distributions

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
        return [group for group in self.groups() if end in self._sections[group]] if distribution in self.names else []

    def rows(self, group: str) -> list[tuple[str, ...]]:
        """Return `(entry name, value, distribution)` for each entry point of `group` in this folder."""
        width = 2 if group in (_WATCHED, _PROBLEMS) else 3
        rows = [tuple(row.split("\t")) for row in self._sections.get(group, "")[1:-1].split("\n")]
        return [row for row in rows if len(row) == width]

    def rows_for(self, group: str, name: str, with_suffixes: bool = False) -> list[tuple[str, ...]]:
        """Return the rows of `group` that begin with `name`, or also with `name.suffix`; the others are not parsed.

        A search in the text: splitting the 770 public names of a full installation costs as much as importing pluggy.
        """
        text, wanted, ends = self._sections.get(group, ""), f"\n{name}", ("\t", ".") if with_suffixes else ("\t",)
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
        sections = [f"[{group}]{section[:-1]}" for group, section in self._sections.items()]
        return "\n".join([f"{self.path}\t{self.state}", "\t".join(self.names), *sections])

    # --- what a scan adds ---

    def _add(self, group: str, *parts: str) -> None:
        row = "\t".join(part.replace("\t", " ").replace("\n", " ") for part in parts)
        self._sections[group] = "".join((self._sections.get(group, "\n"), row, "\n"))

    def add_name(self, name: str) -> bool:
        """Note that a distribution is here; False if it already was, so that the first one counts."""
        if name in self.names:
            return False
        self.names[name] = None
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


class Index:
    """What is installed, in the order of `sys.path`, without the distributions that an earlier one shadows."""

    __slots__ = ("_names", "_records", "_with_group")

    def __init__(self, found: Iterable[Record]) -> None:
        self._records: list[tuple[Record, set[str]]] = []  # each with the names in it that an earlier one hides
        self._names: set[str] = set()
        for record in found:
            self._records.append((record, self._names.intersection(record.names)))
            self._names.update(record.names)

    def has_distribution(self, name: str) -> bool:
        """Return whether a distribution is installed, with or without plugins; `name` in normal form."""
        return name in self._names

    def distributions(self) -> dict[str, Distribution]:
        """Return the distributions that have entry points of ours, by name."""
        pairs = [(hidden, item) for record, hidden in self._records for item in record.distributions.items()]
        return {name: one for hidden, (name, one) in pairs if name not in hidden}

    def groups(self) -> list[str]:
        """Return the names of all groups that some distribution uses, sorted."""
        return sorted({group for record, _ in self._records for group in record.groups()})

    def groups_of(self, distribution: str) -> set[str]:
        """Return the groups that one distribution uses."""
        visible = [record for record, hidden in self._records if distribution not in hidden]
        return {group for record in visible for group in record.groups_of(distribution)}

    def rows(self, group: str, name: str | None = None, with_suffixes: bool = False) -> list[tuple[str, str, str, str]]:
        """Return `(entry name, value, distribution, its version)` of every visible entry point of `group`.

        With a `name`, of those called so, or also `name.suffix`; then nothing else is looked at.
        """
        found = []
        for record, hidden in self._records:
            if group not in record.groups():
                continue
            rows = record.rows(group) if name is None else record.rows_for(group, name, with_suffixes)
            for entry, value, owner in rows:
                known = None if owner in hidden else record.distributions.get(owner)
                if known is not None:
                    found.append((entry, value, owner, known.version))
        return found

    def shadowed(self) -> list[tuple[str, str, str]]:
        """Return `(distribution, where it is used from, where it also is)` for those that are installed twice."""
        places: dict[str, str] = {}
        found = []
        for record, hidden in self._records:
            known = record.distributions
            found += [(name, places[name], known[name].location) for name in known if name in hidden]
            for name in record.names:
                places.setdefault(name, known[name].location if name in known else record.path)
        return found

    def problems(self) -> list[tuple[str, ...]]:
        """Return what could not be read: distribution and problem."""
        return [problem for record, hidden in self._records for problem in record.problems if problem[0] not in hidden]


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
        record = Record(path, state)
        record.names.update(dict.fromkeys(names.split("\t") if names else ()))
        for section in rest:
            group, _, rows = section.partition("]\n")
            record._sections[group] = f"\n{rows}\n"
        return record
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
    times = {file: time for file in files if (time := _time_of_own(file)) is not None}
    for file in sorted(times, key=times.__getitem__)[: max(0, len(times) - maximum)]:
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            os.unlink(file)


def _is_own_name(name: str) -> bool:
    """Whether `write` makes files of this name: a record's, or that name, a process and an address."""
    return re.fullmatch(r"[0-9a-f]{16}\.txt(\.[0-9a-f]+\.[0-9a-f]+)?", name) is not None


def _time_of_own(file: str) -> float | None:
    """When a file was written that begins as records of any version do, or that a writer left empty; of others None."""
    try:
        contents, time = read_own_file(file), os.lstat(file).st_mtime
    except OSError:
        return None
    return time if contents.startswith(_FAMILY) or (contents == b"" and not file.endswith(".txt")) else None


# --- files ---
# Contents are trusted, or reading them must not stop the process. What was found out about a path need not hold of
# the file that is opened under it a moment later: the owner, the mode and the type are asked of the open file.


def read_regular_file(file: str) -> bytes:
    """Return the contents of a regular file.

    Raises OSError where there is none, or it cannot be read; for anything else, such as a pipe, whose reading would
    wait for a writer, too.
    """
    return _contents(file, _READ, False)


def read_own_file(file: str) -> bytes:
    """Return the contents of a regular file that belongs to this user, and to which no other user may write.

    Raises OSError where there is none, it cannot be read, or is not so; a symbolic link is not followed.
    """
    return _contents(file, _READ | _NO_LINKS, hasattr(os, "getuid"))


def _contents(file: str, flags: int, must_be_own: bool) -> bytes:
    with open(os.open(file, flags), "rb", buffering=0) as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{file} is not a regular file")
        if must_be_own and status.st_uid != os.getuid():
            raise PermissionError(f"{file} belongs to another user")
        if must_be_own and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{file} can be written to by other users")
        return opened.read()


def write_new_file(file: str, contents: bytes) -> None:
    """Write a file that must not exist, for this user alone. Raises OSError, also where the disk takes only a part."""
    with open(file, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as opened:
        opened.write(contents)
