"""Elementwise steps on large arrays run block by block, so that what they read stays in the cache.

Chains of them, so that what is between them does; single ones where an operand is in another order than the result.

Chains, measured for six additions and multiplications (float32): nothing is gained at 1 M elements, where all arrays
fit the last level of cache, a sixth at 4 M, and 3.3 × at 16 M. Blocks of 32,768 elements do best: smaller ones pay for
the calls.

`x + x.T` (float32) takes 70 ms for 3,000 rows and columns, 27 in tiles of 256 by 256: along the columns of what is
transposed each element is in another page of memory. What fits the nearer caches gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from tangrad._backend_numpy import threads
from tangrad._backend_numpy.functions import ELEMENTWISE, FRESH, Function, Method, Ufunc
from tangrad._backend_numpy.program import Program, Shape, Step, Stored

LARGE = 1 << 22  # elements of a result from which on blocks are worth it
BLOCK = 1 << 17  # bytes of a block
FEWEST_STEPS = 3
TILE = 256  # elements along either side
# Elements of a result, and along its last axis, from which on tiles are worth it.
LARGE_TILED, LONG_TILED = 1 << 20, 1 << 10


class BlockLoop(Function):
    """Several elementwise steps as one, in a loop over blocks of rows.

    All arrays are seen as (rows, columns): the first `split` dimensions together, and the others.

    Attributes:
        steps: what is done in each block.
        shape: the shape of all results; split, rows, columns: how it is seen.
    """

    __slots__ = ("columns", "rows", "shape", "split", "steps")
    nature = FRESH

    def __init__(self, steps: Sequence[Step], shape: Shape, split: int) -> None:
        self.steps = tuple(steps)
        self.shape = shape
        self.split = split
        self.rows = prod(shape[:split])
        self.columns = prod(shape[split:])

    def flops(self, inputs: Sequence[object], outputs: Sequence[object]) -> int:
        return sum([step.function.flops(step.inputs, step.outputs) for step in self.steps])

    def seen_shape(self, stored: Stored) -> Shape:
        """The shape in which the loop sees an array: (rows or 1, columns or 1), or rows alone."""
        padded = (1,) * (len(self.shape) - len(stored.shape)) + stored.shape
        rows, columns = prod(padded[: self.split]), prod(padded[self.split :])
        if self.split == len(self.shape):
            return (rows,)
        return (rows, columns)

    # --- text ------------------------------------------------------------------------------------------------------

    def emit(self, source: Any, step: Step, comment: str) -> None:
        """Append the loop to the text of a program."""
        writer = _LoopWriter(self, source, step)
        for line in writer.preparations:
            source.add(line)
        ending = f"  # {comment}" if comment else ""
        source.add("\n        ".join([f"for i in range(0, {self.rows}, {writer.height}):{ending}", *writer.body]))
        for line in writer.finish:
            source.add(line)


class _LoopWriter:
    """Writes one loop: what stands before it, in it, and behind it."""

    def __init__(self, loop: BlockLoop, source: Any, step: Step) -> None:
        self.loop = loop
        self.source = source
        self.bind = source.names.bind
        self.outputs = set(step.outputs)
        widest = max([stored.dtype.itemsize for inner in loop.steps for stored in inner.outputs])
        self.height = max(1, BLOCK // (widest * loop.columns))
        self.preparations: list[str] = []
        self.body = ["j = i + " + str(self.height)]
        self.finish: list[str] = []
        self._names: dict[Stored, str] = {}  # array -> its block
        self._last = {stored: place for place, inner in enumerate(loop.steps) for stored in inner.inputs}
        self._free: dict[object, list[str]] = {}  # dtype -> names of blocks that are no longer needed
        self._temporary: set[str] = set()
        for stored in step.inputs:
            self._names[stored] = self._input(stored)
        for place, inner in enumerate(loop.steps):
            self._write(place, inner)
        for stored in step.outputs:
            if stored.shape != loop.seen_shape(stored):
                name = source.name(stored)
                self.finish.append(f"{name} = {name}.reshape({stored.shape!r})")

    def _input(self, stored: Stored) -> str:
        name, seen = self.source.name(stored), self.loop.seen_shape(stored)
        if stored.shape not in (seen, ()):
            seen_name = self.source.fresh_name("t")
            self.preparations.append(f"{seen_name} = {name}.reshape({seen!r})")
            name = seen_name
        if stored.size == 1 or seen[0] == 1:
            return name  # the same in every block
        block = self.source.fresh_name("t")
        self.body.append(f"{block} = {name}[i:j]")
        return block

    def _write(self, place: int, inner: Step) -> None:
        (result,) = inner.outputs
        operands = [self._names[stored] for stored in inner.inputs]
        if result in self.outputs:
            out = self._output(result)
        else:
            out = self._dead_operand(place, inner, result) or self._temporary_block(result)
        self._names[result] = out
        self.body += inner.function.text_into(out, operands, self.bind)
        for stored in dict.fromkeys(inner.inputs):
            name = self._names[stored]
            if self._last[stored] == place and name in self._temporary and name != out:
                self._free.setdefault(stored.dtype, []).append(name)

    def _output(self, result: Stored) -> str:
        name = self.source.fresh_name()
        self.source.set_name(result, name)
        seen = self.loop.seen_shape(result)
        self.preparations.append(f"{name} = {self._empty(seen, result.dtype)}")
        block = self.source.fresh_name("t")
        self.body.append(f"{block} = {name}[i:j]")
        return block

    def _dead_operand(self, place: int, inner: Step, result: Stored) -> str | None:
        for position, stored in enumerate(inner.inputs):
            name = self._names[stored]
            if (
                name in self._temporary
                and self._last[stored] == place
                and stored.dtype == result.dtype
                and inner.function.may_overwrite(position)
                and inner.inputs.count(stored)
                == sum([inner.function.may_overwrite(p) for p, other in enumerate(inner.inputs) if other is stored])
            ):
                return name
        return None

    def _temporary_block(self, result: Stored) -> str:
        waiting = self._free.get(result.dtype)
        if waiting:
            return waiting.pop()
        whole, name = self.source.fresh_name("t"), self.source.fresh_name("t")
        seen = self.loop.seen_shape(result)
        height = min(self.height, self.loop.rows)
        self.preparations.append(f"{whole} = {self._empty((height, *seen[1:]), result.dtype)}")
        # The last block may be lower.
        self.body.append(f"{name} = {whole}[:{self.loop.rows} - i]" if self.loop.rows % height else f"{name} = {whole}")
        self._temporary.add(name)
        return name

    def _empty(self, shape: Shape, dtype: np.dtype) -> str:
        return f"{self.bind(np.empty, 'empty')}({shape!r}, {self.bind(dtype, dtype.name)})"


class Tiles(Ufunc):
    """An elementwise ufunc of arrays of which one is a large transposed one, tile by tile.

    Attributes:
        shape, dtype: of the result; axis: the one along which the elements of the transposed array are neighbours.
    """

    __slots__ = ("axis", "dtype", "shape")

    def __init__(self, ufunc: np.ufunc, shape: Shape, dtype: np.dtype, axis: int) -> None:
        super().__init__(ufunc)
        self.shape, self.dtype, self.axis = shape, dtype, axis

    @property
    def key(self) -> Hashable:
        return "tiles", self.ufunc, self.axis

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        return self.run

    def text(self, operands: Sequence[str], bind: Any, scalar: bool) -> str:
        return f"{bind(self.run, f'{self.ufunc.__name__}_in_tiles')}({', '.join(operands)})"

    def text_into(self, out: str, operands: Sequence[str], bind: Any) -> list[str]:
        return [self.text([*operands, f"out={out}"], bind, False)]

    def run(self, *operands: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The result, which is `out` if there is one."""
        out = np.empty(self.shape, self.dtype) if out is None else out
        arrays = [*[np.broadcast_to(operand, self.shape) for operand in operands], out]

        def compute(starts: Iterable[int]) -> None:
            part = [slice(None)] * len(self.shape)
            for first in starts:
                part[self.axis] = slice(first, first + TILE)
                for second in range(0, self.shape[-1], TILE):
                    part[-1] = slice(second, second + TILE)
                    tile = tuple(part)
                    *inputs, result = [array[tile] for array in arrays]
                    self.ufunc(*inputs, out=result)

        threads.share(compute, range(0, self.shape[self.axis], TILE))
        return out


