"""What a module imports, read from its source, and the cycles in a graph of imports."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools.generate_api import door_names

FIRST_PARTY = "tangrad"
DYNAMIC = {"import_module", "__import__"}


@dataclass
class Imports:
    """The imports of one module, each with the line of its first occurrence.

    Attributes:
        modules: first-party modules imported when the module is.
        checked: those that only type checkers see, under `if TYPE_CHECKING`.
        names: names taken from composed packages by `from tangrad.lax import sin`, as `tangrad.lax.sin`.
        attributes: names used as attributes of composed packages (`lax.sin`): resolved when the code runs.
        external: top-level packages that are not ours.
        nested: first-party imports inside functions, and imports by a computed name.
    """

    modules: dict[str, int] = field(default_factory=dict)
    checked: dict[str, int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    attributes: dict[str, int] = field(default_factory=dict)
    external: set[tuple[str, int]] = field(default_factory=set)
    nested: list[tuple[str, int]] = field(default_factory=list)

    def with_composed(self, value_module: Callable[[str], str | None]) -> dict[str, int]:
        """Return `modules`, and the modules behind `names` (`value_module` says which)."""
        found = {value_module(name): line for name, line in self.names.items()}
        return self.modules | {module: line for module, line in found.items() if module is not None}

    def all_first_party(self, value_module: Callable[[str], str | None]) -> Iterator[tuple[str, int]]:
        """Yield every first-party module that the code needs, now or when it runs, with its line."""
        yield from self.with_composed(value_module).items()
        yield from self.nested
        for name, line in self.attributes.items():
            module = value_module(name)
            if module is not None:
                yield module, line


def read_imports(name: str, path: Path, modules: set[str], composed: set[str]) -> Imports:
    """Return the imports of the module `name` in `path`, given all first-party modules and the composed ones."""
    reader = _Reader(name, path.name == "__init__.py", modules, composed)
    reader.visit(ast.parse(path.read_text(), str(path)))
    return reader.imports


class _Reader(ast.NodeVisitor):
    def __init__(self, name: str, is_package: bool, modules: set[str], composed: set[str]) -> None:
        self.imports = Imports()
        self._package = name if is_package else name.rpartition(".")[0]
        self._name, self._modules, self._composed = name, modules, composed
        self._depth = 0
        self._checked = False
        self._aliases: dict[str, str] = {}  # local name -> composed package

    def visit_FunctionDef(self, node: ast.AST) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef  # noqa: N815  (names that `ast` gives)

    def visit_If(self, node: ast.If) -> None:
        """Keep apart what only type checkers see."""
        test = node.test
        only_checked = (test.id if isinstance(test, ast.Name) else getattr(test, "attr", None)) == "TYPE_CHECKING"
        self.visit(test)
        outside, self._checked = self._checked, self._checked or only_checked
        for child in node.body:
            self.visit(child)
        self._checked = outside
        for child in node.orelse:
            self.visit(child)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node.lineno)
            bound = alias.name if alias.asname else alias.name.partition(".")[0]
            self._bind(alias.asname or bound, bound)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = self._absolute(node)
        for alias in node.names:
            full = f"{base}.{alias.name}"
            if full in self._modules or self._is_namespace(full):
                self._add(full, node.lineno)
                self._bind(alias.asname or alias.name, full)
                continue
            self._add(base, node.lineno)
            if base in self._composed and not self._checked:
                self.imports.names.setdefault(full, node.lineno)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        dotted = self._dotted(node)
        if dotted:
            self.imports.attributes.setdefault(dotted, node.lineno)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        called = function.id if isinstance(function, ast.Name) else getattr(function, "attr", None)
        if called in DYNAMIC:
            name = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
            if isinstance(name, str) and not name.startswith("."):
                self._add(name, node.lineno)
            else:
                self.imports.nested.append((f"{called}(...)", node.lineno))
        self.generic_visit(node)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self._package.split(".")
        base = package[: len(package) - node.level + 1]
        return ".".join([*base, node.module] if node.module else base)

    def _is_namespace(self, name: str) -> bool:
        return any(module.startswith(name + ".") for module in self._modules)

    def _bind(self, local: str, module: str) -> None:
        if module in self._composed:
            self._aliases[local] = module

    def _dotted(self, node: ast.Attribute) -> str | None:
        """Return `tangrad.numpy.linalg.norm` for an attribute of a name that is bound to a composed package."""
        parts = [node.attr]
        value = node.value
        while isinstance(value, ast.Attribute):
            parts.append(value.attr)
            value = value.value
        if not isinstance(value, ast.Name) or value.id not in self._aliases:
            return None
        return ".".join([self._aliases[value.id], *reversed(parts)])

    def _add(self, target: str, line: int) -> None:
        if self._checked:
            if target.partition(".")[0] == FIRST_PARTY and target != self._name:
                self.imports.checked.setdefault(target, line)
        elif target.partition(".")[0] != FIRST_PARTY:
            self.imports.external.add((target.partition(".")[0], line))
        elif self._depth:
            self.imports.nested.append((target, line))
        elif target != self._name:
            self.imports.modules.setdefault(target, line)


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return one cycle for each strongly connected component of more than one module, or of one that imports itself.

    >>> cycles({"a": {"b"}, "b": {"a"}, "c": {"a"}})
    [['a', 'b', 'a']]
    """
    found = []
    for component in _components(graph):
        start = min(component)
        path = _path_back(graph, start, component)
        if path:
            found.append(path)
    return sorted(found)


