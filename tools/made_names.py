"""Public functions that factories make, as stubs state them: checkers see no signature behind `floor = unary(...)`.

Their signature is that of the function made. Where it says no types the operands, by their names, are arrays, and so is
the result. One that is not of that kind is annotated where it is made.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Container, Iterable, Iterator
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from tools.workspace import ROOT, Distribution, distributions

# --- What stubs state of them: checkers see no signature behind `floor = unary(...)` ---
# Their signature is that of the function made. Where it says no types the operands, by their names, are arrays, and so
# is the result. One that is not of that kind is annotated where it is made.

OPERANDS = frozenset(["a", "x", "y", "x1", "x2"])


def made_functions(
    values: Iterable[str], files: dict[str, Path], with_stubs: Container[Path] = ()
) -> dict[str, tuple[str, str]]:
    """Return signature and summary of those values (`module:attribute`) that factories make.

    `with_stubs`: the stubs of modules that have one; a checker sees all that is in those.
    """
    return {value: found for value in values if (found := _made(value, files, with_stubs)) is not None}


def _made(value: str, files: dict[str, Path], with_stubs: Container[Path]) -> tuple[str, str] | None:
    """Nothing for what a checker sees in the module."""
    module, _, attribute = value.partition(":")
    path = files.get(module)
    if path is None or "." in attribute or path.with_suffix(".pyi") in with_stubs or attribute not in _called(path):
        return None
    function = getattr(import_module(module), attribute)
    if not isinstance(function, FunctionType):
        return None
    return _signature(function), (inspect.getdoc(function) or "").split("\n")[0]


def beside(text: str, names: Iterable[str]) -> str:
    """Return a signature with Python's types by whole names where public ones hide them: `tangrad.numpy.bool`."""
    hidden = "|".join(sorted({"bool", "complex", "float", "int", "str"} & {*names}))
    return re.sub(rf"(?<=[:>|,\[] )({hidden})\b", r"builtins.\1", text) if hidden else text


@cache
def _called(path: Path) -> frozenset[str]:
    """The names in a module that stand for what a call returns, or for another such name."""
    found: set[str] = set()
    for target, value in _assignments(path):
        values = value.elts if isinstance(value, ast.Tuple) else [value]
        is_made = any(isinstance(one, ast.Call) or (isinstance(one, ast.Name) and one.id in found) for one in values)
        found |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name)} if is_made else set()
    return frozenset(found)


def _assignments(path: Path) -> Iterator[tuple[ast.expr, ast.expr]]:
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Assign):
            yield from ((target, statement.value) for target in statement.targets)


def _signature(function: FunctionType) -> str:
    signature = inspect.signature(function)
    parameters = [
        one.replace(annotation=_type(one), default=one.empty if one.default is one.empty else ...)
        for one in signature.parameters.values()
    ]
    result = "Array" if signature.return_annotation in (signature.empty, "Any") else signature.return_annotation
    text = str(signature.replace(parameters=parameters, return_annotation=signature.empty))
    return f"{text.replace(chr(39), '').replace('Ellipsis', '...')} -> {result}"


def _type(parameter: inspect.Parameter) -> str:
    stated = parameter.annotation
    if stated in (parameter.empty, "Any") and parameter.name in OPERANDS:
        return "ArrayLike"
    return "Any" if stated is parameter.empty else str(stated)


# --- Entry points ---


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
    "Layer": "tangrad._scipy.layers",
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
    summaries = {name: (inspect.getdoc(getattr(made, name)) or "").split("\n")[0] for name in sorted(made.MADE_NAMES)}
    functions = [f'def {name}{made.MADE_AS}:\n    """{summary}"""\n\n' for name, summary in summaries.items()]
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
