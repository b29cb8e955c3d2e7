"""The stub of the base of arrays, from the entry points of `tangrad.array`: what editors complete after `x.`.

Methods and properties have the signature of the function behind the entry; operators are as the table says. Classes
that these return (what `x.at` is) stand in the stub, too: their modules import the kernel, and mypy would see a cycle.
"""

import ast
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tangrad._core.kernel.array import BINARY_OPERATORS, COMPARISONS, UNARY_OPERATORS
from tools.workspace import Distribution

MODULE = "tangrad._core.kernel.array_members"
WIDTH = 120  # of a line
HEAD = "# Written by `python -m tools.generate_api` from the entry points of `tangrad.array`: do not edit.\n\n"
CLASSES = """
class MembersOnClass(type):
    if not TYPE_CHECKING:  # names that plugins alone know
        def __getattr__(cls, name: str) -> Any: ...

class ArrayMembers(metaclass=MembersOnClass):
"""
# What the arrays of every backend have beside the entries.
OF_BACKENDS = """\
    backend: Any
    @property
    def committed(self) -> bool: ...
    @property
    def device(self) -> Any: ...
    @property
    def is_fully_addressable(self) -> bool: ...
    @property
    def is_fully_replicated(self) -> bool: ...
    def copy_to_host_async(self) -> None: ...
    def delete(self) -> None: ...
    def devices(self) -> set[Any]: ...
    def is_deleted(self) -> bool: ...
    def is_ready(self) -> bool: ...
    def on_device_size_in_bytes(self) -> int: ...
    def unsafe_buffer_pointer(self) -> int: ...
    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, Any] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...
"""
# Where the names of annotations are from, unless the module of the function says.
KNOWN = {
    "Any": "typing",
    "Array": "tangrad._core.kernel.array",
    "ArrayLike": "tangrad.typing",
    "Axis": "tangrad.typing",
    "Callable": "collections.abc",
    "DTypeLike": "tangrad.typing",
    "Iterator": "collections.abc",
    "Literal": "typing",
    "ModuleType": "types",
    "Sequence": "collections.abc",
    "DeviceLike": "tangrad.typing",
    "Shape": "tangrad.typing",
    "ShardingLike": "tangrad.typing",
    "Sharding": "tangrad._core.kernel.sharding",
    "TYPE_CHECKING": "typing",
    "np": "",
}
BINARY = "(self, other: ArrayLike, /) -> Array"
PAIR = "(self, other: ArrayLike, /) -> tuple[Array, Array]"
# Arrays compare element by element, where objects have one answer.
ELEMENTWISE = "(self, other: object, /) -> Array"
OPERATORS = {
    **{f"__{name}__": "(self) -> Array" for name in UNARY_OPERATORS},
    **{f"__{name}__": BINARY for name in (*COMPARISONS, *BINARY_OPERATORS)},
    **{f"__r{name}__": BINARY for name in BINARY_OPERATORS},
    **dict.fromkeys(("__divmod__", "__rdivmod__"), PAIR),
    **dict.fromkeys(("__eq__", "__ne__"), ELEMENTWISE),
    "__contains__": "(self, item: object, /) -> bool",
    "__getitem__": "(self, index: object, /) -> Array",
    "__iter__": "(self) -> Iterator[Array]",
    "__round__": "(self, digits: int | None = None, /) -> Array",
}
OVERRIDES = ("__eq__", "__ne__")  # of methods of `object`
MADE = "(self) -> Array"  # by a factory: a function of the array alone
BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)


def members_stub(parts: Iterable[Distribution], files: dict[str, Path]) -> str:
    """Return the stub: each entry as a method, a property or an operator, with its types."""
    entries: dict[str, str] = {}
    for part in parts:
        entries |= part.entry_points.get("tangrad.array", {})
    used = {"Any", "ArrayLike", "Iterator", "TYPE_CHECKING"}
    body: list[str] = []
    classes: dict[str, list[str]] = {}
    for name, value in sorted(entries.items()):
        module, _, attribute = value.partition(":")
        path = files[module]
        if name in OPERATORS:
            body += _operator(name)
            continue
        function, is_property = _function(path, attribute)
        if function is None:
            body += _method(name, MADE)
            continue
        body += ["    @property"] * is_property + _method(name, _signature(function))
        found = _names(function)
        for one in sorted(found - KNOWN.keys() - BUILTINS):
            found |= _class(path, one, classes)
        used |= found
    imports = _sorted(_known(name) for name in used & KNOWN.keys())
    kinds = "".join("\n" + "\n".join(lines) + "\n" for lines in classes.values())
    return HEAD + imports + kinds + CLASSES + OF_BACKENDS + "\n".join(body) + "\n"


def _class(path: Path, name: str, classes: dict[str, list[str]]) -> set[str]:
    """Add the class `name` of a module, as a stub has it, to `classes`. Returns the names in its annotations."""
    found = next((one for one in _tree(path).body if isinstance(one, ast.ClassDef) and one.name == name), None)
    if found is None:
        raise ValueError(f"the stub of arrays does not know where the type {name} in {path.name} is from")
    used: set[str] = set()
    lines = [f"class {name}:"]
    for one in found.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            lines += [f"    {attribute}: {kind}" for attribute, kind in _attributes(one)]
        elif isinstance(one, ast.FunctionDef) and (one.name == "__getitem__" or not one.name.startswith("_")):
            lines += _method(one.name, _signature(one))
            used |= _names(one)
        elif isinstance(one, ast.Assign) and isinstance(one.value, ast.Name):  # another name of a method
            lines.append(f"    {ast.unparse(one)}")
    for other in sorted(used - KNOWN.keys() - BUILTINS - classes.keys()):
        used |= _class(path, other, classes)
    classes[name] = lines
    return used


