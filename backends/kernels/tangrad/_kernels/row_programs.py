"""Steps of NumPy's programs over the rows of large arrays, as one call of the kernel `rows`.

Sums, products and functions of elements, sums and maxima of rows, sums of columns, on arrays of one shape that are seen
as (rows, columns), become a *group*, as far as what is between them does not stand in the way. NumPy reads and writes a
whole array for each of them; the kernel goes through all of them with a few rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._kernels.jobs import NUMBERS, Job
from tangrad._kernels.library import replaced
from tangrad._kernels.on_numpy import KIND, caller
from tangrad.core import Primitive, ShapedArray
from tangrad.core.settings import is_checking_values
from tangrad.extend.backend_numpy import FRESH, Kernel, Method, Opaque, Program, Reduction, Step, Stored, Ufunc
from tangrad.extend.lax import reduce_max_p, reduce_sum_p

if TYPE_CHECKING:
    from tangrad.extend.backend_numpy import Lowering
    from tangrad.typing import DType

# As in native/rows.cc.
ALL, OF_ROW, OF_COLUMN, ONE = range(4)
OPERATIONS: dict[object, int] = {
    np.add: 0,
    np.subtract: 1,
    np.multiply: 2,
    np.divide: 3,
    np.maximum: 4,
    np.minimum: 5,
    np.negative: 6,
    np.sqrt: 7,
    np.exp: 8,
    np.tanh: 9,
}
OF_FLOATS = (np.exp, np.tanh)  # which the kernel has vectors of in single precision alone
ROW_SUM, ROW_MAXIMUM, COLUMN_SUM = 10, 11, 12

ENOUGH = 1 << 15  # elements
LONGEST = 1 << 16  # columns
FEWEST = 3  # steps over all elements that pay for the call
PATIENCE = 64  # steps after which a group is closed that nothing has joined
MOST = 250  # instructions of a group

Instruction = tuple[int, Any, Any, Any]  # operation, result, operands


class Group:
    """Steps that become one.

    Attributes:
        shape: of the arrays; kinds: of what its steps made.
        before, after: steps on the way that go before it, and that need what it makes.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DType) -> None:
        self.shape, self.dtype = shape, dtype
        self.steps: list[Step] = []
        self.before: list[Step] = []
        self.after: list[Step] = []
        self.kinds: dict[Stored, int] = {}
        self.same: dict[Stored, Stored] = {}  # numbers of rows in another shape -> as they were made
        self.operands: dict[tuple[Stored, int], int] = {}
        self.instructions: list[Instruction] = []
        self.passes = 0
        self._late: set[Stored] = set()  # what is made by steps behind it
        self._since = 0

    # --- what joins ------------------------------------------------------------------------------------------------

    def take(self, step: Step) -> bool:
        """Take a step, into the group or beside it. False: the group has to end before it."""
        if step.effectful or self._since > PATIENCE or len(self.instructions) >= MOST:
            return False
        if self._late.isdisjoint(step.inputs) and self.join(step):
            self._since = 0
            return True
        self._since += 1
        if self._late.isdisjoint(step.inputs) and self.kinds.keys().isdisjoint(step.inputs):
            self.before.append(step)
        else:
            self.after.append(step)
            self._late.update(step.outputs)
        return True

    def join(self, step: Step) -> bool:
        """Make instructions of a step, if it is one of those."""
        if step.several or step.outputs[0].dtype != self.dtype:
            return False
        function, (result,) = step.function, step.outputs
        if type(function) is Ufunc:
            made = self._elementwise(function.ufunc, step.inputs, result)
        elif isinstance(function, Method):
            made = function.name == "reshape" and self._reshaped(step.inputs[0], result)
        else:
            made = self._reduction(function, step.inputs[0], result)
        if made:
            self.steps.append(step)
        return made

    def _elementwise(self, ufunc: object, inputs: Sequence[Stored], result: Stored) -> bool:
        operation = OPERATIONS.get(np.multiply if ufunc is np.square else ufunc)
        if operation is None or (ufunc in OF_FLOATS and self.dtype != np.float32):
            return False
        kind = ALL if result.shape == self.shape else OF_ROW
        kinds = [found for stored in inputs if (found := self._kind(stored, result)) is not None]
        if len(kinds) < len(inputs) or (kind == OF_ROW and not self._are_rows(result.shape, inputs, kinds)):
            return False
        if any([self.kinds.get(stored, found) != found for stored, found in zip(inputs, kinds)]):
            return False  # a number for each row where one for each column would meet the array
        if kind == ALL and all([found == ONE for found in kinds]):
            return False
        reads = [self._operand(stored, found) for stored, found in zip(inputs, kinds)]
        self._append(operation, result, kind, reads[0], reads[-1])
        return True

    def _are_rows(self, shape: tuple[int, ...], inputs: Sequence[Stored], kinds: Sequence[int]) -> bool:
        """Whether a step is over numbers of rows, one of them at least from here: else it may be over columns."""
        if shape not in (self.shape[:-1], (*self.shape[:-1], 1)):
            return False
        own = [stored for stored in inputs if self.kinds.get(stored) == OF_ROW]
        return bool(own) and all([kind in (OF_ROW, ONE) for kind in kinds])

    def _kind(self, stored: Stored, result: Stored) -> int | None:
        """How an operand is seen from a result to which it broadcasts."""
        if stored.dtype != self.dtype:
            return None
        shape = stored.shape
        if prod(shape) == 1:
            return self.kinds.get(stored, ONE)
        if result.shape != self.shape:
            return OF_ROW if shape == result.shape else None
        if shape == self.shape:
            return ALL
        padded = (1,) * (len(self.shape) - len(shape)) + shape
        if padded == (*self.shape[:-1], 1):
            return OF_ROW
        return OF_COLUMN if padded == (*[1] * (len(self.shape) - 1), self.shape[-1]) else None

    def _reshaped(self, x: Stored, result: Stored) -> bool:
        """Numbers of rows in another shape."""
        if self.kinds.get(x) != OF_ROW or result.shape not in (self.shape[:-1], (*self.shape[:-1], 1)):
            return False
        self.kinds[result] = OF_ROW
        self.same[result] = self.same.get(x, x)
        return True

    def _reduction(self, function: object, x: Stored, result: Stored) -> bool:
        ufunc, axes = _reduced(function)
        if ufunc is None or x.shape != self.shape or x.dtype != self.dtype:
            return False
        axes, rank = tuple(axes), len(self.shape)
        if axes == (rank - 1,) and ufunc in (np.add, np.maximum):
            operation, kind = (ROW_SUM if ufunc is np.add else ROW_MAXIMUM), OF_ROW
        elif axes == tuple(range(rank - 1)) and ufunc is np.add:
            operation, kind = COLUMN_SUM, OF_COLUMN
            self._late.add(result)
        else:
            return False
        operand = self._operand(x, ALL)
        self._append(operation, result, kind, operand, operand)
        return True

    def _operand(self, stored: Stored, kind: int) -> Any:
        if stored in self.kinds:
            return self.same.get(stored, stored)
        self.operands.setdefault((stored, kind), len(self.operands))
        return stored, kind

    def _append(self, operation: int, result: Stored, kind: int, first: object, second: object) -> None:
        self.kinds[result] = kind
        self.instructions.append((operation, result, first, second))
        self.passes += kind == ALL or operation in (ROW_SUM, ROW_MAXIMUM, COLUMN_SUM)

    # --- what becomes of it ----------------------------------------------------------------------------------------

    def fused(self, uses: Counter[Stored]) -> Step:
        """The one step. `uses`: how often what all steps make is read, by whomever."""
        inner = Counter([stored for step in self.steps for stored in step.inputs])
        outputs = [stored for stored in self.kinds if uses[stored] > inner[stored]]
        first = {stored: self.same.get(stored, stored) for stored in outputs}
        results = list(dict.fromkeys(first.values()))
        plan = self._plan(results)
        avals = [ShapedArray(stored.shape, stored.dtype) for stored in results]
        run = caller(Job("rows", plan), avals)
        others = [(results.index(first[stored]), stored.shape) for stored in outputs if stored not in results]
        kept = [stored for stored in outputs if stored in results]
        places = [results.index(stored) for stored in kept]

        def call(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
            found = run(*arrays)
            # Each in memory of its own.
            copies = [found[place].reshape(shape).copy() for place, shape in others]
            return (*[found[place] for place in places], *copies)

        call.__name__ = "rows"
        made = [*kept, *[stored for stored in outputs if stored not in results]]
        names = "+".join(dict.fromkeys([str(step.primitive) for step in self.steps]))
        return Step(Opaque(call, FRESH), tuple([stored for stored, _ in self.operands]), made, True, False, names)

    def _plan(self, results: Sequence[Stored]) -> tuple[int, ...]:
        places, kinds = self._temporaries(results)
        count = len(self.operands)
        numbers: dict[Any, int] = {**self.operands, **{stored: count + place for stored, place in places.items()}}
        numbers |= {stored: count + len(kinds) + place for place, stored in enumerate(results)}
        code = []
        for operation, result, first, second in self.instructions:
            code += [operation, numbers[result], numbers[first], numbers[second]]
        rows, columns = prod(self.shape[:-1]), self.shape[-1]
        sizes = [NUMBERS[self.dtype.name], rows, columns, count, len(kinds), len(results), len(self.instructions)]
        seen = [*[kind for _, kind in self.operands], *kinds, *[self.kinds[stored] for stored in results]]
        return (*sizes, *seen, *code)

    def _temporaries(self, results: Sequence[Stored]) -> tuple[dict[Stored, int], list[int]]:
        """The temporary array of each result that is not one of the group, and their kinds: used again once dead."""
        last = {stored: place for place, (_, *atoms) in enumerate(self.instructions) for stored in atoms}
        free: dict[int, list[int]] = {ALL: [], OF_ROW: []}
        places: dict[Stored, int] = {}
        kinds: list[int] = []
        for place, (_, result, first, second) in enumerate(self.instructions):
            kind = self.kinds[result]
            if result not in results:
                if not free[kind]:
                    kinds.append(kind)
                    free[kind].append(len(kinds) - 1)
                places[result] = free[kind].pop()
            for stored in {first, second, result}:
                if stored in places and last[stored] == place:
                    free[self.kinds[stored]].append(places[stored])
        return places, kinds


def _reduced(function: object) -> tuple[Any, Any]:
    """The ufunc and the axes of a reduction; (None, None) for others."""
    if isinstance(function, Reduction):
        axes = function.axes
        return (None, None) if axes is None else (function.ufunc, (axes,) if isinstance(axes, int) else axes)
    key = function.key if isinstance(function, Opaque) else None
    if isinstance(key, tuple) and key[:1] in (("summed",), ("widened",)):
        return (np.add if key[0] == "summed" else getattr(key[1], "__self__", np.add)), key[-1]
    return None, None


def _begun(step: Step) -> Group | None:
    """A group that begins with a step."""
    seen = step.inputs[0] if _reduced(step.function)[0] is not None else step.outputs[0] if step.outputs else None
    if seen is None or step.effectful or len(seen.shape) < 2 or seen.dtype not in (np.float32, np.float64):
        return None
    if not 1 < seen.shape[-1] <= LONGEST or prod(seen.shape) < ENOUGH:
        return None
    group = Group(seen.shape, seen.dtype)
    return group if group.join(step) else None


def fuse_rows(program: Program) -> None:
    """Replace groups of steps by calls of the kernel."""
    if program.plan is not None or is_checking_values():
        return
    uses = Counter([stored for step in program.steps for stored in step.inputs] + program.outputs)
    done: list[Step] = []
    waiting = program.steps[::-1]
    while waiting:
        step = waiting.pop()
        group = _begun(step)
        if group is None:
            done.append(step)
            continue
        order = [step]
        while waiting and group.take(waiting[-1]):
            order.append(waiting.pop())
        if group.passes < FEWEST:
            done.append(step)
            waiting += order[:0:-1]
            continue
        done += [*group.before, group.fused(uses)]
        waiting += group.after[::-1]
    program.steps = done


def _asking(primitive: Primitive) -> Kernel:
    """The rule that there is, for programs in which rows are looked for then."""

    def emit(ctx: Lowering, x: object, **params: object) -> Any:
        ctx.program.rewrites[fuse_rows] = None
        return replaced(KIND, primitive)(ctx, x, **params)

    return Kernel(emit)


REDUCTIONS = {primitive: _asking(primitive) for primitive in (reduce_sum_p, reduce_max_p)}
