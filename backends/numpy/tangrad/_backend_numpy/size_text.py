"""Sizes that are known at the call, as Python text: `size_n = a0.shape[0]`, `2 * size_n + 1`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tangrad.core.arguments import SymbolicDimension, first_symbolic, is_symbolic

if TYPE_CHECKING:
    from tangrad.core import ShapedArray


class Text:
    """Arithmetic with sizes as Python text."""

    constant = staticmethod(str)

    @staticmethod
    def add(a: str, b: str) -> str:
        return f"({a} + {b})"

    @staticmethod
    def multiply(a: str, b: str) -> str:
        return f"{a} * {b}"

    @staticmethod
    def floordiv(a: str, b: str) -> str:
        return f"({a} // ({b}))"

    @staticmethod
    def mod(a: str, b: str) -> str:
        return f"({a} % ({b}))"

    @staticmethod
    def maximum(a: str, b: str) -> str:
        return f"max({a}, {b})"

    @staticmethod
    def minimum(a: str, b: str) -> str:
        return f"min({a}, {b})"


class _Names(dict[str, str]):
    """Variable -> its name in the text."""

    def __missing__(self, name: str) -> str:
        # Identifiers that differ may be one to Python, which normalises them, unless they are ASCII.
        return f"size_{name}" if name.isascii() else f"sized_{name.encode().hex()}"


size_names = _Names()


def size_text(size: SymbolicDimension) -> str:
    """A size as text: a number, or how it is computed from the variables."""
    return str(size.evaluate(size_names, Text)) if is_symbolic(size) else str(size)


def shape_text(shape: Sequence[SymbolicDimension]) -> str:
    """A shape as text."""
    return f"({', '.join(map(size_text, shape))}{',' * (len(shape) == 1)})"


def has_symbolic(sizes: Sequence[object]) -> bool:
    """Whether any of some sizes is known at the call only."""
    return any([is_symbolic(size) for size in sizes])


def lines_of_sizes(plan: Any) -> Iterator[tuple[str, str]]:
    """For each variable of a program its name in the text, and how it is computed from the arguments `a0`, `a1`, …"""
    for name, text in plan.found(lambda argument, axis: f"a{argument}.shape[{axis}]", Text, size_names):
        yield size_names[name], text


def plan_of(avals: Sequence[ShapedArray]) -> object:
    """How the variables in the types of a program's arguments are found; None where all sizes are numbers."""
    dimension = first_symbolic(avals)
    labels = [f"argument {position}" for position in range(len(avals))]
    return None if dimension is None else dimension.plan([aval.shape for aval in avals], labels)
