"""Writes what follows from the entry points: the catalogue, and the stubs that editors and checkers read.

Before that, the entry points of functions that are made from declarations (`tools.made_names`).

    python -m tools.generate_api            write the files
    python -m tools.generate_api --check    say which files differ, and exit 1 if any does
    python -m tools.generate_api --stubs    write the stubs alone: those are not kept in the repository (`tools.stubs`)

The catalogue names the distribution of a public name that is not installed. A stub stands beside each package that
composes its names at run time (`tangrad`, `tangrad.lax`, ...), since a checker cannot see through `__getattr__`; and
one beside the base of arrays, whose methods, properties and operators are entries, too.
"""

import argparse
import ast
import sys
import textwrap
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tangrad._console.stubs import import_line
from tools.array_stub import MODULE as MEMBERS
from tools.array_stub import definition, members_stub
from tools.made_names import beside, made_functions, record_functions, rewritten, stubs, type_imports
from tools.stubs import record
from tools.workspace import ROOT, Distribution, distributions, owners, requirement_name

CATALOGUE = "plugins/console/tangrad/_console/explanations/catalogue_data.py"
DOOR = "__getattr__, __dir__ = door("  # a module that hands on names of inner modules
COMPOSED = "public_package(__name__)"  # in a module whose names come from the entry points
CATALOGUE_HEAD = '"""Data of `catalogue.py`. Written by `python -m tools.generate_api`: do not edit."""\n'
WRITTEN = "# Written by `python -m tools.generate_api`"  # what is written by hand stays
DOOR_STUB_HEAD = "# Written by `python -m tools.generate_api` from the table of the door: do not edit.\n"
OTHERWISE = "\nfrom typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"  # gives other names, too
STUB_HEAD = "# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.\n"


class ApiError(Exception):
    """The entry points contradict each other or the tree."""


def public_api(parts: Iterable[Distribution]) -> dict[str, tuple[str, str]]:
    """Return public name -> (distribution, `module:attribute`), over all first-party distributions."""
    api: dict[str, tuple[str, str]] = {}
    for part in parts:
        for name, value in part.entry_points.get("tangrad.api", {}).items():
            if name in api:
                raise ApiError(f"the public name {name!r} is claimed by both {api[name][0]} and {part.name}")
            api[name] = (part.name, value.replace(" ", ""))
    return api


def names_by_distribution(parts: Iterable[Distribution], group: str) -> dict[str, list[str]]:
    """Return distribution -> sorted entry names of one group, for those that have any."""
    table = {part.name: sorted(part.entry_points.get(group, {})) for part in parts}
    return {name: names for name, names in sorted(table.items()) if names}


def tops(modules: dict[str, str]) -> dict[str, list[str]]:
    """Return distribution -> the highest of its modules and folders: those whose parent package is not its own.

    Core is left out: it is present wherever its catalogue is.
    """
    result: dict[str, set[str]] = defaultdict(set)
    for module, distribution in modules.items():
        if distribution != "tangrad-core":
            result[distribution].add(_top(module, distribution, modules))
    return {distribution: sorted(found) for distribution, found in sorted(result.items())}


def _top(module: str, distribution: str, modules: dict[str, str]) -> str:
    """The highest package above a module that is no other distribution's; a folder without `__init__` has no owner."""
    parent = module.rpartition(".")[0]
    return (
        _top(parent, distribution, modules) if parent and modules.get(parent, distribution) == distribution else module
    )


