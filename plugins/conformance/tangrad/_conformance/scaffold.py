"""Writes packages that extend Tangrad: the command `tangrad new`. Whole or not at all, over nothing that is there."""

from __future__ import annotations

import argparse
import ast
import keyword
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable
from functools import partial
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import NamedTuple

from tangrad.core import composition
from tangrad.extend import console

_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")  # PEP 508
_LICENSE = re.compile(r"[A-Za-z0-9.+ ()-]+")  # an SPDX expression, such as `MIT OR Apache-2.0`
_PREFIX = "tangrad-"
LONGEST = 26  # characters: the lines of the templates stay readable


class Names(NamedTuple):
    """What the templates fill in.

    Attributes:
        name: of what is made, an identifier: the primitive's, the backend's, the transformation's.
        distribution: what `pip install` takes. package: what `import` takes.
        class_name: the beginning of the names of classes.
        license: an SPDX expression.
        version: of Tangrad, at least.
    """

    name: str
    distribution: str
    package: str
    class_name: str
    license: str
    version: str


def names_for(given: str, distribution: str | None = None, license: str = "Apache-2.0", version: str = "0.1") -> Names:
    """Return the names of a package.

    Args:
        given: the name of what is made, with or without `tangrad-` before it; letters, digits, `-`, `_` and `.`.
        distribution: the name of the distribution; None: `tangrad-<name>`, as is usual.
        license: an SPDX expression for the package's metadata.
        version: of Tangrad, at least, for the package's requirements.

    Raises:
        ValueError: for a name that no distribution or no module may have, and for a text that is no license.

    >>> from tangrad._conformance.scaffold import names_for
    >>> names_for("Fresnel-Sine")[:4]
    ('fresnel_sine', 'tangrad-fresnel-sine', 'tangrad_fresnel_sine', 'FresnelSine')
    """
    bare = _normal(given, "the name")
    name = _identifier(bare.removeprefix(_PREFIX), given)
    full = _normal(distribution, "--distribution") if distribution else _PREFIX + bare.removeprefix(_PREFIX)
    package = _identifier(full, distribution or given)
    if package in sys.stdlib_module_names or package in ("tangrad", "numpy", "tests"):
        raise ValueError(f"{full!r} would be imported as {package}, which is another package; choose another name")
    if not _LICENSE.fullmatch(license) or not license.strip():
        raise ValueError(f"{license!r} is not an SPDX expression such as 'MIT' or 'MIT OR Apache-2.0'")
    class_name = "".join(part.capitalize() for part in name.split("_"))
    return Names(name, full, package, class_name, license.strip(), version)


def _normal(text: str, what: str) -> str:
    """A distribution's name in normal form (PEP 503)."""
    if not _DISTRIBUTION.fullmatch(text):
        raise ValueError(
            f"{what} {text!r} is not a name that a distribution may have: ASCII letters and digits, and between them "
            "-, _ and . (PEP 508)"
        )
    normal = re.sub(r"[-_.]+", "-", text).lower()
    if len(normal.removeprefix(_PREFIX)) > LONGEST:
        raise ValueError(f"{what} {text!r} is longer than {LONGEST} characters")
    return normal


def _identifier(text: str, given: str) -> str:
    name = text.replace("-", "_")
    if not name.isidentifier():
        reason = "it would begin with a digit" if name[:1].isdigit() else "nothing is left of it"
        raise ValueError(f"{given!r} cannot name a Python module or function: {reason}")
    if keyword.iskeyword(name):
        raise ValueError(f"{given!r} cannot name a Python module or function: {name} is a keyword")
    return name


KINDS = ("primitive", "backend", "transformation", "rules", "hooks")
_COMMON = "common"
_PATH = re.compile(r"^==> (\S+) <==\n", re.MULTILINE)


def render(kind: str, names: Names) -> dict[str, str]:
    """Return the files of a package, by path: the text of each.

    Raises ValueError for a kind that there is no template of, and for a name that something else in the package has.

    >>> from tangrad._conformance.scaffold import names_for, render
    >>> files = render("primitive", names_for("fresnel"))
    >>> "tangrad_fresnel/primitives.py" in files
    True
    """
    if kind not in KINDS:
        raise ValueError(f"there is no template for {kind!r}; there are: {', '.join(KINDS)}")
    values = names._asdict()
    files = {
        path.replace("PACKAGE", names.package).replace("NAME", names.name): Template(text).substitute(values)
        for template in (_COMMON, kind)
        for path, text in sections(template).items()
    }
    # Importing a module replaces the function of that name, and the function what is imported under it.
    if f"{names.package}/{names.name}.py" in files or names.name in _imported(files[f"{names.package}/__init__.py"]):
        raise ValueError(f"{names.name!r} is the name of something else in the package; choose another name")
    return dict(sorted(files.items()))


def _imported(text: str) -> set[str]:
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name for node in found for alias in node.names}


def sections(template: str) -> dict[str, str]:
    """Return the files of a template, not filled in: path -> text. A blank line separates each from the next."""
    folder = resources.files("tangrad._conformance") / "templates"
    _, *parts = _PATH.split((folder / f"{template}.template").read_text(encoding="utf-8"))
    texts = (text.strip("\n") for text in parts[1::2])
    return {path: f"{text}\n" if text else "" for path, text in zip(parts[::2], texts, strict=True)}


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


def main(arguments: list[str]) -> int:
    """Write a package for a primitive, a backend, a transformation, rules or hooks, ready to install and test."""
    options = _parser().parse_args(arguments)
    try:
        names = names_for(options.name, options.distribution, options.license, _version())
        files = render(options.kind, names)
        check_free(files, names)
        folder = Path(options.into) / names.distribution
        write(files, folder)
    except (ValueError, OSError) as error:
        print(f"tangrad new: {error}", file=sys.stderr)
        return 1 if isinstance(error, OSError) else 2
    print(_done(options.kind, names, files, folder))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tangrad new", description=main.__doc__)
    parser.add_argument("kind", choices=KINDS, help="what to make")
    parser.add_argument("name", help="its name, such as fresnel: the package becomes tangrad-fresnel")
    parser.add_argument("--into", default=".", metavar="FOLDER", help="where its folder is made; here if left out")
    parser.add_argument("--distribution", metavar="NAME", help="another name for the package than tangrad-<name>")
    parser.add_argument("--license", default="Apache-2.0", metavar="SPDX", help="its license; Apache-2.0 if left out")
    return parser


def _version() -> str:
    """The series of the installed Tangrad."""
    core = composition().index.distributions().get("tangrad-core")
    parts = core.version.split(".")[:2] if core is not None else []
    return ".".join(parts) if len(parts) == 2 and all(part.isdecimal() for part in parts) else "0.1"


def _done(kind: str, names: Names, files: dict[str, str], folder: Path) -> str:
    lines = [f"Wrote {names.distribution}, with the {kind} {names.name!r}:"]
    lines += [f"    {folder / path}" for path in files]
    lines += ["", "Install it and run its tests, the conformance kit among them:", f"    cd {folder}"]
    lines += ['    python -m pip install -e ".[test]"', "    python -m pytest", "", "Then read its README.md."]
    return "\n".join(lines)
