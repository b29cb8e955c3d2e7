"""Nests of loops, and the values that they compute: what stands for the arrays of a jaxpr while its text is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

# --- What stands for the arrays of a jaxpr while its text is made: numbers, and views of flat arrays ------------------
# Shapes are known, so that each place is an offset and a step for each dimension. Broadcasting, transposing, slicing
# and most reshapes only change these, and cost nothing when the program runs.


Shape = tuple[int, ...]

# The element types that there is code for, and how the text names them.
CODES = {np.dtype(code): code for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")}
CODES[np.dtype(bool)] = "b1"


class UnsupportedError(Exception):
    """There is no compiled form of a program: the ordinary code runs."""


def code_of(dtype: object) -> str:
    """How the text names an element type. Raises UnsupportedError where there is no code for it."""
    code = CODES.get(dtype) if isinstance(dtype, np.dtype) else None
    if code is None:
        raise UnsupportedError(f"elements of type {dtype}")
    return code


def literal(value: np.ndarray, code: str) -> str:
    """A number as text."""
    number = value.item()
    if code == "b1":
        return repr(bool(number))
    if code[0] != "f" or np.isfinite(number):
        return f"{code}({number!r})"
    return f"{code}({'nan' if number != number else 'inf' if number > 0 else '-inf'})"


def row_major(shape: Shape) -> Shape:
    """The steps of an array whose last dimension is dense."""
    return tuple([prod(shape[place + 1 :]) for place in range(len(shape))])


@dataclass(frozen=True)
class Number:
    """One element: a name or a constant, the same at every place of `shape`; known after part `part` of its block."""

    text: str
    code: str
    shape: Shape = ()
    part: int = -1


@dataclass(frozen=True)
class View:
    """Elements of a flat array: `array[base + offset + i·strides[0] + j·strides[1] + …]`.

    Attributes:
        base: text of an offset that is known when the program runs, or "".
        part: the part of the block that writes it; -1: it is there before.
        home: what memory it is in; views of one home may overlap.
    """

    array: str
    base: str
    offset: int
    shape: Shape
    strides: Shape
    code: str
    home: int
    part: int = -1

    def is_dense(self) -> bool:
        """Whether the elements follow one another in order."""
        steps = row_major(self.shape)
        return all([size == 1 or have == want for size, have, want in zip(self.shape, self.strides, steps)])

    def transposed(self, permutation: tuple[int, ...]) -> View:
        """Its dimensions in another order."""
        shape, strides = zip(*[(self.shape[axis], self.strides[axis]) for axis in permutation])
        return replace(self, shape=shape, strides=strides)

    def broadcast(self, shape: Shape, dimensions: tuple[int, ...]) -> View:
        """Repeated; dimension i becomes `dimensions[i]`."""
        strides = [0] * len(shape)
        for size, step, place in zip(self.shape, self.strides, dimensions):
            strides[place] = step if size == shape[place] and size != 1 else 0
        return replace(self, shape=shape, strides=tuple(strides))

    def sliced(self, starts: Shape, stops: Shape, steps: Shape) -> View:
        """The elements from `starts` to `stops`, every `steps`-th; the steps are positive."""
        offset = self.offset + sum([start * step for start, step in zip(starts, self.strides)])
        shape = tuple([max(0, -(-(stop - start) // step)) for start, stop, step in zip(starts, stops, steps)])
        strides = tuple([have * step for have, step in zip(self.strides, steps)])
        return replace(self, offset=offset, shape=shape, strides=strides)

    def moved(self, base: str, shape: Shape) -> View:
        """A part of this shape, at an offset that is known when the program runs."""
        return replace(self, base=f"{self.base} + {base}" if self.base else base, shape=shape)

    def reversed(self, axes: tuple[int, ...]) -> View:
        """Backwards along `axes`."""
        offset = self.offset + sum([max(0, self.shape[axis] - 1) * self.strides[axis] for axis in axes])
        strides = tuple([-step if axis in axes else step for axis, step in enumerate(self.strides)])
        return replace(self, offset=offset, strides=strides)

    def reshaped(self, shape: Shape) -> View | None:
        """The same elements in another shape; None where that is no view."""
        sizes = [(size, step) for size, step in zip(self.shape, self.strides) if size != 1]
        if [size for size, _ in sizes] == [size for size in shape if size != 1]:
            steps = iter([step for _, step in sizes])
            return replace(self, shape=shape, strides=tuple([0 if size == 1 else next(steps) for size in shape]))
        return replace(self, shape=shape, strides=row_major(shape)) if self.is_dense() else None


# --- Nests of loops: what is computed element by element over one shape, in one pass ----------------------------------


INDENT = "    "
NEAR = re.compile(r"(sin|cos)_f4\((.*)\)")
FAR = 1.0e6  # below it sine and cosine do with two parts of pi / 2


@dataclass(frozen=True)
class Total:
    """A reduction at the end of a loop's innermost body.

    Attributes:
        name: of the local number that grows; of nothing where `target` does itself.
        start, step: text: the first value, and the next one, of `{}` (what there is).
        finish: text: what is kept, of `{}`.
        level: how many loops are around it.
        target: where the results go; None: the name is the result.
        local: whether a local number grows, which the last loops alone add to.
    """

    name: str
    start: str
    step: str
    finish: str
    level: int
    target: View | None
    local: bool


class Loop:
    """A nest over `shape`, as part number `part` of a block. `names`: gives names that are new."""

    def __init__(self, shape: Shape, part: int, names: Callable[[str], str]) -> None:
        self.shape = shape
        self.part = part
        self._names = names
        self.before: list[str] = []
        self.is_repeated = False  # whether it may run twice, so that it must not write over what it reads
        self._lines: list[str] = []
        self._loads: dict[View, str] = {}
        self._stores: list[tuple[View, str]] = []
        self._totals: list[Total] = []
        self._known: dict[str, str] = {}
        self._counts = False
        self._tags: dict[str, View] = {}

    # --- what is in it ---------------------------------------------------------------------------------------------

    def let(self, text: str, code: str) -> Member:
        """A new result."""
        name = self._known.get(text)
        if name is None:
            name = self._known[text] = self._names("t")
            self._lines.append(f"{name} = {self._first_try(text)}")
        return Member(self, name, code)

    def _first_try(self, text: str) -> str:
        """Where a function is fast for most arguments, the text of that: what it is not right for is noticed."""
        found = NEAR.fullmatch(text) if self.shape else None
        if found is None:
            return text
        self._lines.append(f"far = far | i8(0 if fabs_f4({found[2]}) < f4({FAR}) else 1)")
        self.is_repeated = True
        return f"near_{text}"

    def operand(self, value: Value) -> str:
        """An operand at the place where the loop is, as text."""
        if isinstance(value, Number):
            return value.text
        if isinstance(value, Member):
            if value.loop is self:
                return value.name
            if value.view is None:
                raise UnsupportedError("a result that is not in memory")
            value = value.view
        if value.shape != self.shape:
            raise UnsupportedError("an operand of another shape")
        name = self._loads.get(value)
        if name is None:
            name = self._loads[value] = self._names("t")
            tag = f"@{len(self._tags)}@"
            self._tags[tag] = value
            self._lines.append(f"{name} = {value.array}[{tag}]")
        return name

    def count(self, axis: int) -> str:
        """The position along `axis`, as text."""
        self._counts = True
        return f"n{axis}"

    def store(self, target: View, text: str) -> None:
        """Have a result written."""
        self._stores.append((target, text))

    def total(self, total: Total) -> None:
        """Have a reduction done."""
        self._totals.append(total)

    def reads(self) -> list[View]:
        """What it reads from memory."""
        return list(self._loads)

    # --- text ------------------------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """The text of the nest, and of another for arguments that the first is not right for."""
        lines = self._nest()
        if not self.is_repeated:
            return lines
        again = [line.replace("near_", "") for line in lines if not line.lstrip().startswith("far =")]
        return ["far = 0", *lines, "if far:", *[f"{INDENT}{line}" for line in again]]

    def _nest(self) -> list[str]:
        axes = self._axes()
        nest = _Nest(axes, self.shape)
        body = list(self._lines)
        for total in self._totals:
            if total.local:
                body.append(f"{total.name} = {total.step.format(total.name)}")
            elif total.target is not None:
                place = f"{total.target.array}[{nest.place(total.target)}]"
                body.append(f"{place} = {total.step.format(place)}")
        body += [f"{target.array}[{nest.place(target)}] = {text}" for target, text in self._stores]
        for tag, view in self._tags.items():
            place = nest.place(view)
            body = [line.replace(tag, place) for line in body]
        return self.before + nest.text(body, [total for total in self._totals if total.local])

    def _axes(self) -> list[list[int]]:
        """Which dimensions run as one loop: those that follow one another in all arrays."""
        views = [*self._loads, *[target for target, _ in self._stores]]
        views += [total.target for total in self._totals if not total.local and total.target is not None]
        borders = {total.level for total in self._totals if total.local}
        groups: list[list[int]] = []
        for axis, size in enumerate(self.shape):
            if size == 1:
                continue
            if groups and not self._counts:
                last = groups[-1][-1]
                is_border = any([last < border <= axis for border in borders])
                if not is_border and all([view.strides[last] == view.strides[axis] * size for view in views]):
                    groups[-1].append(axis)
                    continue
            groups.append([axis])
        return groups


class _Nest:
    """The loops of one nest: one for each group of axes, whose counter has the number of the group's last axis."""

    def __init__(self, axes: Sequence[Sequence[int]], shape: Shape) -> None:
        self.loops = []
        for group in axes:
            size = 1
            for axis in group:
                size *= shape[axis]
            self.loops.append((group[0], group[-1], size))

    def place(self, view: View) -> str:
        """The place of an element of a view, as text."""
        terms = [view.base] if view.base else []
        terms += [str(view.offset)] if view.offset else []
        for _, axis, size in self.loops:
            step = view.strides[axis]
            if step and size > 1:
                terms.append(f"n{axis}" if step == 1 else f"n{axis} * {step}")
        return " + ".join(terms) or "0"

    def text(self, body: list[str], totals: list[Total]) -> list[str]:
        lines: list[str] = []
        waiting = list(totals)
        ends: list[tuple[int, list[str]]] = []
        for depth in range(len(self.loops) + 1):
            first = self.loops[depth][0] if depth < len(self.loops) else 1 << 30
            for total in [total for total in waiting if total.level <= first]:
                waiting.remove(total)
                lines.append(f"{INDENT * depth}{total.name} = {total.start}")
                ends.append((depth, self._end(total)))
            if depth < len(self.loops):
                _, axis, size = self.loops[depth]
                lines.append(f"{INDENT * depth}for n{axis} in range({size}):")
        lines += [f"{INDENT * len(self.loops)}{line}" for line in body or ["pass"]]
        for depth, end in reversed(ends):
            lines += [f"{INDENT * depth}{line}" for line in end]
        return lines

    def _end(self, total: Total) -> list[str]:
        kept = total.finish.format(total.name)
        if total.target is None:
            return [f"{total.name}_ = {kept}"]
        outer = [loop for loop in self.loops if loop[0] < total.level]
        nest = _Nest([], ())
        nest.loops = outer
        return [f"{total.target.array}[{nest.place(total.target)}] = {kept}"]


class Member:
    """A result of a loop: there by name, at the place where the loop is; in memory once something else needs it."""

    __slots__ = ("code", "loop", "name", "view")

    def __init__(self, loop: Loop, name: str, code: str) -> None:
        self.loop = loop
        self.name = name
        self.code = code
        self.view: View | None = None

    @property
    def shape(self) -> Shape:
        return self.loop.shape


Value = Number | View | Member


def dense(array: str, base: str, offset: int, shape: Shape, code: str, home: int, part: int = -1) -> View:
    """A view of elements that follow one another."""
    return View(array, base, offset, shape, row_major(shape), code, home, part)
