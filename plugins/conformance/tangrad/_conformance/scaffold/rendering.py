"""Fills in the templates. They are the files of a package, in a folder for each kind, and those that all kinds share.

A template's name ends in `.template`, so that no tool takes it for what it will be; PACKAGE and NAME in its path stand
for names, as do `$name`, `$package`, ... in its text. The tests render, check and run an example of each kind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from string import Template

from tangrad._conformance.scaffold.naming import Names

KINDS = ("primitive", "backend", "transformation", "rules", "hooks")
_COMMON, _SUFFIX = "common", ".template"


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
        for folder in (_COMMON, kind)
        for path, text in _templates(resources.files("tangrad._conformance.scaffold") / "templates" / folder)
    }
    # Importing a module replaces the function of that name, and the function what is imported under it.
    if f"{names.package}/{names.name}.py" in files or names.name in _imported(files[f"{names.package}/__init__.py"]):
        raise ValueError(f"{names.name!r} is the name of something else in the package; choose another name")
    return dict(sorted(files.items()))


def _imported(text: str) -> set[str]:
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name for node in found for alias in node.names}


def _templates(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _templates(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SUFFIX):
            yield prefix + entry.name.removesuffix(_SUFFIX), entry.read_text(encoding="utf-8")