def _attributes(initialiser: ast.FunctionDef) -> list[tuple[str, str]]:
    """The public attributes that an `__init__` sets from its parameters, with their types."""
    kinds = {one.arg: ast.unparse(one.annotation) for one in initialiser.args.args if one.annotation is not None}
    set_from = [
        (one.targets[0].attr, one.value.id)
        for one in initialiser.body
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Attribute) and isinstance(one.value, ast.Name)
    ]
    return [(name, kinds[value]) for name, value in set_from if not name.startswith("_")]


def _known(name: str) -> str:
    return f"from {KNOWN[name]} import {name}" if KNOWN[name] else "import numpy as np"


def _sorted(imports: Iterable[str]) -> str:
    """The imports as the formatter has them: Python's own, NumPy, ours."""
    by_module: dict[str, set[str]] = {}
    for line in imports:
        module, _, name = line.removeprefix("from ").partition(" import ")
        by_module.setdefault(module, set()).add(name)
    groups: list[list[str]] = [[], [], []]
    for module, names in sorted(by_module.items()):
        top = module.removeprefix("import ").split(".")[0]
        place = 2 if top == "tangrad" else 0 if top in sys.stdlib_module_names else 1
        line = f"from {module} import {', '.join(sorted(names))}" if "" not in names else module
        groups[place].append(line)
    return "\n\n".join("\n".join(group) for group in groups if group) + "\n"


def _operator(name: str) -> list[str]:
    lines = _method(name, OPERATORS[name], "  # type: ignore[override]" if name in OVERRIDES else "")
    reflected = f"__r{name[2:]}"
    return lines + (_method(reflected, OPERATORS[reflected]) if reflected in OPERATORS else [])


def _method(name: str, signature: str, remark: str = "") -> list[str]:
    return [f"    {line}" for line in definition(name, signature, WIDTH - 4, remark)]


def definition(name: str, signature: str, width: int = WIDTH, remark: str = "") -> list[str]:
    """Return the lines of a function in a stub, broken as the formatter breaks them."""
    parameters, _, result = signature.rpartition(" -> ")
    inner = parameters[1:-1]
    for lines in ([f"def {name}({inner}) -> {result}: ..."], [f"def {name}(", f"    {inner}", f") -> {result}: ..."]):
        if all(len(line) <= width for line in lines):
            break
    else:
        each = [f"    {ast.unparse(one)}," for one in _split(inner)]
        lines = [f"def {name}(", *each, f") -> {result}: ..."]
    return [lines[0] + remark, *lines[1:]]


def _split(parameters: str) -> list[ast.AST]:
    """Each parameter alone, as a node that `ast.unparse` writes."""
    found = ast.parse(f"def f({parameters}): ...").body[0]
    assert isinstance(found, ast.FunctionDef)
    given = found.args
    first_default = len(given.args) - len(given.defaults)
    lines = [
        _one(one, given.defaults[place - first_default] if place >= first_default else None)
        for place, one in enumerate(given.args)
    ]
    if given.vararg is not None:
        lines.append(ast.Name(f"*{ast.unparse(given.vararg)}"))
    elif given.kwonlyargs:
        lines.append(ast.Name("*"))
    lines += [_one(one, default) for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return [*lines, ast.Name(f"**{ast.unparse(given.kwarg)}")] if given.kwarg is not None else lines


def _one(parameter: ast.arg, default: ast.expr | None) -> ast.AST:
    text = ast.unparse(parameter)
    if default is None:
        return ast.Name(text)
    return ast.Name(f"{text} = {ast.unparse(default)}" if parameter.annotation else f"{text}={ast.unparse(default)}")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _function(path: Path, name: str) -> tuple[ast.FunctionDef | None, bool]:
    """Return the function behind an entry, and whether it is a property; None where no `def` says it."""
    for statement in _tree(path).body:
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            return statement, any(ast.unparse(one) in ("property", "of_arrays") for one in statement.decorator_list)
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            value = statement.value
            if isinstance(value, ast.Call) and ast.unparse(value.func) == "property":
                return _function(path, ast.unparse(value.args[0]))[0], True
            if isinstance(value, ast.Name):
                return _function(path, value.id)
    return None, False


def _signature(function: ast.FunctionDef) -> str:
    """The signature as a method's, with `...` for values that are not plain."""
    copied = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(copied, ast.FunctionDef)
    found = copied.args
    own = (found.posonlyargs or found.args)[0]
    own.arg, own.annotation = "self", None
    if found.posonlyargs:
        found.args, found.posonlyargs = found.posonlyargs + found.args, []
    found.defaults = [_plain(default) for default in found.defaults]
    found.kw_defaults = [None if default is None else _plain(default) for default in found.kw_defaults]
    text = ", ".join(ast.unparse(one) for one in _split(ast.unparse(found)))
    return f"({text}) -> {ast.unparse(copied.returns) if copied.returns else 'Any'}".replace("'", '"')


def _plain(default: ast.expr) -> ast.expr:
    is_plain = isinstance(default, (ast.Constant, ast.UnaryOp))
    return default if is_plain else ast.Constant(...)


def _names(function: ast.FunctionDef) -> set[str]:
    """The names in the annotations of a function, but the first parameter's, which a method does not have."""
    found = function.args
    given = [*found.posonlyargs, *found.args, *found.kwonlyargs, found.vararg, found.kwarg][1:]
    annotations = [function.returns, *[one.annotation for one in given if one is not None]]
    nodes = [node for one in annotations if one is not None for node in ast.walk(one)]
    return {node.id for node in nodes if isinstance(node, ast.Name)}
