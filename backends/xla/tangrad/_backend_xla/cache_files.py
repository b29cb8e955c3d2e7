"""The files of the persistent compilation cache. Nothing here needs jaxlib: the command `tangrad cache` works without.

An entry is a file, named by its key, the digest of all that determines the program. It has, integers in little-endian
order:

    bytes
    14   `tangrad-xla-3` and a line feed
    32   SHA-256 of the key's bytes and all that follows: what was moved to another key's name does not fit
    4    the length of the description
         the description, a line each: the program's name, jaxlib's version, the platform, seconds that compiling took
         XLA's serialised executable

Several processes may use one folder: entries appear by renaming, and one that is damaged, cut or foreign is ignored and
written anew. An entry is machine code. So the folder must belong to the user and be closed to others for writing, or it
is not used; and so must each file in it, which may be older than the folder's mode.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tangrad.core.backends import Logger, read_own_file
from tangrad.core.tools import cache_folder

logger = Logger(__name__)

_FAMILY = b"tangrad-xla-"  # of every version
MAGIC = _FAMILY + b"3\n"
SUFFIX = ".xlaexec"
_WRITING = ".writing-"
_DIGEST_BYTES = hashlib.sha256().digest_size
_LENGTH_BYTES = 4
ABANDONED_SECONDS = 3600
_ENTRY_NAME = re.compile(rf"[0-9a-f]{{{2 * _DIGEST_BYTES}}}{re.escape(SUFFIX)}")
_UNFINISHED_NAME = re.compile(rf"{re.escape(_WRITING)}[a-z0-9_]{{8}}")  # as `mkstemp` makes them


# --- the folder ------------------------------------------------------------------------------------------------------


def default_folder() -> Path | None:
    """The folder of who names none: `programs` beside the records of plugins; None where there is none."""
    records = cache_folder(os.environ)
    return None if records is None else Path(records).parent / "programs"


@lru_cache(8)
def usable_folder(setting: str | None) -> Path | None:
    """The cache's folder, made if need be; None where there is none or it is not ours alone."""
    if setting is None:
        return None
    folder = Path(setting).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
    except OSError as error:
        logger.warning("compilation cache: folder %s is not usable, programs are not cached: %s", folder, error)
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        logger.warning(
            "compilation cache: folder %s can be written to by other users, programs are not cached: "
            "it must belong to you and be closed to others (chmod go-w)",
            folder,
        )
        return None
    return folder


@lru_cache(8)
def _warn_once(folder: Path, name: str, error: str) -> None:
    """A full or read-only disk refuses every program: one warning is enough."""
    logger.warning("compilation cache: %s is not written to %s: %s", name, folder, error)


# --- reading ---------------------------------------------------------------------------------------------------------


class DamagedEntry(ValueError):
    """A file that is no entry of this version under its key."""


class Description(NamedTuple):
    """An entry's description of its program; nothing of it decides whether it is used: the key does."""

    name: str
    jaxlib: str
    platform: str
    seconds: str


class Contents(NamedTuple):
    """What an entry holds: the description of the program, and the executable."""

    description: Description
    payload: bytes


def path_of(folder: Path, key: str) -> Path:
    """The file of a key."""
    return folder / (key + SUFFIX)


def read(path: Path, key: str) -> bytes | None:
    """The executable of an entry; None if it is missing, damaged, or another's."""
    try:
        contents = unpacked(read_own_file(str(path)), key)
    except FileNotFoundError:
        return None
    except OSError as error:
        logger.warning("compilation cache: an entry cannot be used and is written anew: %s", error)
        return None
    except DamagedEntry as error:
        logger.warning("compilation cache: %s is damaged or foreign (%s); it is ignored and written anew", path, error)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # the least recently used entries are the first to go
    return contents.payload


