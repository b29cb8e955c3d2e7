"""The text of one compiled loop: a function of arrays that numba compiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tangrad._numba import control
from tangrad._numba.blocks import Block, Memory, indented
from tangrad._numba.equations import evaluate
from tangrad._numba.loops import dense
from tangrad._numba.values import View, code_of


@dataclass(frozen=True)
class Stacked:
    """A result that the function writes into an array of the caller."""

    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class Kept:
    """A result that is in the working memory of `code` at `start` when the function returns."""

    code: str
    start: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """The text of a loop.

    Its function `run(first, begin, end, *working memory, *operands, *constants, *stacked)` does the iterations from
    begin to end, with the carry in working memory before and after. It returns whether a while loop has ended.

    Attributes:
        working: element types and sizes of the working memory.
        codes: the element types of the operands.
        constants: arrays that the loop closed over.
        results: where they are.
        length: the number of iterations, or None.
    """

    text: str
    working: tuple[tuple[str, int], ...]
    codes: tuple[str, ...]
    constants: tuple[Any, ...]
    results: tuple[Stacked | Kept, ...]
    length: int | None


def loop_program(identity: str, params: Any, in_avals: Sequence[Any], out_avals: Sequence[Any]) -> Program:
    """The program of a scan or while loop. Raises UnsupportedError."""
    memory = Memory()
    block = Block(memory)
    codes = tuple([code_of(aval.dtype) for aval in in_avals])
    operands = [
        dense(f"a{position}", "", 0, aval.shape, code, memory.home())
        for position, (aval, code) in enumerate(zip(in_avals, codes))
    ]
    stacked: list[View] = []
    if identity == "control_flow.scan":
        for position, aval in enumerate(out_avals[params["num_carry"] :]):
            stacked.append(dense(f"y{position}", "", 0, aval.shape, code_of(aval.dtype), memory.home()))
        run = control.scan(block, evaluate, operands, params, ("begin", "end"), stacked)
    else:
        run = control.while_loop(block, evaluate, operands, params, "end - begin")
    lines = [*block.text(), "if first:", *indented(run.start or ["pass"]), *run.state.load()]
    lines += ["done = False", *run.lines, *run.state.save(), "return done"]
    working = tuple(sorted(memory.sizes.items()))
    names = ["first", "begin", "end", *[f"w_{code}" for code, _ in working]]
    names += [f"a{k}" for k in range(len(operands))] + [f"k{k}" for k in range(len(memory.constants))]
    names += [f"y{k}" for k in range(len(stacked))]
    text = f"def run({', '.join(names)}):\n" + "".join([f"    {line}\n" for line in lines])
    kept = tuple([Kept(cell.code, cell.offset, cell.shape) for cell in run.state.cells if cell is not None])
    written = tuple([Stacked(view.shape, np.dtype(_name(view.code))) for view in stacked])
    return Program(text, working, codes, tuple(memory.constants), (*kept, *written), params.get("length"))


def _name(code: str) -> str:
    return "bool" if code == "b1" else code