def usual_distributions() -> list[str]:
    """Return the distributions that `pip install tangrad` brings, without their versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return sorted(map(requirement_name, project["dependencies"]))


def _table(name: str, comment: str, table: dict[str, list[str]]) -> str:
    return "\n".join([f"{name}: dict[str, str] = {{  # {comment}", *_rows(table, 4), "}"])


def _rows(table: dict[str, list[str]], indent: int) -> list[str]:
    """Rows of a dictionary from strings to joined strings, as the formatter has them."""
    lines, space = [], " " * indent
    for key, names in table.items():
        joined = " ".join(names)
        wrapped = textwrap.wrap(joined, 113 - indent, break_long_words=False, break_on_hyphens=False)
        if len(joined) <= 114 - indent:  # the formatter joins what fits into a line of 120
            wrapped = [joined]
        if len(wrapped) == 1 and len(key) + len(wrapped[0]) <= 112 - indent:
            lines.append(f'{space}"{key}": "{wrapped[0]}",')
            continue
        lines.append(f'{space}"{key}": (')
        lines += [f'{space}    "{line} "' for line in wrapped[:-1]]
        lines += [f'{space}    "{wrapped[-1]}"', f"{space}),"]
    return lines


def catalogue(parts: list[Distribution], modules: dict[str, str]) -> str:
    """Return the text of the catalogue's data file."""
    tables = (
        ("MODULES", "distribution: the tops of its tree", tops(modules)),
        ("FAMILIES", "distribution: families of primitives", names_by_distribution(parts, "tangrad.primitives")),
        ("RULE_KINDS", "distribution: rule kinds", names_by_distribution(parts, "tangrad.rule_kinds")),
        ("ARRAY_ATTRIBUTES", "distribution: attributes of arrays", names_by_distribution(parts, "tangrad.array")),
        ("SETTINGS", "distribution: settings", names_by_distribution(parts, "tangrad.settings")),
        (
            "SETTING_NAMES",
            "distribution: how other libraries' names of settings begin",
            names_by_distribution(parts, "tangrad.setting_names"),
        ),
        ("BACKENDS", "distribution: backends", names_by_distribution(parts, "tangrad.backends")),
        ("COMMANDS", "distribution: commands of `tangrad`", names_by_distribution(parts, "tangrad.commands")),
        ("USUAL", "distribution: those that it brings", {"tangrad": usual_distributions()}),
    )
    public = _public_table(names_by_distribution(parts, "tangrad.api"))
    return CATALOGUE_HEAD + "\n" + "\n\n".join([public, *(_table(*table) for table in tables)]) + "\n"


def _public_table(table: dict[str, list[str]]) -> str:
    """The public names of each distribution, by the module that they are in: its name stands once."""
    lines = ["PUBLIC: dict[str, dict[str, str]] = {  # distribution: module: public names"]
    for distribution, names in table.items():
        by_module: dict[str, list[str]] = defaultdict(list)
        for name in names:
            module, _, leaf = name.rpartition(".")
            by_module[module].append(leaf)
        lines += [f'    "{distribution}": {{', *_rows(by_module, 8), "    },"]
    return "\n".join([*lines, "}"])


def stub(
    package: str, names: dict[str, str], submodules: Iterable[str], made: dict[str, tuple[str, str]] | None = None
) -> str:
    """Return the stub of `package`: `names` maps each public name in it to its `module:attribute`.

    `made`: signature and summary of those values that are made: of records, or by factories.
    """
    made = {name: made[value] for name, value in names.items() if value in made} if made else {}
    functions = "".join(_made_function(name, beside(one[0], names), one[1]) for name, one in sorted(made.items()))
    exported, names = sorted({*names, *submodules}), {name: names[name] for name in names.keys() - made.keys()}
    imports = [import_line(leaf, f"{package}.{leaf}") for leaf in sorted(submodules) if leaf not in names]
    lines = _grouped([*imports, *(import_line(name, value) for name, value in sorted(names.items()))])
    lines += [line.rstrip() for line in type_imports(functions) if line.split()[-1] not in names]
    listing = ", ".join([f'"{name}"' for name in exported])  # on one line: stubs are a good part of a small install
    version = "\n\n__version__: str" if package == "tangrad" else ""
    text = "\n".join(sorted(lines)) + f"{version}\n\n{functions}"
    return f"{STUB_HEAD}\n{text}__all__ = [{listing}]\n"


def _made_function(name: str, signature: str, summary: str) -> str:
    """A function that is made, as the formatter has it in a stub."""
    lines = definition(name, signature)
    return "\n".join([*lines[:-1], lines[-1].removesuffix(" ...")]) + f'\n    """{summary}"""\n\n'


def _grouped(lines: Iterable[str]) -> list[str]:
    """Imports of several names from one module as one line, each name once, since `__all__` hands it on.

    >>> _grouped(["from m import b as b", "from m import c as d"])
    ['from m import b, c as d']
    """
    names: dict[str, list[str]] = {}
    others = []
    for line in lines:
        module, found, name = line.partition(" import ")
        if found and "\n" not in line:
            inner, _, public = name.partition(" as ")
            names.setdefault(module, []).append(public if public == inner else name)
        else:
            others.append(line)
    return [f"{module} import {', '.join(these)}" for module, these in names.items()] + others