def find_tiles(program: Program) -> None:
    """Let elementwise steps that read a large transposed array do so in tiles."""
    if not any([stored.size >= LARGE_TILED for step in program.steps for stored in step.outputs]):
        return
    orders: dict[Stored, Any] = {}  # how transposed arrays are in memory, and what is made of them; None: as they are
    for step in program.steps:
        function: Any = step.function
        if isinstance(function, Method) and function.name == "transpose" and orders.get(step.inputs[0]) is None:
            orders[step.outputs[0]] = function.arguments[0]
        elif function.nature is ELEMENTWISE and not step.several:
            (result,) = step.outputs
            found: set[Any] = {orders.get(stored) for stored in step.inputs if stored.shape == result.shape}
            if len(found) == 1:  # NumPy goes through the operands in their order, and gives the result the same
                orders[result] = found.pop()
            elif type(function) is Ufunc and result.size >= LARGE_TILED and result.shape[-1] >= LONG_TILED:
                axis = min([order.index(len(order) - 1) for order in found if order is not None], default=-1)
                if -1 < axis < len(result.shape) - 1:
                    step.function = Tiles(function.ufunc, result.shape, result.dtype, axis)


# --- which steps ---------------------------------------------------------------------------------------------------


def find_blocks(program: Program) -> None:
    """Replace runs of elementwise steps on large arrays of one shape by loops over blocks."""
    steps: list[Step] = []
    run: list[Step] = []
    if not any([stored.size >= LARGE for step in program.steps for stored in step.outputs]):
        return
    for position, step in enumerate(program.steps):
        if run and not _may_join(step, run):
            steps += _closed(program, run, program.steps[position:])
            run = []
        (run if _is_candidate(step) else steps).append(step)
    program.steps = steps + _closed(program, run, [])


