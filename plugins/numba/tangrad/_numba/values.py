"""What stands for the arrays of a jaxpr while its text is made: numbers, and views of flat arrays.

Shapes are known, so that each place is an offset and a step for each dimension. Broadcasting, transposing, slicing and
most reshapes only change these, and cost nothing when the program runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

Shape = tuple[int, ...]

# The element types that there is code for, and how the text names them.
CODES = {np.dtype(code): code for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")}
CODES[np.dtype(bool)] = "b1"


class UnsupportedError(Exception):
    """There is no compiled form of a program: the ordinary code runs."""


def code_of(dtype: Any) -> str:
    """How the text names an element type. Raises UnsupportedError where there is no code for it."""
    code = CODES.get(dtype) if isinstance(dtype, np.dtype) else None
    if code is None:
        raise UnsupportedError(f"elements of type {dtype}")
    return code


def literal(value: Any, code: str) -> str:
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
