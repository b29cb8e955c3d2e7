"""Distributions that are in no folder: in archives (zipped applications, wheels), or with finders of their own.

A frozen application, a browser or an application server puts a finder on `sys.meta_path` that makes modules, and
reports importlib.metadata of the distributions that they belong to. The scan of folders (`discovery.py`) cannot see
those; here importlib.metadata is asked: the standard library's, below Python 3.12 the backport, which knows the
interface of today. This module is imported only where there is such an archive or finder.
"""

import sys
from collections.abc import Iterable
from typing import Any

from tangrad._core.composition.faults import own_fault
from tangrad._core.composition.record import Builder, Record, normalise

if sys.version_info >= (3, 12):
    from importlib import metadata
else:
    import importlib_metadata as metadata


def record_of_archive(path: str) -> Record:
    """Return the record of a file on the path; an empty one where it is no archive."""
    return _record(path, path, lambda: metadata.distributions(path=[path]), set())


def record_of_finder(finder: Any, earlier: Iterable[Record]) -> Record:
    """Return the record of a finder's distributions, without those that `earlier` records have."""
    known = {name for record in earlier for name in record.names}
    name = f"finder {getattr(finder, '__qualname__', type(finder).__qualname__)}"
    everything: Any = metadata.DistributionFinder.Context
    return _record(name, name, lambda: finder.find_distributions(everything()), known)


def _record(path: str, location: str, ask: Any, known: set[str]) -> Record:
    builder = Builder(path, "-")
    try:
        for distribution in ask():
            _add(builder, distribution, location, known)
    except own_fault(Exception) as error:  # whatever a foreign finder does: the others are asked all the same
        builder.add_problem(path, f"cannot say which distributions it has: {type(error).__name__}: {error}")
    return builder.finish()


def _add(builder: Builder, distribution: Any, location: str, known: set[str]) -> None:
    text = ""
    try:
        text = distribution.read_text("entry_points.txt") or ""
        name, version = normalise(distribution.metadata["Name"]), distribution.version
    except own_fault(Exception) as error:
        if "tangrad." in text:
            builder.add_problem(location, f"has a distribution that cannot be read: {type(error).__name__}: {error}")
        return
    if name not in known and builder.add_name(name) and "tangrad." in text:
        builder.add_entry_points(name, version, text.encode(), location)