def _is_candidate(step: Step) -> bool:
    function = step.function
    if isinstance(function, Tiles) or function.nature is not ELEMENTWISE or not function.writes_into:
        return False
    if step.effectful or step.several:
        return False
    return step.outputs[0].size >= LARGE


def _may_join(step: Step, run: Sequence[Step]) -> bool:
    return _is_candidate(step) and step.outputs[0].shape == run[0].outputs[0].shape


def _closed(program: Program, run: list[Step], later: Sequence[Step]) -> list[Step]:
    """A run of steps as a loop, if it is worth one."""
    if len(run) < FEWEST_STEPS:
        return run
    shape = run[0].outputs[0].shape
    made = {stored for step in run for stored in step.outputs}
    inputs = list(dict.fromkeys([stored for step in run for stored in step.inputs if stored not in made]))
    split = _split(shape, inputs)
    if split is None:
        return run
    needed = {stored for step in later for stored in step.inputs} | set(program.outputs)
    outputs = [stored for step in run for stored in step.outputs if stored in needed]
    loop = BlockLoop(run, shape, split)
    if loop.columns * 4 > 4 * BLOCK or loop.rows < 2:
        return run
    names = "+".join(dict.fromkeys([str(step.primitive) for step in run]))
    return [Step(loop, tuple(inputs), tuple(outputs), True, False, names)]


def _split(shape: Shape, inputs: Sequence[Stored]) -> int | None:
    """How many leading dimensions to see as rows: in each half an array must have all elements, or be repeated."""
    for split in range(len(shape), 0, -1):
        if all([_is_whole_or_one(stored, shape, split) for stored in inputs]):
            return split
    return None


def _is_whole_or_one(stored: Stored, shape: Shape, split: int) -> bool:
    padded = (1,) * (len(shape) - len(stored.shape)) + stored.shape
    return all(
        [
            half == whole or prod(half) == 1
            for half, whole in ((padded[:split], shape[:split]), (padded[split:], shape[split:]))
        ]
    )
