"""Blocks: the equations of a jaxpr as loops and lines, in an order in which loops of one shape become one.

A block is a list of parts. An equation that is computed element by element joins the first loop of its shape that comes
after what it needs; results go to memory only where something else than the same loop needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numba.loops import (
    INDENT,
    Loop,
    Member,
    Number,
    Shape,
    Total,
    UnsupportedError,
    Value,
    View,
    code_of,
    dense,
    literal,
)
from tangrad.core import Literal, Var

if TYPE_CHECKING:
    from tangrad.core import Array


MOST_ELEMENTS = 1 << 25  # of the working memory of one element type


class Memory:
    """The working memory of a program, and its names.

    One flat array for each element type: the places in it are known, so that the compiler sees which are distinct.
    """

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.constants: list[np.ndarray] = []
        self._count = 0
        self._equations = 0

    def name(self, hint: str) -> str:
        """A name that is new."""
        self._count += 1
        return f"{hint}{self._count}"

    def count_equation(self, most: int) -> None:
        """Raise UnsupportedError once there are more than so many equations."""
        self._equations += 1
        if self._equations > most:
            raise UnsupportedError("too many equations")

    def given(self, const: Array) -> Number | View:
        """A constant of a jaxpr: arrays are further arguments."""
        array = getattr(const, "ndarray", None)
        array = np.asarray(const.to_numpy() if array is None else array)
        code = code_of(array.dtype)
        if not array.shape:
            return Number(literal(array, code), code)
        self.constants.append(np.ascontiguousarray(array).reshape(-1))
        return dense(f"k{len(self.constants) - 1}", "", 0, array.shape, code, self.home())

    def take(self, shape: Shape, code: str, part: int = -1) -> View:
        """Memory for an array."""
        start = self.sizes.get(code, 0)
        end = start + prod(shape)
        if end > MOST_ELEMENTS:
            raise UnsupportedError("too large")
        self.sizes[code] = -(-end // 16) * 16
        return dense(f"w_{code}", "", start, shape, code, self.home(), part)

    def home(self) -> int:
        """A new identity of some memory."""
        self._count += 1
        return self._count


class Block:
    """A scope. `values`: of the variables; `parts`: loops, and lists of lines."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.values: dict[Var, Value] = {}
        self.parts: list[Loop | list[str]] = []
        self.own: set[int] = set()  # memory that is written to here alone
        self.dead: frozenset[int] = frozenset()  # such as is not read after the equation at hand
        self.read_by: dict[int, list[tuple[int, View, bool]]] = {}  # home -> who reads it: part, view, in place

    # --- values ----------------------------------------------------------------------------------------------------

    def read(self, atom: Var | Literal) -> Value:
        """The value of a variable or literal."""
        if isinstance(atom, Literal):
            return self.constant(atom.ndarray)
        return self.values[atom]

    def constant(self, array: np.ndarray) -> Number:
        """A number."""
        code = code_of(array.dtype)
        if array.shape:
            raise UnsupportedError("an array as literal")
        return Number(literal(array, code), code)

    def ready(self, value: Value, shape: Shape) -> int:
        """The first part that may read a value, as a loop over `shape`."""
        if isinstance(value, Member):
            return value.loop.part if value.shape == shape else value.loop.part + 1
        if isinstance(value, Number) and shape == () and value.part >= 0:
            made_by = self.parts[value.part]
            if isinstance(made_by, Loop) and not made_by.shape:
                return value.part
        return value.part + 1

    # --- loops -----------------------------------------------------------------------------------------------------

    def loop(self, shape: Shape, operands: Sequence[Value]) -> Loop:
        """The loop over `shape` that is to compute something of `operands`."""
        first = max([self.ready(value, shape) for value in operands], default=0)
        for part in self.parts[max(first, 0) :]:
            if isinstance(part, Loop) and part.shape == shape:
                return self._with_operands(part, operands)
        made = Loop(shape, len(self.parts), self.memory.name)
        self.parts.append(made)
        return self._with_operands(made, operands)

    def _with_operands(self, loop: Loop, operands: Sequence[Value]) -> Loop:
        for value in operands:
            if isinstance(value, Member) and value.loop is loop:
                continue
            if isinstance(value, Member):
                value = self.view(value)
            if isinstance(value, View):
                self.note(value, loop.part, value.shape == loop.shape)
        return loop

    def note(self, view: View, part: int, in_place: bool = False) -> None:
        """Remember that a part reads memory."""
        self.read_by.setdefault(view.home, []).append((part, view, in_place))

    def elementwise(self, shape: Shape, code: str, operands: Sequence[Value], text: Any) -> Value:
        """A result that `text` gives of the operands as text, with numbers repeated."""
        loop = self.loop(shape, operands)
        member = loop.let(text(*[loop.operand(value) for value in operands]), code)
        return self.result(member)

    def result(self, member: Member) -> Value:
        """A result of a loop as value: without loops it is a number by itself."""
        return member if member.shape else Number(member.name, member.code, (), member.loop.part)

    def view(self, value: Value) -> View:
        """A value as view of memory."""
        if isinstance(value, View):
            return value
        if isinstance(value, Member):
            if value.view is None:
                value.view = self.memory.take(value.shape, value.code, value.loop.part)
                value.loop.store(value.view, value.name)
            return value.view
        target = self.memory.take(value.shape, value.code)
        return replace(target, part=self.write(value, target))

    def write(self, value: Value, target: View) -> int:
        """Have a value written; returns the part that does it."""
        loop = self.loop(target.shape, [value])
        loop.store(target, loop.operand(value))
        return loop.part

    def lines(self, lines: list[str]) -> int:
        """Append lines, as a part of their own."""
        self.parts.append(lines)
        return len(self.parts) - 1

    def number(self, value: Value) -> Number:
        """The one element of an array as a number."""
        if isinstance(value, Number):
            return replace(value, shape=())
        view = self.view(value)
        if prod(view.shape) != 1:
            raise UnsupportedError("no number")
        scalar = replace(view, shape=(), strides=())
        loop = self.loop((), [scalar])
        return Number(loop.operand(scalar), scalar.code, (), loop.part)

    def total(self, operand: Value, axes: Sequence[int], total: Any) -> Value:
        """A reduction over `axes`. `total(text, local)` gives its code, start, step, finish."""
        shape = operand.shape
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        out = tuple([shape[axis] for axis in kept])
        local = kept == list(range(len(kept)))
        target = self.memory.take(out, operand.code) if out else None
        loop = self.loop(shape, [operand])
        start, step, finish = total(loop.operand(operand), local)
        name = self.memory.name("t")
        if target is None:
            loop.total(Total(name, start, step, finish, 0, None, True))
            return Number(f"{name}_", operand.code, (), loop.part)
        if local:
            loop.total(Total(name, start, step, finish, len(kept), target, True))
            return replace(target, part=loop.part)
        seen = target.broadcast(shape, tuple(kept))  # each element grows at many places of the loop
        loop.before += filled(target, start)
        loop.total(Total(name, start, step, finish, 0, seen, False))
        return replace(target, part=loop.part)

    # --- text ------------------------------------------------------------------------------------------------------

    def text(self) -> list[str]:
        """The lines of all parts."""
        lines = []
        for part in self.parts:
            lines += part.lines() if isinstance(part, Loop) else part
        return lines


def filled(target: View, text: str) -> list[str]:
    """The lines that fill dense memory with one number."""
    size = prod(target.shape)
    place = " + ".join([term for term in (target.base, str(target.offset), "n") if term])
    return [f"for n in range({size}):", f"{INDENT}{target.array}[{place}] = {text}"]


def indented(lines: Sequence[str], depth: int = 1) -> list[str]:
    """Lines further right."""
    return [f"{INDENT * depth}{line}" for line in lines]


__all__ = ["Block", "Memory", "filled", "indented"]
