"""Which plugins are installed: reads the entry points of all distributions on `sys.path`, from metadata alone.

`importlib.metadata` needs about 0.2 ms a distribution and several imports; this room scans the folders itself and
keeps, for each folder of `sys.path`, one record on disk (its form: `record.py`). A record is used only while
the folder is in the state in which it was read: installers add and remove whole metadata folders, which changes its
modification time. What development installs rewrite in place (`*.egg-info`) is checked file by file. (A thousand `stat`
calls cost 2 ms, so wheels' files are not.)

Distributions that are elsewhere, in archives or with finders of their own, are asked of importlib.metadata. Nothing
here imports a plugin, and nothing here raises: what cannot be read is a problem that the index lists.
"""

import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tangrad._core.composition import record as records
from tangrad._core.composition.plugin import own_fault
from tangrad._core.composition.record import Index, Record, normalise, read_regular_file

# Below this number of names a folder is listed anew each time: that costs as much as reading its record would.
_SMALL_FOLDER = 64
# A folder that changed this recently may change again within the same tick of its clock: its record would be wrong.
_RACY_NANOSECONDS = 2_000_000_000
# Records kept in the cache folder; the oldest go first. A cache without a bound would grow with every environment made.
_MAXIMUM_RECORDS = 128
# Where the finders come from whose distributions are in folders of `sys.path`, which are scanned here.
_FINDERS_OF_FOLDERS = ("_frozen_importlib_external", "importlib.metadata", "importlib_metadata")


def discover(paths: Iterable[str] | None = None, cache: str | None = None) -> Index:
    """Read the entry points of every distribution on `paths`, by default `sys.path`; what cannot be read is left out.

    `cache`: the folder that holds the records; None reads and writes none.
    """
    found = []
    visited = set()
    for entry in sys.path if paths is None else paths:
        if not isinstance(entry, str):
            continue
        path = _absolute(entry)
        if path is not None and path not in visited:
            visited.add(path)
            record = _record_of(path, cache)
            if record is not None:
                found.append(record)
    if paths is None:
        found += [_record_of_finder(finder, found) for finder in sys.meta_path if _has_distributions(finder)]
    return Index(found)


def _absolute(entry: str) -> str | None:
    """An entry of `sys.path` as an absolute path; None if it is relative to a working directory that is gone."""
    try:
        return os.path.abspath(entry)  # of "" too, which stands for the working directory
    except own_fault(OSError):
        return None


def _has_distributions(finder: object) -> bool:
    """Whether a finder on `sys.meta_path` knows of distributions, and is not the one that looks into folders."""
    module = getattr(finder, "__module__", None)
    return module not in _FINDERS_OF_FOLDERS and callable(getattr(finder, "find_distributions", None))


def cache_folder(environ: Mapping[str, str]) -> str | None:
    """Return the folder for records: `TANGRAD_CACHE_DIR` (`0` or `off`: none), else the user's cache folder."""
    chosen = environ.get("TANGRAD_CACHE_DIR")
    if chosen is not None and chosen.strip().lower() in ("", "0", "off", "none", "false"):
        return None
    if chosen:
        return os.path.join(os.path.expanduser(chosen), "discovery")
    base = environ.get("XDG_CACHE_HOME") or ""
    if not os.path.isabs(base):  # the XDG specification: relative values are invalid and ignored
        base = os.path.expanduser("~/.cache")
    # Where there is no home folder expanduser leaves the tilde; a folder of that name would be a mistake.
    return os.path.join(base, "tangrad", "discovery") if os.path.isabs(base) else None


def _record_of(path: str, cache: str | None) -> Record | None:
    """Return the record of one entry of `sys.path`: from the cache if it is still true, else read anew."""
    try:
        status = os.stat(path)
    except own_fault(OSError, ValueError):
        return None
    if stat.S_ISREG(status.st_mode):  # an archive, or a file that has none
        return _record(path, path, lambda: _metadata().distributions(path=[path]), set())
    if not stat.S_ISDIR(status.st_mode):
        return None
    state = f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"  # all three: images are built with fixed times
    file = None if cache is None else os.path.join(cache, records.file_name(path))
    if file is not None:
        record = _cached(file, path, state)
        if record is not None:
            return record
    recent = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _RACY_NANOSECONDS
    return _scan(path, state, None if recent else file)


def _cached(file: str, path: str, state: str) -> Record | None:
    """Return the record in `file` if it is whole, ours, about `path`, and nothing has changed since; else None."""
    record = records.read(file)
    if record is None or record.path != path or record.state != state:
        return None
    return record if all(_stamp(watched) == stamp for watched, stamp in record.watched) else None


def _stamp(file: str) -> str:
    try:
        status = os.stat(file)
    except own_fault(OSError):
        return "-"
    return f"{status.st_mtime_ns}:{status.st_size}"


