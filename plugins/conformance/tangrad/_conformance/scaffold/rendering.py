"""Fills in the templates: a file for each kind of package, and one with what all kinds share.

A template has all files of a package, each under a line with its path, `==> PACKAGE/primitives.py <==`. PACKAGE and
NAME in paths stand for names, as do `$name`, `$package`, ... in texts. The tests render, check and run an example of
each kind.
"""

from __future__ import annotations

import ast
import re
from importlib import resources
from string import Template

from tangrad._conformance.scaffold.naming import Names

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
    folder = resources.files("tangrad._conformance.scaffold") / "templates"
    _, *parts = _PATH.split((folder / f"{template}.template").read_text(encoding="utf-8"))
    texts = (text.strip("\n") for text in parts[1::2])
    return {path: f"{text}\n" if text else "" for path, text in zip(parts[::2], texts, strict=True)}
