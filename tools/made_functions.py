"""Public functions that factories make, as stubs state them: checkers see no signature behind `floor = unary(...)`.

Their signature is that of the function made. Where it says no types the operands, by their names, are arrays, and so is
the result. One that is not of that kind is annotated where it is made.
"""

import ast
import inspect
import re
from collections.abc import Container, Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType

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
