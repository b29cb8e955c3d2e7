"""The workspace as data: its distributions, read from the tree, so that no list of them is kept anywhere.

`python -m tools.workspace` prints the distributions that are installed from folders which are not there any more.
"""

import importlib.metadata
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
GROUPS_OF_PARTS = ("plugins", "primitives", "backends")
FIRST_PARTY = re.compile(r"tangrad(-[a-z0-9-]+)?")


@dataclass(frozen=True, eq=False)
class Distribution:
    """One first-party distribution: a folder with a `pyproject.toml`."""

    folder: Path
    project: dict

    @property
    def name(self) -> str:
        """The name on the index, e.g. `tangrad-lax`."""
        return self.project["name"]

    @property
    def entry_points(self) -> dict[str, dict[str, str]]:
        """Entry points: group -> name -> `module:attribute`."""
        return self.project.get("entry-points", {})

    @cached_property
    def requirements(self) -> tuple[str, ...]:
        """The names of the required distributions (extras left out), first-party ones and others."""
        return tuple(requirement_name(line) for line in self.project.get("dependencies", ()))

    @property
    def foreign_requirements(self) -> tuple[str, ...]:
        """The lines that require other projects' distributions, with their versions and markers."""
        lines = self.project.get("dependencies", ())
        return tuple(line for line in lines if not FIRST_PARTY.fullmatch(requirement_name(line)))

    @property
    def first_party_requirements(self) -> tuple[str, ...]:
        """The names of the first-party distributions that this one depends on."""
        return tuple(name for name in self.requirements if FIRST_PARTY.fullmatch(name))

    def files(self, suffix: str = ".py") -> Iterator[Path]:
        """Yield the source files that the distribution ships, sorted."""
        yield from sorted((self.folder / "tangrad").rglob(f"*{suffix}"))

    @cached_property
    def modules(self) -> dict[str, Path]:
        """Dotted module name -> file, for every module that the distribution ships (packages by their `__init__`)."""
        return {module_name(path.relative_to(self.folder)): path for path in self.files()}


def requirement_name(line: str) -> str:
    """Return the name of the distribution that a requirement asks for.

    >>> requirement_name("jaxlib>=0.10; python_version < '4'")
    'jaxlib'
    """
    found = re.match(r"[A-Za-z0-9._-]+", line)
    if found is None:
        raise ValueError(f"no requirement: {line!r}; expected a name first, such as numpy>=2")
    return found[0]


def module_name(path: Path) -> str:
    """Return the dotted name of the module in `path`, relative to its import root.

    >>> module_name(Path("tangrad/lax/__init__.py"))
    'tangrad.lax'
    """
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _read(folder: Path) -> Distribution:
    with open(folder / "pyproject.toml", "rb") as file:
        return Distribution(folder, tomllib.load(file)["project"])


def environment_without(*prefixes: str) -> dict[str, str]:
    """Return this process's variables but those whose names begin so: what is run shall not depend on them."""
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}


def umbrella(root: Path = ROOT) -> Distribution:
    """Return the distribution `tangrad` itself, which ships no module."""
    return _read(root)


def supported_pythons(root: Path = ROOT) -> tuple[str, ...]:
    """Return the versions of Python that the classifiers of all distributions name, oldest first: ("3.11", …)."""
    shared = tomllib.loads((root / "tools" / "shared_metadata.toml").read_text())["project"]
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in shared["classifiers"]]
    return tuple(sorted((match[1] for match in found if match), key=lambda version: int(version[2:])))


def distributions(root: Path = ROOT) -> dict[str, Distribution]:
    """Return every distribution that ships modules, by name; core first, then sorted by folder."""
    folders = [root / "core"]
    for group in GROUPS_OF_PARTS:
        folders += sorted(path.parent for path in (root / group).glob("*/pyproject.toml"))
    return {part.name: part for part in map(_read, folders)}


def owners(root: Path = ROOT) -> dict[str, str]:
    """Return dotted module name -> distribution, over the whole tree; two owners of one module are an error."""
    result: dict[str, str] = {}
    for part in distributions(root).values():
        for name in part.modules:
            if name in result:
                raise ValueError(f"module {name} is shipped by both {result[name]} and {part.name}")
            result[name] = part.name
    return result


def left_behind(root: Path = ROOT, path: Sequence[str] | None = None) -> list[str]:
    """Return the distributions that were installed from folders of this tree which have gone.

    Their entry points still claim names that others provide now, which is a conflict. `path` is where to look; by
    default, `sys.path`.
    """
    found = set()
    for one in importlib.metadata.distributions(path=list(sys.path if path is None else path)):
        text = one.read_text("direct_url.json")
        folder = Path(unquote(urlsplit(json.loads(text)["url"]).path)) if text else None
        if folder is not None and folder.is_relative_to(root) and not (folder / "pyproject.toml").exists():
            found.add(one.metadata["Name"])
    return sorted(found)


if __name__ == "__main__":
    print(*left_behind())
