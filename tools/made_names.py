"""Entry points of functions that are made from declarations, in the `pyproject.toml` of their distribution.

A module that makes public functions, rather than defining them, states three constants: `MADE_FOR`, the public package
that they are in (`lax` for `tangrad.lax`), `MADE_AS`, their typed signature, and `MADE_NAMES`. For each name there is
one line under `[project.entry-points."tangrad.api"]`: a new one is added, one whose function went is removed.
A primitive that is declared is in the door of its distribution, since backends take it from there.
Beside the module is a stub, from which checkers and editors know the functions. `tools.generate_api` calls this before
it reads the entry points.

A module of records (`norm = Distribution(...)`) states `MADE_FOR` alone. What is made of a record are its attributes,
`norm.logpdf`; the record's method `made_functions` gives for each the typed signature and the summary, which are in the
stub of the public package, `tangrad.scipy.stats.norm`. Functions that a decorator makes of a definition have that as
their attribute `definition`, and need no stub: they are written with their types.
"""

import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.workspace import ROOT, Distribution, distributions

STATES = re.compile(r"^MADE_FOR = ", re.MULTILINE)
TABLE = '[project.entry-points."tangrad.api"]\n'


def made_modules(part: Distribution) -> Iterator[ModuleType]:
    """Yield the modules of `part` that make functions."""
    for module, path in part.modules.items():
        if STATES.search(path.read_text()):
            yield import_module(module)


def records(made: ModuleType) -> dict[str, Any]:
    """Return the records that a module has itself, by name."""
    with_functions = {name: value for name, value in vars(made).items() if hasattr(type(value), "made_functions")}
    return {name: record for name, record in with_functions.items() if record.module == made.__name__}


def made_names(made: ModuleType) -> list[str]:
    """Return the names of the functions that a module makes, those of records as `record.name`."""
    of_records = [f"{name}.{part}" for name, record in records(made).items() for part in record.made_functions()]
    defined = [name for name, value in vars(made).items() if _is_defined(value, made.__name__)]
    return [*getattr(made, "MADE_NAMES", ()), *of_records, *defined]


def _is_defined(value: Any, module: str) -> bool:
    definition = getattr(value, "definition", None)
    return definition is not None and getattr(definition, "module", "") == module


def made_entries(part: Distribution) -> dict[str, dict[str, str]]:
    """Return, for each module of `part` that makes functions, its entries: public name -> `module:attribute`."""
    return {
        made.__name__: {f"{made.MADE_FOR}.{name}": f"{made.__name__}:{name}" for name in made_names(made)}
        for made in made_modules(part)
    }


def record_functions(root: Path = ROOT) -> dict[str, tuple[str, str]]:
    """Return `module:record.name` -> typed signature and summary, of all functions that are made of records."""
    return {
        f"{made.__name__}:{name}.{part}": described
        for distribution in distributions(root).values()
        for made in made_modules(distribution)
        for name, record in records(made).items()
        for part, described in record.made_functions().items()
    }


def with_entries(text: str, module: str, wanted: dict[str, str]) -> str:
    """Return the text of a `pyproject.toml` with the entries wanted of `module`, and none of what it no longer has."""
    line = re.compile(rf'^"?([^"=\n]+?)"? *= *"{re.escape(module)}:([\w.]+)"\n', re.MULTILINE)
    made, written = import_module(module), {match[1] for match in line.finditer(text)}
    kept = line.sub(lambda match: match[0] if _has(made, match[2]) else "", text)
    new = [f'"{name}" = "{value}"\n' for name, value in wanted.items() if name not in written]
    return kept.replace(TABLE, TABLE + "".join(new), 1)


def _has(made: ModuleType, attribute: str) -> bool:
    try:
        attrgetter(attribute)(made)
    except AttributeError:
        return False
    return True


DECLARED = re.compile(r"^(\w+_p) = declare\(", re.MULTILINE)
IS_DOOR = re.compile(r"^__getattr__, __dir__ = door\(", re.MULTILINE)
# A row of a door's table: a module, and the names taken from it, on one line or on several.
DOOR_ROW = re.compile(r'^        "(?P<module>[\w.]+)": \(?(?P<names>[^():,]+)\)?,\n', re.MULTILINE)


def with_declared(text: str, files: dict[str, Path]) -> str:
    """Return the text of a door with all primitives that the modules behind it declare: backends lower them."""

    def completed(match: re.Match[str]) -> str:
        path, names = files.get(match["module"]), set(re.findall(r"[\w.]+", match["names"].replace('"', " ")))
        declared = set(DECLARED.findall(path.read_text())) - names if path is not None else set()
        if not declared:
            return match[0]
        lines = textwrap.wrap(" ".join(sorted(names | declared)), 104)
        listing = "".join([f'            "{line}{" " * (line is not lines[-1])}"\n' for line in lines])
        return f'        "{match["module"]}": (\n{listing}        ),\n'

    return DOOR_ROW.sub(completed, text)


def rewritten(root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Yield each `pyproject.toml` and each door that has to change, with its new text."""
    for part in distributions(root).values():
        for path in part.modules.values():
            before = path.read_text()
            if IS_DOOR.search(before):
                text = with_declared(before, part.modules)
                if text != before:
                    yield path, text
        path = part.folder / "pyproject.toml"
        text = before = path.read_text()
        for module, wanted in made_entries(part).items():
            text = with_entries(text, module, wanted)
        if text != before:
            yield path, text


STUB_HEAD = "# Written by `python -m tools.generate_api` from what the module makes: do not edit.\n\n"
TYPES = {
    "AccuracyMode": "tangrad.lax",
    "Any": "typing",
    "Array": "tangrad.core",
    "ArrayLike": "tangrad.typing",
    "Axis": "tangrad.typing",
    "DTypeLike": "tangrad.typing",
    "Key": "tangrad.typing",
    "Layer": "tangrad._scipy.example_libraries.activations",
    "ScatterDimensionNumbers": "tangrad.lax",
    "Sequence": "collections.abc",
    "Shape": "tangrad.typing",
    "SupportsIndex": "typing",
    "Tolerance": "tangrad.lax",
}


def type_imports(signature: str) -> list[str]:
    """Return the lines that import the types which a signature has."""
    imports = [f"from {home} import {word}\n" for word, home in TYPES.items() if re.search(rf"\b{word}\b", signature)]
    return ["import builtins\n", *imports] if "builtins." in signature else imports


def stub(module: str) -> str:
    """Return the stub of a module that makes functions: all have the signature that it states."""
    made = import_module(module)
    imports = type_imports(made.MADE_AS)
    functions = [f"def {name}{made.MADE_AS}: ...\n" for name in sorted(made.MADE_NAMES)]
    constants = "\nMADE_FOR: str\nMADE_AS: str\nMADE_NAMES: tuple[str, ...]\n\n"
    return STUB_HEAD + "".join(sorted(imports)) + constants + "".join(functions)


def stubs(root: Path = ROOT) -> dict[Path, str]:
    """Return file -> text of all such stubs."""
    parts = distributions(root).values()
    return {
        part.modules[made.__name__].with_suffix(".pyi"): stub(made.__name__)
        for part in parts
        for made in made_modules(part)
        if hasattr(made, "MADE_NAMES")
    }
