"""The command `tangrad new`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tangrad._conformance.scaffold.naming import Names, names_for
from tangrad._conformance.scaffold.rendering import KINDS, render
from tangrad._conformance.scaffold.writing import check_free, write
from tangrad.core import composition


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
