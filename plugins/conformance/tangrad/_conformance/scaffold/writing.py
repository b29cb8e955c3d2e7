"""Puts a rendered package into a folder: whole or not at all, over nothing that is there, under names that are free."""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from tangrad._conformance.scaffold.naming import Names
from tangrad.core import composition
from tangrad.extend import console


def _public_owner(name: str) -> str | None:
    """Who of ours has a public name, installed or not; modules have theirs too."""
    if name in console.public_names() or "." not in name:
        owner = console.distribution_of(name)
        if owner is None and find_spec(f"tangrad.{name}") is not None:
            return "tangrad-core"
        return owner
    return None


# What one distribution only may provide under a name, and who of ours does.
_OWNERS: dict[str, Callable[[str], str | None]] = {
    "tangrad.api": _public_owner,
    "tangrad.primitives": partial(console.owner_in, console.FAMILIES),
    "tangrad.rule_kinds": partial(console.owner_in, console.RULE_KINDS),
    "tangrad.transformations": lambda name: None,
    "tangrad.backends": lambda name: None,
}


def check_free(files: dict[str, str], names: Names) -> None:
    """Raise ValueError if another distribution, installed or of ours, has a name that the package would claim."""
    if names.distribution in {"tangrad-core", *console.MODULES}:
        raise ValueError(f"{names.distribution} is a distribution of Tangrad itself; choose another name")
    groups = tomllib.loads(files["pyproject.toml"])["project"]["entry-points"]
    for group, find in _OWNERS.items():
        for name in groups.get(group, {}):
            owners = [plugin.distribution for plugin in composition().entries(group) if plugin.name == name]
            others = [owner for owner in [*owners, find(name)] if owner not in (None, names.distribution)]
            if others:
                what = f"tangrad.{name}" if group == "tangrad.api" else f"{name} in {group}"
                raise ValueError(f"{names.name!r} is taken: {what} is provided by {others[0]}; choose another name")


def write(files: dict[str, str], folder: Path) -> None:
    """Write a package into `folder`, which must not exist or be empty. Its parents are made.

    Raises:
        FileExistsError: there is something at `folder`; nothing is written.
        OSError: the file system does not allow it; nothing is left behind.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists already, and nothing in it is overwritten")
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        package = work / folder.name
        package.mkdir()  # with the permissions that the user's folders have; the outer one is closed to others
        for path, text in files.items():
            file = package / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        if folder.exists():
            folder.rmdir()
        os.rename(package, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
