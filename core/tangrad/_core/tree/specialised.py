"""Functions generated for one structure: they take its trees apart, and put them together, without any loop.

A walk pays a call, a list and several look-ups for each node. Straight-line code pays a type check: for 200 parameters
in 50 dicts of two dicts that is 33 µs instead of 127 (30 in JAX's C++), and every call of a jitted function flattens
its arguments. Generating costs some 20 µs a node, so `PyTreeDef` asks for it only for structures that are used often.

The source refers to keys, types and metadata through names bound to the objects themselves, never through their text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._core.tree.tables import Leaf, PyTree

# only_strings(map(type, keys)): a string of another type (StrEnum) equals a string, and must not be exchanged for it.
only_strings = frozenset({str}).issuperset


class Writer:
    """The source of one function: its lines, the objects that it refers to, and names for its variables."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {}
        self.string_keyed: list[str] = []
        self._names: dict[int, str] = {}
        self._count = 0

    def line(self, text: str) -> None:
        """Add a line to the body of the function."""
        self.lines.append(text)

    def require(self, condition: str) -> None:
        """Have the function answer None where `condition` does not hold."""
        self.line(f"if not ({condition}): return None")

    def constant(self, value: object) -> str:
        """Return a name for `value` in the source."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"c{len(self.namespace)}"
            self.namespace[name] = value  # and so it stays alive, and its identity its own
        return name

    def variable(self, letter: str) -> str:
        """Return a new name for a variable."""
        self._count += 1
        return f"{letter}{self._count}"

    def function(self, argument: str, result: str, *, guarded: bool) -> Callable[[PyTree], Any]:
        """Return the function of the lines written so far, with one more that returns `result`.

        A guarded one answers None where a key is missing.
        """
        lines = [*self.lines, f"return {result}"]
        if guarded:
            lines = ["try:", *[f" {line}" for line in lines], "except KeyError:", " return None"]
        body = "\n".join([f" {line}" for line in lines])
        exec(compile(f"def generated({argument}):\n{body}\n", "<tangrad.tree: generated>", "exec"), self.namespace)
        generated: Callable[[PyTree], Any] = self.namespace.pop("generated")
        return generated


def compile_take(structure: object) -> Callable[[PyTree], list[Leaf] | None]:
    """Return a function from a tree to the list of what stands at the leaves of `structure`, or None if it differs."""
    writer = Writer()
    leaves: list[str] = []
    _write_take(writer, structure, "tree", leaves)
    if writer.string_keyed:
        keys = ", ".join([f"*{name}" for name in writer.string_keyed])
        writer.require(f"{writer.constant(only_strings)}(map(type, [{keys}]))")
    return writer.function("tree", f"[{', '.join(leaves)}]", guarded=True)


def compile_build(structure: object) -> Callable[[Sequence[Leaf]], PyTree]:
    """Return a function from the leaves of `structure`, exactly as many as it has, to its tree."""
    writer = Writer()
    leaves: list[str] = []
    root = _write_build(writer, structure, leaves)
    if leaves:
        writer.lines.insert(0, f"{', '.join(leaves)}, = leaves")
    return writer.function("leaves", root, guarded=False)


def _write_take(writer: Writer, structure: Any, name: str, leaves: list[str]) -> None:
    if structure.kind is None:
        leaves.append(name)
        return
    children = [writer.variable("n") for _ in structure.subtrees]
    structure.kind.write_take(writer, structure.data, name, children)
    for child, subtree in zip(children, structure.subtrees):
        _write_take(writer, subtree, child, leaves)


def _write_build(writer: Writer, structure: Any, leaves: list[str]) -> str:
    name = writer.variable("n")
    if structure.kind is None:
        leaves.append(name)
        return name
    children = [_write_build(writer, subtree, leaves) for subtree in structure.subtrees]
    # A statement a node: nested expressions of the tree's depth would exceed the parser's stack.
    writer.line(f"{name} = {structure.kind.write_build(structure.data, children, writer.constant)}")
    return name
