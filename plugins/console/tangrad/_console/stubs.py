"""Stubs of the installed composition: what type checkers know of the names that others add to our packages.

Each package that takes its names from entry points comes with a stub of first-party names. What other distributions add
is known where they are installed only, so there a *partial stub package* (PEP 561) is written beside them,
`tangrad-stubs`: for each package that a plugin adds to, its stub and these names. Checkers take all else from us.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import sysconfig
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from tangrad.core import composition
from tangrad.core.tools import Composition

NAME = "tangrad-stubs"
_API = "tangrad.api"
_PARTIAL = "partial\n"
_ADDED = "\n# Added by `tangrad stubs`: what other distributions provide.\n"


def import_line(name: str, value: str) -> str:
    """Return the line, or lines, by which a stub has `name` stand for `module:attribute`."""
    module, _, attribute = value.partition(":")
    if not attribute:
        package, _, leaf = module.rpartition(".")
        return f"from {package} import {leaf} as {name}" if package else f"import {leaf} as {name}"
    if "." not in attribute:
        return f"from {module} import {attribute} as {name}"
    head, _, rest = attribute.partition(".")  # an attribute of a class or object: bound by an assignment
    return f"from {module} import {head} as _{name}_owner\n\n{name} = _{name}_owner.{rest}\n"


def default_folder() -> Path:
    """Return where checkers that look at this Python find the stubs: in its folder of packages."""
    return Path(sysconfig.get_path("purelib"))


def stub_files(composition: Composition) -> dict[str, str]:
    """Return the files of the stub package by path, with their text; none where no plugin adds a name."""
    files: dict[str, str] = {}
    for package, names in sorted(_by_package(composition).items()):
        spec = find_spec(package)
        origin = Path(spec.origin).with_suffix(".pyi") if spec is not None and spec.origin else None
        shipped = origin.read_text(encoding="utf-8") if origin is not None and origin.is_file() else ""
        added = {name: value for name, value in names.items() if name not in _listed(shipped)}
        if added:
            folder = "/".join([NAME, *package.split(".")[1:]])
            files[f"{folder}/__init__.pyi"] = _extended(shipped, added)
    return files | {f"{NAME}/py.typed": _PARTIAL} if files else {}


def _by_package(composition: Composition) -> dict[str, dict[str, str]]:
    """Package -> public name -> `module:attribute`; empty for a name that is computed."""
    values = {plugin.name: plugin.value for plugin in composition.entries(_API) if plugin.status not in _UNUSABLE}
    unusable = {plugin.name for plugin in composition.entries(_API)} - values.keys()
    found: dict[str, dict[str, str]] = {}
    for public in composition.names(_API) - unusable:
        package, _, name = f"tangrad.{public}".rpartition(".")
        found.setdefault(package, {})[name] = values.get(public, "").partition("[")[0].replace(" ", "")
    return {package: names for package, names in found.items() if _is_there(package)}


_UNUSABLE = ("denied", "broken")


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:  # a package above it is not there
        return False


def _listed(stub: str) -> set[str]:
    """The names that a stub exports."""
    for node in ast.parse(stub).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def _extended(shipped: str, added: Mapping[str, str]) -> str:
    lines = [import_line(name, value) if value else f"{name}: _Any" for name, value in sorted(added.items())]
    head = "from typing import Any as _Any\n\n" if "" in added.values() else ""
    listing = "__all__ += [" if shipped else "__all__ = ["
    return shipped + _ADDED + head + "\n".join(lines) + f"\n\n{listing}{', '.join(map(repr, sorted(added)))}]\n"


def differing(files: Mapping[str, str], folder: Path) -> list[str]:
    """Return the paths of what is not as `files` say, or of ours and not among them; `folder` has the stub package."""
    there = _own_files(folder)
    stale = [path for path in there if path not in files]
    missing = [path for path, text in files.items() if there.get(path) != text]
    return sorted([*stale, *missing])


def _own_files(folder: Path) -> dict[str, str]:
    """The files that this command wrote into the stub package, by path, with their text."""
    found = {}
    for path in (folder / NAME).rglob("*"):
        if path.name in ("__init__.pyi", "py.typed") and path.is_file():
            text = path.read_text("utf-8", errors="replace")
            if _ADDED in text or (path.name == "py.typed" and text == _PARTIAL):
                found[path.relative_to(folder).as_posix()] = text
    return found


def write(files: Mapping[str, str], folder: Path) -> None:
    """Bring the stub package in `folder` to what `files` say; what this command wrote beyond is deleted.

    Raises FileExistsError, before anything is changed, where a file would replace one that it did not write.
    """
    own = _own_files(folder)
    for path in files:
        if path not in own and os.path.lexists(folder / path):
            raise FileExistsError(f"{folder / path} is not of this command's making, and is not overwritten")
    for path in own.keys() - files.keys():
        (folder / path).unlink()
        _remove_empty((folder / path).parent, folder)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _remove_empty(inner: Path, folder: Path) -> None:
    """Remove a folder, and those around it within `folder`, as far as nothing else is in them."""
    while inner != folder and not any(inner.iterdir()):
        inner.rmdir()
        inner = inner.parent


def command(arguments: list[str]) -> int:
    """Write stubs, so that type checkers know the names that other distributions add."""
    parser = argparse.ArgumentParser(prog="tangrad stubs", description=command.__doc__)
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="a folder of packages; this Python's if left out")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with status 1 if something differs")
    options = parser.parse_args(arguments)
    folder, files = options.into or default_folder(), stub_files(composition())
    try:
        changed = differing(files, folder)
        if not options.check:
            write(files, folder)
    except OSError as error:
        print(f"tangrad stubs: {error}", file=sys.stderr)
        return 2
    for path in changed:
        print(f"{'differs' if options.check else 'written' if path in files else 'deleted'}: {folder / path}")
    if not changed:
        print(f"{folder / NAME}: nothing to change" if files else "no plugin adds a name: no stubs are needed")
    return 1 if changed and options.check else 0