def unpacked(data: bytes, key: str) -> Contents:
    """The contents of an entry. Raises DamagedEntry for what is none, of another version, or another key's."""
    if not data.startswith(_FAMILY):
        raise DamagedEntry("it does not begin as entries do")
    if not data.startswith(MAGIC):
        raise DamagedEntry("it is of another version of the format")
    start = len(MAGIC) + _DIGEST_BYTES
    body = data[start:]
    if data[len(MAGIC) : start] != _digest(key, body):
        raise DamagedEntry("it is not what was written under this key")
    end = _LENGTH_BYTES + int.from_bytes(body[:_LENGTH_BYTES], "little")
    return Contents(Description(*body[_LENGTH_BYTES:end].decode().split("\n")), body[end:])


def _digest(key: str, body: bytes) -> bytes:
    return hashlib.sha256(bytes.fromhex(key) + body).digest()


# --- writing ---------------------------------------------------------------------------------------------------------


def packed(key: str, description: Description, payload: bytes) -> bytes:
    """An entry as bytes."""
    written = "\n".join([" ".join(text.splitlines()) for text in description]).encode(errors="replace")
    body = len(written).to_bytes(_LENGTH_BYTES, "little") + written + payload
    return MAGIC + _digest(key, body) + body


def write(folder: Path, key: str, contents: bytes, name: str, limit: int | None) -> None:
    """Write an entry under a temporary name, and rename it, after older ones have made room. A full disk is logged."""
    if limit is not None and len(contents) > limit:
        return
    temporary = None
    try:
        if limit is not None:
            make_room(folder, limit - len(contents))
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=_WRITING)
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
        os.replace(temporary, path_of(folder, key))
        temporary = None
    except OSError as error:
        _warn_once(folder, name, str(error))
    finally:
        if temporary is not None:
            _remove(Path(temporary))


# --- what is there ---------------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """One file: when it was last used, its size, and where it is."""

    used: float
    size: int
    path: Path

    @property
    def is_whole(self) -> bool:
        """Whether it has an entry's name, not that of what a writer has not finished."""
        return bool(_ENTRY_NAME.fullmatch(self.path.name))

    @property
    def key(self) -> str:
        """The digest that it is found by."""
        return self.path.name.removesuffix(SUFFIX)

    def contents(self) -> Contents:
        """What it holds. Raises DamagedEntry or OSError for one that would not be used."""
        return unpacked(read_own_file(str(self.path)), self.key)


def entries(folder: Path) -> list[Entry]:
    """The entries, the least recently used first."""
    return sorted([entry for entry in _files(folder) if entry.is_whole])


def _files(folder: Path) -> Iterator[Entry]:
    """Entries of every version, and what writers have not finished.

    The user may keep other things in the folder: what has no name as entries have, or does not begin as they
    do, is left out.
    """
    for path in folder.iterdir():
        is_unfinished = bool(_UNFINISHED_NAME.fullmatch(path.name))
        if not (is_unfinished or _ENTRY_NAME.fullmatch(path.name)) or not _is_own(path, is_unfinished):
            continue
        try:
            status = path.lstat()
        except OSError:
            continue  # another process was faster
        yield Entry(status.st_mtime, status.st_size, path)


def make_room(folder: Path, limit: int) -> None:
    """Remove the least recently used entries until the rest take at most `limit` bytes, and crashed writers' files."""
    found = sorted(_files(folder))
    for entry in found:
        if not entry.is_whole and entry.used < time.time() - ABANDONED_SECONDS:
            _remove(entry.path)
    kept = [entry for entry in found if entry.is_whole]
    total = sum([entry.size for entry in kept])
    for entry in kept:
        if total <= limit:
            return
        _remove(entry.path)
        total -= entry.size


def clear(folder: Path) -> tuple[int, int]:
    """Remove all entries, and what writers left: how many files that were, and how many bytes."""
    found = list(_files(folder))
    removed = [entry for entry in found if _remove(entry.path)]
    return len(removed), sum([entry.size for entry in removed])


def _is_own(path: Path, may_be_empty: bool) -> bool:
    """Whether a file of such a name is an entry of some version, whole or not."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as file:
            beginning = file.read(len(_FAMILY))
    except OSError:
        return False
    return beginning == _FAMILY or (may_be_empty and beginning == b"")


def _remove(path: Path) -> bool:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        logger.debug("compilation cache: %s cannot be removed: %s", path, error)
        return False
    return True