def _path_back(graph: dict[str, set[str]], start: str, within: set[str]) -> list[str] | None:
    """Return the shortest path from `start` to itself inside `within`, or None."""
    previous: dict[str, str] = {}
    frontier = [start]
    while frontier:
        reached = []
        for module in frontier:
            for target in sorted(graph.get(module, set()) & within):
                if target == start:
                    trail = [start]
                    while module != start:
                        trail.append(module)
                        module = previous[module]
                    return [start, *reversed(trail)]
                if target not in previous:
                    previous[target] = module
                    reached.append(target)
        frontier = reached
    return None


def _components(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components: Kosaraju's two passes, without recursion."""
    finished: list[str] = []
    seen: set[str] = set()
    for root in sorted(graph):
        stack = [(root, iter(sorted(graph.get(root, ()))))] if root not in seen else []
        seen.add(root)
        while stack:
            module, targets = stack[-1]
            target = next((t for t in targets if t not in seen and t in graph), None)
            if target is None:
                finished.append(stack.pop()[0])
            else:
                seen.add(target)
                stack.append((target, iter(sorted(graph[target]))))
    reverse: dict[str, set[str]] = {module: set() for module in graph}
    for importer, imported in graph.items():
        for target in imported & graph.keys():
            reverse[target].add(importer)
    components: list[set[str]] = []
    placed: set[str] = set()
    for root in reversed(finished):
        if root in placed:
            continue
        component: set[str] = set()
        pending = [root]
        while pending:
            module = pending.pop()
            if module not in placed:
                placed.add(module)
                component.add(module)
                pending += reverse[module] - placed
        components.append(component)
    return components


# --- Which names the kernel exports, and which of its names a file takes: both read from source text ---


# What plugins may import from, of all that `tangrad-core` ships. Names in `tangrad` itself are entry points of
# `tangrad.api`, and checked as such.
PUBLIC_MODULES = (
    "tangrad.core",
    "tangrad.core.arguments",
    "tangrad.core.backends",
    "tangrad.core.caches",
    "tangrad.core.dtypes",
    "tangrad.core.programs",
    "tangrad.core.protocols",
    "tangrad.core.settings",
    "tangrad.core.tools",
    "tangrad.core.transformations",
    "tangrad.dtypes",
    "tangrad.errors",
    "tangrad.tree",
    "tangrad.tree_util",
    "tangrad.typing",
)


def exported_names(path: Path) -> set[str]:
    """Return the names that a module hands on: `__all__`, a door's table, else what it defines or imports `as` itself.

    Imports under `if TYPE_CHECKING` count: that is how names are declared that are loaded at their first use.
    """
    behind_door = door_names(path)
    if behind_door:
        return set(behind_door)
    body = ast.parse(path.read_text()).body
    for statement in body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", None) == "__all__":
            return set(ast.literal_eval(statement.value))
    return set(declared_names(body))


def declared_names(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the public names that statements define or import `as` themselves."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            found = [statement.name]
        elif isinstance(statement, ast.ImportFrom):
            found = [alias.name for alias in statement.names if alias.asname == alias.name]
        elif isinstance(statement, ast.Assign):
            found = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        elif isinstance(statement, ast.AnnAssign):
            found = [statement.target.id] if isinstance(statement.target, ast.Name) else []
        elif isinstance(statement, ast.If):
            found = list(declared_names(statement.body))
        else:
            found = []
        yield from [name for name in found if not name.startswith("_")]


def taken_names(path: Path, rooms: set[str]) -> Iterator[tuple[str, str, int]]:
    """Yield `(module, name, line)` for each name that a file takes from the modules `rooms`, the kernel's own.

    `import tangrad._core.kernel.rules` takes the name "" from it; `core.x`, where `core` is `tangrad.core`, takes `x`.
    """
    aliases: dict[str, str] = {}
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in rooms:
                    aliases[alias.asname or alias.name] = whole
                    if whole not in PUBLIC_MODULES:
                        yield whole, "", node.lineno
                elif node.module in rooms and node.module != "tangrad":
                    yield node.module, alias.name, node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in rooms and alias.name not in (*PUBLIC_MODULES, "tangrad"):
                    yield alias.name, "", node.lineno
                if alias.asname and alias.name in rooms:
                    aliases[alias.asname] = alias.name
                elif not alias.asname and alias.name.partition(".")[0] == "tangrad":
                    aliases["tangrad"] = "tangrad"
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if aliases.get(node.value.id) == "tangrad.core":
                yield "tangrad.core", node.attr, node.lineno
        elif isinstance(node, ast.Attribute) and _is_core(node.value, aliases):
            yield "tangrad.core", node.attr, node.lineno


def _is_core(value: ast.expr, aliases: dict[str, str]) -> bool:
    """Whether an expression is `tangrad.core`."""
    return (
        isinstance(value, ast.Attribute)
        and value.attr == "core"
        and isinstance(value.value, ast.Name)
        and aliases.get(value.value.id) == "tangrad"
    )


class Exports:
    """What the kernel's modules are, and what the public ones among them export."""

    def __init__(self, files: dict[str, Path]) -> None:
        self.rooms = set(files)
        self.names = {module: exported_names(files[module]) for module in PUBLIC_MODULES if module in files}
        # They resolve the scalar types of ml_dtypes when these are asked for.
        self.open = {"tangrad.dtypes", "tangrad.core.dtypes"}

    def breach(self, module: str, name: str) -> str | None:
        """Return what is wrong with taking `name` from `module`, or None."""
        if module not in self.names:
            return f"takes {name or 'it'} from {module}, which is a room of the kernel"
        if name not in self.names[module] and module not in self.open and f"{module}.{name}" not in PUBLIC_MODULES:
            return f"takes {name} from {module}, which does not export it"
        return None

    def breaches(self, path: Path) -> Iterator[tuple[str, int, str]]:
        """Yield `(module, line, what is wrong)` for every name that a file takes and should not."""
        for module, name, line in taken_names(path, self.rooms):
            problem = self.breach(module, name)
            if problem is not None:
                yield module, line, problem