def _scan(path: str, state: str, file: str | None) -> Record | None:
    """List one folder, read the entry points of every distribution in it, and write its record if that pays."""
    try:
        names = os.listdir(path)
    except own_fault(OSError):
        return None
    record = Record(path, state)
    for folder in _metadata_folders(path, names):
        _scan_distribution(record, path, folder)
    if file is not None and len(names) > _SMALL_FOLDER:
        records.write(file, record, _MAXIMUM_RECORDS)
    return record


def _metadata_folders(path: str, names: list[str]) -> list[str]:
    """Return the metadata folders among `names`, the newest version of a distribution first.

    Two versions of one distribution in one folder are the remains of an interrupted upgrade: `importlib.metadata` takes
    what the file system happens to list first; the newest is a choice that does not vary.
    """
    folders = [name for name in names if name.endswith((".dist-info", ".egg-info"))]
    folders.sort(key=_version_key, reverse=True)
    if path.endswith(".egg") and "EGG-INFO" in names:
        folders.append("EGG-INFO")
    return folders


def _version_key(folder: str) -> tuple[str, tuple[tuple[int, str], ...]]:
    name, version = records.name_and_version(folder)
    return name, tuple((int(part) if part.isdecimal() else -1, part) for part in version.replace("-", ".").split("."))


def _scan_distribution(record: Record, path: str, folder: str) -> None:
    """Add one distribution to the record; only the few that have entry points of ours are looked at further."""
    name, version = records.name_and_version(os.path.basename(path) if folder == "EGG-INFO" else folder)
    location = os.path.join(path, folder, "entry_points.txt")
    if not record.add_name(name):
        _report_second(record, name, location)
        return
    if not folder.endswith(".dist-info"):
        record.add_watched(location, _stamp(location))  # before it is read: a change in between must not go unnoticed
    try:
        data = read_regular_file(location)
    except (FileNotFoundError, NotADirectoryError):
        return
    except own_fault(OSError) as error:
        record.add_problem(name, f"{location} cannot be read: {error}")
        return
    if b"tangrad." in data:
        version = version or _version_from_headers(os.path.join(path, folder, "PKG-INFO"))
        record.add_entry_points(name, version, data, location)


def _report_second(record: Record, name: str, location: str) -> None:
    """Note the remains of another version of a distribution of ours: they may be what the user takes for the whole."""
    try:
        if b"tangrad." in read_regular_file(location):
            record.add_problem(name, f"{os.path.dirname(location)} is what another version of it left: it is not used")
    except own_fault(OSError):
        pass


def _version_from_headers(file: str) -> str:
    """Return the version that a metadata file states; development installs have none in the folder's name."""
    try:
        headers = re.split(rb"\n\s*\n", read_regular_file(file), maxsplit=1)[0]
    except own_fault(OSError):
        return ""
    found = re.search(rb"^version:(.*)", headers, re.IGNORECASE | re.MULTILINE)
    return "" if found is None else found[1].strip().decode("utf-8", "replace")


# --- distributions that are in no folder ---
# In archives (zipped applications, wheels), or with finders of their own: a frozen application, a browser or an
# application server puts a finder on `sys.meta_path` that makes modules, and reports importlib.metadata of the
# distributions that they belong to.


def _metadata() -> Any:
    """The standard library's, below Python 3.12 the backport, which knows the interface of today."""
    if sys.version_info >= (3, 12):  # 20 ms: only for archives, and for finders with distributions of their own
        from importlib import metadata
    else:
        import importlib_metadata as metadata
    return metadata


def _record_of_finder(finder: Any, earlier: Iterable[Record]) -> Record:
    """Return the record of a finder's distributions, without those that `earlier` records have."""
    known = {name for record in earlier for name in record.names}
    name = f"finder {getattr(finder, '__qualname__', type(finder).__qualname__)}"
    everything = _metadata().DistributionFinder.Context
    return _record(name, name, lambda: finder.find_distributions(everything()), known)


def _record(path: str, location: str, ask: Callable[[], Iterable[Any]], known: set[str]) -> Record:
    record = Record(path, "-")
    try:
        for distribution in ask():
            _add(record, distribution, location, known)
    except own_fault(Exception) as error:  # whatever a foreign finder does: the others are asked all the same
        record.add_problem(path, f"cannot say which distributions it has: {type(error).__name__}: {error}")
    return record


def _add(record: Record, distribution: Any, location: str, known: set[str]) -> None:
    text = ""
    try:
        text = distribution.read_text("entry_points.txt") or ""
        name, version = normalise(distribution.metadata.get("Name")), distribution.version
    except own_fault(Exception) as error:
        if "tangrad." in text:
            record.add_problem(location, f"has a distribution that cannot be read: {type(error).__name__}: {error}")
        return
    if name not in known and record.add_name(name) and "tangrad." in text:
        record.add_entry_points(name, version, text.encode(), location)
