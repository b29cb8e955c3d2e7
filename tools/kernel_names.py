"""Which names the kernel exports, and which of its names a file takes: both read from source text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.generate_api import door_names

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
