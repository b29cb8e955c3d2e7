"""The persistent compilation cache by hand: `cache.enable` and `cache.disable`, and the command `tangrad cache`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tangrad._backend_xla import cache_files, settings
from tangrad._backend_xla.cache_files import DamagedEntry, Entry

_threshold_before: dict[str, float] = {}  # what `disable` brings back


def enable(
    path: str | os.PathLike[str] | None = None, *, max_size: int | None = None, min_compile_seconds: float = 0.0
) -> Path:
    """Keep compiled programs on disk, for later processes: what they compile again is read instead.

    Args:
        path: the folder, made if need be. It must belong to the user, and be closed to others for writing. None: what
            the setting `compilation_cache_dir` names, else `programs` in the user's cache folder for Tangrad.
        max_size: the most bytes that the folder may hold; the least recently used programs go first. None: that
            of the setting `compilation_cache_max_size`, 1 GiB unless it is set.
        min_compile_seconds: programs that compile faster are not written. The setting `xla_cache_min_compile_seconds`
            has 0.1; here all are.

    Returns:
        The folder.

    Raises:
        ValueError: where no folder is named and the user has none for caches; for a size that is not positive, or
            seconds below zero.

    What cannot be written costs a warning and a compilation, nothing more. Programs of the NumPy backend are not kept:
    their code is made in milliseconds.

    >>> import tempfile
    >>> from tangrad import cache
    >>> folder = cache.enable(tempfile.mkdtemp())
    >>> cache.disable()
    """
    chosen = settings.compilation_cache_dir.value if path is None else os.fspath(path)
    folder = cache_files.default_folder() if chosen is None else Path(chosen).expanduser().absolute()
    if folder is None:
        raise ValueError("cache.enable: no folder is named, and this user has none for caches: pass path=...")
    threshold = settings.xla_cache_min_compile_seconds
    before = threshold.value
    threshold.set(min_compile_seconds)
    try:
        if max_size is not None:
            settings.compilation_cache_max_size.set(max_size)
    except BaseException:
        threshold.set(before)
        raise
    _threshold_before.setdefault("seconds", before)
    settings.compilation_cache_dir.set(str(folder))
    settings.enable_compilation_cache.set(True)
    return folder


def disable() -> None:
    """Keep no more programs on disk, and read none; those that are there stay, and so does the folder's name.

    >>> from tangrad import cache
    >>> cache.disable()
    """
    settings.enable_compilation_cache.set(False)
    if _threshold_before:
        settings.xla_cache_min_compile_seconds.set(_threshold_before.pop("seconds"))


def main(arguments: Sequence[str]) -> int:
    """Compiled programs on disk: where they are, which there are, whether they are whole; or remove them."""
    options = _parser().parse_args(list(arguments))
    chosen = options.folder or settings.compilation_cache_dir.value
    folder = cache_files.default_folder() if chosen is None else Path(chosen).expanduser()
    if folder is None:
        print("tangrad cache: no folder is named, and this user has none for caches: --folder FOLDER", file=sys.stderr)
        return 2
    try:
        return int(options.run(folder))
    except OSError as error:
        print(f"tangrad cache: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tangrad cache", description=main.__doc__)
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    for name, run in ACTIONS.items():
        action = actions.add_parser(name, help=run.__doc__, description=run.__doc__)
        action.add_argument("--folder", type=Path, help="another than TANGRAD_COMPILATION_CACHE_DIR or the default one")
        action.set_defaults(run=run)
    return parser


def _path(folder: Path) -> int:
    """Print the folder."""
    print(folder)
    return 0


def _list(folder: Path) -> int:
    """Print the programs, the least recently used first: size, last use, time to compile, for what, and key."""
    found = _entries(folder)
    for entry in found:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        print(f"{_size(entry.size):>9}  {used}  {_described(entry)}  {entry.key[:16]}")
    print(f"{len(found)} programs, {_size(sum([entry.size for entry in found]))}, in {folder}")
    return 0


def _verify(folder: Path) -> int:
    """Check every program's digest; exit with status 1 if one would not be used."""
    found = _entries(folder)
    faults = [(entry, fault) for entry in found if (fault := _fault(entry)) is not None]
    for entry, fault in faults:
        print(f"{entry.path.name}: {fault}")
    print(f"{len(found)} programs, {len(faults)} of which would not be used, in {folder}")
    return 1 if faults else 0


def _clear(folder: Path) -> int:
    """Remove all programs; other files in the folder stay."""
    count, size = cache_files.clear(folder) if folder.is_dir() else (0, 0)
    print(f"{count} files removed, {_size(size)}, from {folder}")
    return 0


ACTIONS = {"path": _path, "list": _list, "verify": _verify, "clear": _clear}


def _entries(folder: Path) -> list[Entry]:
    return cache_files.entries(folder) if folder.is_dir() else []


def _described(entry: Entry) -> str:
    """What compiling took, for what, and the name."""
    try:
        known = entry.contents().description
    except (DamagedEntry, OSError) as error:
        return f"({error})"
    return f"{known.seconds:>8} s  {known.platform}, jaxlib {known.jaxlib}  {known.name}"


def _fault(entry: Entry) -> str | None:
    try:
        entry.contents()
    except (DamagedEntry, OSError) as error:
        return str(error)
    return None


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
