"""What a module imports, read from its source, and the cycles in a graph of imports."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

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
