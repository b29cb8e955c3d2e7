"""Steps on large arrays run block by block, so that what they read stays in the cache, and in several threads.

Chains of elementwise steps, with reductions of rows and sums of columns among them: what is between them does not go
through memory; single ones where an operand is in another order than the result.

When that is worth it was measured: docs/speed.md, Threads of the NumPy backend.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from tangrad._backend_numpy import threads, totals
from tangrad._backend_numpy.functions import ELEMENTWISE, FRESH, VIEW, Function, Method, Ufunc
from tangrad._backend_numpy.program import Program, Shape, Step, Stored
from tangrad._backend_numpy.totals import CHAIN, reduced_axes, reduced_by, sum_in_parts

LARGE = 1 << 16  # elements from which on blocks are thought of
WORK = 3 << 18  # elements that all steps go through together, from which on blocks are worth it
# What takes so many times as long as an addition.
SLOW, SLOWNESS = frozenset((np.exp, np.log, np.sin, np.cos, np.tan, np.tanh, np.arctan, np.expm1, np.log1p)), 4
SMALL = 1 << 16  # bytes of what is computed before or behind a loop though it stands amid its steps
BLOCK = 1 << 18  # bytes of a block
TILE = 256  # elements along either side
# Elements of a result, and along its last axis, from which on tiles are worth it.
LARGE_TILED, LONG_TILED = 1 << 20, 1 << 10

# What a result within a loop has: elements for all rows and columns, one for each row, or sums of columns.
WHOLE, ROW, COLUMNS = "whole", "row", "columns"


class BlockLoop(Function):
    """Several steps as one, in a loop over blocks of rows.

    All arrays are seen as (rows, columns): the first `split` dimensions together, and the others.

    Attributes:
        steps: what is done in each block; kinds: what their results are.
        inputs, outputs: of the loop; roots: outputs that are others in another shape -> these.
        shape: of the results that are WHOLE; split, rows, columns: how it is seen.
        height: the rows of a block, which decide how sums of columns are rounded.
    """

    __slots__ = ("columns", "height", "inputs", "kinds", "outputs", "roots", "rows", "shape", "split", "steps")
    nature = FRESH
    writes_into = True

    def __init__(self, group: _Group, split: int, outputs: Sequence[Stored]) -> None:
        self.kinds, self.roots, self.shape, self.split = group.kinds, group.roots, group.shape, split
        self.steps = tuple([group.rooted(step) for step in group.steps if step.outputs[0] not in group.roots])
        made = {step.outputs[0] for step in self.steps}
        self.inputs = tuple(dict.fromkeys([x for step in self.steps for x in step.inputs if x not in made]))
        self.outputs = tuple(outputs)
        self.rows = prod(self.shape[:split])
        self.columns = prod(self.shape[split:])
        arrays = [x for step in self.steps for x in (*step.inputs, *step.outputs) if x.size > 1]
        self.height = max(1, BLOCK // (max([x.dtype.itemsize for x in arrays]) * self.columns))
        self.height = min(self.height, CHAIN) if COLUMNS in self.kinds.values() else self.height

    def flops(self, inputs: Sequence[object], outputs: Sequence[object]) -> int:
        return sum([step.function.flops(step.inputs, step.outputs) for step in self.steps])

    def may_overwrite(self, position: int) -> bool:
        """Whether blocks of an operand are read no more when those of whole results are written."""
        stored, first = self.inputs[position], self._first_written()
        reading = [(place, step) for place, step in enumerate(self.steps) if stored in step.inputs]
        place, step = reading[-1]
        if stored.size != self.rows * self.columns or place > first:
            return False
        return place < first or all(
            [step.function.may_overwrite(at) for at, operand in enumerate(step.inputs) if operand is stored]
        )

    def may_be_given(self, stored: Stored) -> bool:
        """Whether a whole result may be in the memory of an operand though it has another name in the text."""
        step = self.steps[self._first_written()]
        return stored not in step.inputs or type(step.function) is Ufunc

    def _first_written(self) -> int:
        places = [place for place, step in enumerate(self.steps) if step.outputs[0] in self.outputs]
        return min([place for place in places if self.kinds[self.steps[place].outputs[0]] is WHOLE], default=-1)

    def seen_shape(self, stored: Stored, of_rows: bool) -> Shape:
        """The shape in which an operand is seen: (rows or 1, columns or 1), or rows alone.

        `of_rows`: whether it is an operand of what has one element for each row.
        """
        if of_rows:
            return (self.rows if stored.size > 1 else 1, 1)
        padded = (1,) * (len(self.shape) - len(stored.shape)) + stored.shape
        rows, columns = prod(padded[: self.split]), prod(padded[self.split :])
        return (rows,) if self.split == len(self.shape) else (rows, columns)

    def made_shape(self, kind: str) -> Shape:
        """The shape in which a result is seen."""
        if kind is ROW:
            return (self.rows, 1)
        return (self.rows,) if self.split == len(self.shape) else (self.rows, self.columns)

    # --- text ---

    def emit(self, source: Any, comment: str) -> None:
        """Append the loop to the text of a program."""
        writer = _LoopWriter(self, source)
        name, share = source.fresh_name("t"), source.names.bind(threads.share, "share")
        lines = [f"def {name}(starts):", *writer.memory, "for i in starts:", *[f"    {line}" for line in writer.body]]
        call = f"{share}({name}, range(0, {self.rows}, {self.height}))"
        text = "\n        ".join(lines) + f"\n    {call}"  # one statement: names are let go behind it
        rest = [*writer.finish, f"del {', '.join([name, *writer.views])}"]
        for line in [*writer.preparations, text, *rest]:
            source.add(line, comment if line is text else "")


class _LoopWriter:
    """Writes one loop: what stands before it, in it, and behind it; `views`: the names that only the loop needs."""

    def __init__(self, loop: BlockLoop, source: Any) -> None:
        self.loop = loop
        self.source = source
        self.bind = source.names.bind
        self.preparations: list[str] = []
        self.memory: list[str] = []
        self.body = [f"j = i + {loop.height}"]
        self.finish: list[str] = []
        self.views: list[str] = []
        self._blocks: dict[tuple[Stored, Shape], str] = {}  # an operand as it is seen -> its block
        self._arrays: dict[tuple[Stored, Shape], str] = {}  # the same -> the array
        self._made: dict[Stored, str] = {}  # result -> its block
        self._last = {stored: place for place, inner in enumerate(loop.steps) for stored in inner.inputs}
        self._free: dict[object, list[str]] = {}  # what a block is -> names of those that are no longer needed
        self._temporary: set[str] = set()
        self._wanted: dict[Stored, list[Stored]] = {}  # result -> the outputs that it is
        for stored in loop.outputs:
            self._wanted.setdefault(loop.roots.get(stored, stored), []).append(stored)
        for place, inner in enumerate(loop.steps):
            self._write(place, inner)

    def _operand(self, stored: Stored, of_rows: bool) -> str:
        if stored in self._made:
            return self._made[stored]
        seen = self.loop.seen_shape(stored, of_rows)
        found = self._blocks.get((stored, seen))
        if found is None:
            name = self._array(stored, seen)
            found = name
            if stored.size > 1 and seen[0] > 1:
                found = self.source.fresh_name("t")
                self.body.append(f"{found} = {name}[i:j]")
            self._blocks[stored, seen] = found
        return found

    def _array(self, stored: Stored, seen: Shape) -> str:
        """The name of an array that exists, as it is seen."""
        found = self._arrays.get((stored, seen))
        if found is None:
            found = name = str(self.source.name(stored))
            if stored.shape not in (seen, ()):
                found = self._view(f"{name}.reshape({seen!r})")
            self._arrays[stored, seen] = found
        return found

    def _view(self, expression: str) -> str:
        name = str(self.source.fresh_name("t"))
        self.preparations.append(f"{name} = {expression}")
        self.views.append(name)
        return name

    def _write(self, place: int, inner: Step) -> None:
        (result,) = inner.outputs
        kind, reduced = self.loop.kinds[result], reduced_by(inner)
        operands = [self._operand(stored, kind is ROW and reduced is None) for stored in inner.inputs]
        if kind is COLUMNS and reduced is not None:
            out = self._write_columns(result, reduced[0], operands[0])
        else:
            seen = self.loop.made_shape(kind)
            if result in self._wanted:
                out = self._output(result, kind, seen)
            else:
                out = self._dead_operand(place, inner, kind) or self._temporary_block(result.dtype, kind, seen)
            if reduced is None:
                self.body += inner.function.text_into(out, operands, self.bind)
            else:
                self._write_row_reduction(out, reduced, operands, inner.inputs[0])
            self._made[result] = out
        for stored in dict.fromkeys(inner.inputs):
            name = self._made.get(stored)
            if name in self._temporary and name != out and self._last[stored] == place:
                self._free.setdefault((self.loop.kinds[stored], stored.dtype), []).append(name)

    def _write_row_reduction(
        self, out: str, reduced: tuple[np.ufunc, bool], operands: Sequence[str], of: Stored
    ) -> None:
        (ufunc, in_parts), operand = reduced, operands[0]
        if len(operands) > 1:
            self.body.append(f"{self.bind(totals.row_products, 'row_products')}({', '.join(operands)}, {out})")
        elif ufunc is np.add and totals.is_of_blas(of.dtype, self.loop.columns):
            ones = self.bind(np.ones(self.loop.columns, of.dtype), "ones")
            self.body.append(f"{self.bind(totals.row_sums, 'row_sums')}({operand}, {ones}, {out})")
        elif in_parts and of not in self._made:  # which may be in any order
            total = f"{self.bind(sum_in_parts, 'sum_in_parts')}({operand}, (1,), {operand}.dtype)"
            self.body.append(f"{out}[:, 0] = {total}")
        else:
            reduce = self.bind(ufunc.reduce, f"{ufunc.__name__}_reduce")
            self.body.append(f"{reduce}({operand}, 1, {operand}.dtype, {out}, True)")

    def _write_columns(self, result: Stored, ufunc: np.ufunc, operand: str) -> str:
        loop, reduce = self.loop, self.bind(ufunc.reduce, f"{ufunc.__name__}_reduce")
        sums = self._view(self._empty((-(-loop.rows // loop.height), loop.columns), result.dtype))
        self.body.append(f"{reduce}({operand}, 0, {operand}.dtype, {sums}[i // {loop.height}])")
        name = self.source.fresh_name()
        total = self.bind(sum_in_parts, "sum_in_parts") if ufunc is np.add else reduce
        self.finish.append(f"{name} = {total}({sums}, (0,), {sums}.dtype).reshape({result.shape!r})")
        self.source.set_name(result, name)
        return sums

    def _output(self, result: Stored, kind: str, seen: Shape) -> str:
        target = self.source.plan.into.get(result) if kind is WHOLE else None
        block = None
        if target is None:
            array = self._view(self._empty(seen, result.dtype))
        elif target in self.source.program.donated:
            given = f"d{self.source.name(target)[1:]}"
            array = self._view(f"{self._empty(seen, result.dtype)} if {given} is None else {given}.reshape({seen!r})")
        else:
            array, block = self._array(target, seen), self._blocks.get((target, seen))
        if block is None:
            block = self.source.fresh_name("t")
            self.body.append(f"{block} = {array}[i:j]")
        for position, stored in enumerate(self._wanted[result]):
            name = self.source.fresh_name()
            shaped = array if stored.shape == seen else f"{array}.reshape({stored.shape!r})"
            self.finish.append(f"{name} = {shaped}{'.copy()' if position else ''}")
            self.source.set_name(stored, name)
        return block

    def _dead_operand(self, place: int, inner: Step, kind: str) -> str | None:
        (result,) = inner.outputs
        for stored in inner.inputs if reduced_by(inner) is None else ():
            name = self._made.get(stored)
            if (
                name in self._temporary
                and self._last[stored] == place
                and self.loop.kinds[stored] is kind
                and stored.dtype == result.dtype
                and all([inner.function.may_overwrite(p) for p, other in enumerate(inner.inputs) if other is stored])
            ):
                return name
        return None

    def _temporary_block(self, dtype: np.dtype, kind: str, seen: Shape) -> str:
        waiting = self._free.get((kind, dtype))
        if waiting:
            return waiting.pop()
        whole, name = self.source.fresh_name("t"), self.source.fresh_name("t")
        height = min(self.loop.height, self.loop.rows)
        empty = self.bind(totals.empty_block, "empty_block")
        self.memory.append(f"{whole} = {empty}({(height, *seen[1:])!r}, {self.bind(dtype, dtype.name)})")
        # The last block may be lower.
        lower = f"[:{self.loop.rows} - i]" if self.loop.rows % height else ""
        self.body.append(f"{name} = {whole}{lower}")
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


# --- which steps ---


def find_blocks(program: Program) -> None:
    """Replace runs of steps on large arrays of one shape by loops over blocks."""
    if not any([stored.size >= LARGE for step in program.steps for stored in (*step.inputs, *step.outputs)]):
        return
    steps: list[Step] = []
    turned: set[Stored] = set()  # what is in another order in memory, and would be read along its columns
    group = _Group()
    for position, step in enumerate(program.steps):
        is_turned = _is_turned(step, turned)
        if is_turned:
            turned.update(step.outputs)
        if (not is_turned and group.takes(step)) or group.passes(step):
            continue
        steps += group.closed(program, position)
        group = _Group()
        if is_turned or not group.takes(step):
            steps.append(step)
    program.steps = steps + group.closed(program, len(program.steps))


def _is_turned(step: Step, turned: set[Stored]) -> bool:
    function = step.function
    if isinstance(function, Method) and function.name == "transpose":
        return True
    if function.nature is not ELEMENTWISE and function.nature is not VIEW:
        return False
    return any([stored in turned and stored.size > 1 for stored in step.inputs])


class _Group:
    """Steps that may become one loop.

    Attributes:
        steps: those of the loop; kinds: what their results are; roots: results that are others in another shape.
        shape, splits: of what is WHOLE, and in how many dimensions rows may be seen in it.
        all: in the order in which they stood; before, after: those that are none of the loop's.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.kinds: dict[Stored, str] = {}
        self.roots: dict[Stored, Stored] = {}
        self.shape: Shape = ()
        self.splits: list[int] = []
        self.all: list[Step] = []
        self.before: list[Step] = []
        self.after: list[Step] = []
        self._later: set[Stored] = set()  # what is not there before the loop has ended

    def takes(self, step: Step) -> bool:
        """Whether a step becomes one of the loop's."""
        if step.effectful or step.several or not self._later.isdisjoint(step.inputs):
            return False
        function, (result,) = step.function, step.outputs
        kind, splits = None, self.splits
        if isinstance(function, Method):
            kind = ROW if function.name == "reshape" and self.kinds.get(step.inputs[0]) is ROW else None
            if kind is not None:
                self.roots[result] = self.roots.get(step.inputs[0], step.inputs[0])
        elif reduced_by(step) is not None:
            kind, splits = self._of_reduction(step)
        elif function.nature is ELEMENTWISE and function.writes_into and not isinstance(function, Tiles):
            if self.kinds and result.shape != self.shape:
                kind = ROW if self._is_of_rows(step) else None
            elif result.size >= LARGE:
                kind, splits = WHOLE, self._whole_splits(step, result.shape)
        if kind is None or not splits:
            return False
        if not self.kinds:
            self.shape = result.shape if kind is WHOLE else step.inputs[0].shape
        self.splits = splits
        self.kinds[result] = kind
        self.steps.append(step)
        self.all.append(step)
        if kind is COLUMNS:
            self._later.add(result)
        return True

    def _of_reduction(self, step: Step) -> tuple[str | None, list[int]]:
        x, axes = step.inputs[0], reduced_axes(step)
        rank = len(x.shape)
        if x.size < LARGE or not 0 < len(axes) < rank or (self.kinds and x.shape != self.shape):
            return None, []
        possible = self.splits if self.kinds else list(range(1, rank))
        if any([self.kinds.get(stored, WHOLE) is not WHOLE for stored in step.inputs]):
            return None, []
        if axes == tuple(range(rank - len(axes), rank)):
            return ROW, [split for split in possible if split == rank - len(axes)]
        if axes == tuple(range(len(axes))):
            exact = step.inputs[0].dtype.kind in "biu" or reduced_by(step) == (np.add, True)
            return (COLUMNS if exact else None), [split for split in possible if split == len(axes)]
        return None, []

    def _is_of_rows(self, step: Step) -> bool:
        """Whether an elementwise step has one element for each row, and is made of others of the loop that do."""
        (result,) = step.outputs
        large = [stored for stored in step.inputs if stored.size > 1]
        if not any([self.kinds.get(stored) is ROW for stored in large]):
            return False
        return all([stored.shape == result.shape and self.kinds.get(stored, ROW) is ROW for stored in large])

    def _whole_splits(self, step: Step, shape: Shape) -> list[int]:
        splits = self.splits if self.kinds else list(range(len(shape), 0, -1))
        for stored in dict.fromkeys(step.inputs):
            if splits and self.kinds.get(stored) is ROW:
                rows = shape[: splits[0]] + (1,) * (len(shape) - splits[0])
                splits = splits if stored.shape == rows else []
            else:
                splits = [split for split in splits if _is_whole_or_one(stored, shape, split)]
        return splits

    def passes(self, step: Step) -> bool:
        """Whether a step that is none of the loop's is done before it or behind it."""
        small = step.function.nature is VIEW or all([stored.nbytes <= SMALL for stored in step.outputs])
        if not self.steps or step.effectful or not small:
            return False
        self.all.append(step)
        is_later = any([stored in self.kinds or stored in self._later for stored in step.inputs])
        (self.after if is_later else self.before).append(step)
        self._later.update(step.outputs if is_later else ())
        return True

    def rooted(self, step: Step) -> Step:
        """A step with operands that are others in another shape replaced by these."""
        inputs = [self.roots.get(stored, stored) for stored in step.inputs]
        return Step(step.function, inputs, step.outputs, primitive=step.primitive)

    def closed(self, program: Program, position: int) -> list[Step]:
        """The steps, as a loop if they are worth one; the program's from `position` on come behind them."""
        if not self.steps:
            return self.all
        later = (*self.after, *program.steps[position:])
        needed = {stored for step in later for stored in step.inputs} | set(program.outputs)
        outputs = [step.outputs[0] for step in self.steps if step.outputs[0] in needed]
        loop = BlockLoop(self, max(self.splits), outputs)
        work = sum([_work(step) for step in self.steps]) / (2 if len(self.steps) == 1 else 1)
        if loop.columns * 4 > 4 * BLOCK or loop.rows < 2 * loop.height or work < WORK:
            return self.all
        names = "+".join(dict.fromkeys([str(step.primitive) for step in self.steps]))
        return [*self.before, Step(loop, loop.inputs, loop.outputs, True, False, names), *self.after]


def _work(step: Step) -> int:
    size = max([stored.size for stored in (*step.inputs, *step.outputs)])
    return size * (SLOWNESS if step.function.key in SLOW else 1)


def _is_whole_or_one(stored: Stored, shape: Shape, split: int) -> bool:
    padded = (1,) * (len(shape) - len(stored.shape)) + stored.shape
    halves = (padded[:split], shape[:split]), (padded[split:], shape[split:])
    return all([half == whole or prod(half) == 1 for half, whole in halves])