def door_names(path: Path) -> dict[str, str]:
    """Return name -> the inner module that it comes from, of a module that is a door; of any other nothing.

    Raises ApiError for a door whose table is no literal.
    """
    text = path.read_text()
    if DOOR not in text or "def door(" in text:
        return {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "door":
            try:
                table = ast.literal_eval(node.args[1])
            except ValueError as error:
                raise ApiError(f"{path.name}: the table of a door must be a literal: {error}") from None
            return {name: module for module, names in table.items() for name in names.split()}
    return {}


def composes(path: Path) -> bool:
    """Return whether a module takes its names from the entry points."""
    return COMPOSED in path.read_text()


def _submodules(package: str, modules: Iterable[str]) -> set[str]:
    """Return the public submodules: all direct parts of a package whose names are composed."""
    prefix = package + "."
    return {module[len(prefix) :].split(".")[0] for module in modules if module.startswith(prefix)} - {"__main__"}


def generate(root: Path = ROOT) -> dict[Path, str]:
    """Return file -> text, for everything that this tool writes below `root`."""
    parts = list(distributions(root).values())
    modules = owners(root)
    files = {name: path for part in parts for name, path in part.modules.items()}
    composed = {name for name, path in files.items() if composes(path)}
    by_package: dict[str, dict[str, str]] = defaultdict(dict)
    for name, (distribution, value) in public_api(parts).items():
        package, _, leaf = f"tangrad.{name}".rpartition(".")
        if package not in files:
            raise ApiError(f"{distribution}: the public name {name!r} needs a module {package}, which no one has")
        if package not in composed:
            raise ApiError(f"{distribution}: {package} does not compose its names, so {name!r} cannot be found in it")
        by_package[package][leaf] = value
    result, made = {root / CATALOGUE: catalogue(parts, modules)}, record_functions(root)
    public = {value for values in by_package.values() for value in values.values()}
    made |= made_functions(public - made.keys(), files, stubs(root))
    for package in sorted(composed):
        text = stub(package, by_package[package], _submodules(package, modules), made)
        result[files[package].with_suffix(".pyi")] = text
    for name, path in files.items():
        names = door_names(path)
        if names:
            values = {public: f"{module}:{public}" for public, module in names.items()}
            parts_of = _submodules(name, modules) if path.name == "__init__.py" else ()
            text = stub(name, values, parts_of).replace(STUB_HEAD, DOOR_STUB_HEAD)
            result[path.with_suffix(".pyi")] = text + OTHERWISE * ("otherwise=" in path.read_text())
    if MEMBERS in files:
        result[files[MEMBERS].with_suffix(".pyi")] = members_stub(parts, files)
    return result


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with `--check` compare them. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file would change")
    only.add_argument("--stubs", action="store_true", help="write the stubs alone")
    options = parser.parse_args(arguments)
    try:
        entries = {} if options.stubs else dict(rewritten())
        if not options.check:  # what follows reads them
            for path, text in entries.items():
                path.write_text(text)
                print(f"written: {path.relative_to(ROOT)}")
            entries = {}
        wanted = entries | stubs() | generate()
    except ApiError as error:
        print(f"generate_api: {error}", file=sys.stderr)
        return 1
    if options.stubs:
        wanted = {path: text for path, text in wanted.items() if path.suffix == ".pyi"}
    changed = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in changed:
        if not options.check:
            path.write_text(wanted[path])
        if not options.stubs:
            print(f"{'differs' if options.check else 'written'}: {path.relative_to(ROOT)}")
    if not options.check:
        _remove_former(wanted)
        record()
    if changed and options.check:
        print("run `make dev-refresh` and commit the result", file=sys.stderr)
    return 1 if changed and options.check else 0


def _remove_former(wanted: Iterable[Path]) -> None:
    """Remove the stubs of modules that went, or that compose no names any more."""
    for part in distributions().values():
        for path in {*part.files(".pyi")} - {*wanted}:
            if path.read_text().startswith(WRITTEN):
                path.unlink()


if __name__ == "__main__":
    sys.exit(main())
