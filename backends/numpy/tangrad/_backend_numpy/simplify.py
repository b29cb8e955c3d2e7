"""Steps in a better form, once all are known, and which arrays a program may write over."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial

import numpy as np

from tangrad._backend_numpy.blocks import LARGE, BlockLoop
from tangrad._backend_numpy.functions import ELEMENTWISE, FRESH, VIEW, Function, Method, Opaque, Ufunc
from tangrad._backend_numpy.program import Program, Shape, Step, Stored
from tangrad._backend_numpy.totals import is_of_blas, products_of_rows, reduced_axes, reduced_by
from tangrad.core.arguments import is_symbolic

PRODUCTS = (np.matmul, "dot")  # keys of functions for which the rule of transposition holds
SHORT = 16  # elements of rows that are spread, and as how many rows at least
MOST_ROWS = 1 << 14  # for which a constant is repeated
FEWEST = 4096  # elements from which on sums are made otherwise


def simplify(program: Program) -> None:
    """Rewrite the steps of a finished program."""
    if program.plan is None and any([x.size >= FEWEST for step in program.steps for x in step.inputs]):
        _simplify_sums(program)
    uses = Counter([stored for step in program.steps for stored in step.inputs])
    uses.update(program.outputs)
    users = {stored: step for step in program.steps for stored in step.inputs}
    turned: dict[int, list[Step]] = {}  # position of a product -> the steps in its place
    dropped: set[Step] = set()
    for position, step in enumerate(program.steps):
        if not _is_product(step) or uses[step.outputs[0]] != 1:
            continue
        user = users.get(step.outputs[0])
        if user is not None and _turns(user, step.outputs[0]):
            turned[position] = _turned_product(program, step, user.outputs[0])
            dropped.add(user)
    if not turned:
        return
    steps: list[Step] = []
    for position, step in enumerate(program.steps):
        if position in turned:
            steps += turned[position]
        elif step not in dropped:
            steps.append(step)
    program.steps = steps
    program.drop_dead_steps()


def arrange(program: Program) -> None:
    """Let steps on large arrays read them in another form, once lowerings have rewritten what they want to have."""
    if any([stored.size >= FEWEST for step in program.steps for stored in step.outputs]):
        _spread_short_rows(program)
        _keep_places(program)


def _simplify_sums(program: Program) -> None:
    """Sums of what is negative are negated themselves, and sums of rows of products are made without these."""
    steps: list[Step] = []
    for step in program.steps:
        reduced = reduced_by(step)
        if reduced is None or reduced[0] is not np.add or len(step.inputs) > 1 or step.inputs[0].dtype.kind != "f":
            steps.append(step)
            continue
        x, (result,) = step.inputs[0], step.outputs
        maker, is_negative = program.producers.get(x), False
        while maker is not None and maker.function.key is np.negative:
            is_negative, (x,) = not is_negative, maker.inputs
            maker = program.producers.get(x)
        total = Stored(result.shape, result.dtype) if is_negative else result
        function, axes = step.function, reduced_axes(step)
        inputs: tuple[Stored, ...] = (x,)
        is_last = axes == tuple(range(axes[0], len(x.shape))) and axes[0] > 0
        if maker is not None and maker.function.key in (np.multiply, np.square) and is_last and x.size >= FEWEST:
            of_one_shape = all([factor.shape == x.shape for factor in maker.inputs])
            if of_one_shape and is_of_blas(x.dtype, math.prod(x.shape[axes[0] :])):
                function = products_of_rows(axes, x.shape, result.shape)
                inputs = (maker.inputs[0], maker.inputs[-1])
        if is_negative or function is not step.function:
            step = program.producers[total] = Step(function, inputs, (total,), primitive=step.primitive)
        steps.append(step)
        if is_negative:
            zero = program.constant(np.zeros((), result.dtype))  # from it, or what cancels would be -0
            negated = Step(Ufunc(np.subtract), (zero, total), (result,), primitive=step.primitive)
            steps.append(negated)
            program.producers[result] = negated
    program.steps = steps
    program.drop_dead_steps()


def _spread_short_rows(program: Program) -> None:
    """Let elementwise steps read short rows that are repeated, as in `x - x[:, None]`, as one long row.

    Else NumPy begins anew for each of them, which takes ten times as long.
    """
    steps: list[Step] = []
    spread: dict[object, Stored] = {}
    for step in program.steps:
        shape = step.outputs[0].shape if step.function.nature is ELEMENTWISE and not step.several else ()
        inputs = list(step.inputs)
        for place, stored in enumerate(inputs if math.prod(shape) >= LARGE else ()):
            padded = (1,) * (len(shape) - len(stored.shape)) + stored.shape
            axis = _repeated_axis(padded, shape)
            if axis is None:
                inputs[place] = _for_each_row(program, stored, padded, shape)
                continue
            whole = (*padded[:axis], *shape[axis:])
            if (stored, whole) not in spread:
                sizes = math.prod(padded[:axis]), shape[axis], math.prod(shape[axis + 1 :])
                made = spread[stored, whole] = Stored(whole, stored.dtype)
                function = Opaque(partial(_spread, sizes=sizes, shape=whole), FRESH)
                steps.append(Step(function, (stored,), (made,), primitive=step.primitive))
            inputs[place] = spread[stored, whole]
        step.inputs = tuple(inputs)
        steps.append(step)
    program.steps = steps


def _for_each_row(program: Program, stored: Stored, padded: Shape, shape: Shape) -> Stored:
    """A constant with one element for many rows, repeated for all of them: what a loop over blocks can read."""
    last = max([axis for axis, size in enumerate(padded) if size > 1], default=len(shape) - 1)
    rows = shape[: last + 1]
    if stored.constant is None or last == len(shape) - 1 or padded[: last + 1] == rows or math.prod(rows) > MOST_ROWS:
        return stored
    repeated = np.broadcast_to(stored.constant.reshape(padded), (*rows, *padded[last + 1 :]))
    return program.constant(np.ascontiguousarray(repeated))


def _repeated_axis(padded: Shape, whole: Shape) -> int | None:
    """The axis along which an array repeats short rows to have a shape; None where it does not."""
    for axis in reversed(range(len(whole))):
        if padded[axis] != whole[axis]:
            row = math.prod(whole[axis + 1 :])
            return axis if padded[axis] == 1 and 1 < row <= SHORT <= whole[axis] else None
    return None


def _spread(x: np.ndarray, sizes: tuple[int, int, int], shape: Shape) -> np.ndarray:
    out = np.empty(shape, x.dtype)
    rows, count = out.reshape(sizes), 1
    rows[:, 0] = x.reshape(sizes[0], sizes[2])
    while count < sizes[1]:  # what is there already, twice as much each time
        rows[:, count : 2 * count] = rows[:, : min(count, sizes[1] - count)]
        count *= 2
    return out


def _keep_places(program: Program) -> None:
    """Of places that may be negative, and count from the end then, most often none is: that is found out first."""
    for step in program.steps:
        if step.several or step.function.key != ("choose", step.outputs[0].dtype):
            continue
        mask, ended, places = step.inputs
        first, second = program.producers.get(mask), program.producers.get(ended)
        if first is None or second is None or first.function.key is not np.less or second.function.key is not np.add:
            continue
        (compared, zero), (moved, size) = first.inputs, second.inputs
        is_zero = zero.constant is not None and not zero.constant.any()
        of_one_shape = places.shape == step.outputs[0].shape  # zeros, or what is added, may be of more dimensions
        if places is compared is moved and is_zero and of_one_shape and places.dtype.kind == "i":
            step.function, step.inputs = Opaque(_from_the_start, VIEW), (places, size)
    program.drop_dead_steps()


def _from_the_start(places: np.ndarray, size: np.ndarray) -> np.ndarray:
    return places if places.min() >= 0 else np.where(places < 0, places + size, places)


def _is_product(step: Step) -> bool:
    return step.function.key in PRODUCTS and not step.several and all([len(x.shape) == 2 for x in step.inputs])


def _turns(step: Step, stored: Stored) -> bool:
    function = step.function
    return isinstance(function, Method) and function.name == "transpose" and function.arguments == ((1, 0),)


def _turned_product(program: Program, step: Step, result: Stored) -> list[Step]:
    left, right = step.inputs
    steps: list[Step] = []
    operands = [_transposed(program, stored, step, steps) for stored in (right, left)]
    return [*steps, Step(step.function, tuple(operands), (result,), False, False, step.primitive)]


def _transposed(program: Program, stored: Stored, product: Step, steps: list[Step]) -> Stored:
    made_by = program.producers.get(stored)
    if made_by is not None and _turns(made_by, stored):
        return made_by.inputs[0]
    turned = Stored(stored.shape[::-1], stored.dtype)
    steps.append(Step(Method("transpose", (1, 0)), (stored,), (turned,), False, False, product.primitive))
    return turned


# --- Which arrays a program may write over: who shares memory with whom, and who is needed until when ---
# Every array uses one or more *memories*. A step with a fresh result opens one; a view uses those of its operands. A
# memory may be written to if the program opened it (or the caller donated it, or keeps it for this program), nothing
# unknown has seen it, and no array in it is needed any more.

GIVEN = 1 << 14  # bytes: smaller donated arrays are not worth the question who else sees them
FOREVER = 1 << 60


class Memory:
    """One block of memory.

    Attributes:
        base: the array that was there first; it fills the block.
        until: the position of the last step that needs an array in it.
        ours: whether the program may write to it when it is dead.
        donated: whether it is that of an argument that the caller gave away: ours only if among `owned` at run time.
    """

    __slots__ = ("base", "donated", "ours", "until")

    def __init__(self, base: Stored, until: int, ours: bool, donated: bool = False) -> None:
        self.base = base
        self.until = until
        self.ours = ours
        self.donated = donated


class Plan:
    """Which results are written into which dead arrays.

    Attributes:
        into: result -> the dead array that it is written into.
        memories: array -> the memories that it uses.
        exact: the arrays that show each element of one memory once: writing to them spoils nothing else.
    """

    __slots__ = ("_pool", "exact", "into", "memories", "needed_until", "program", "steps")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.steps = program.steps
        self.into: dict[Stored, Stored] = {}
        self.memories: dict[Stored, tuple[Memory, ...]] = {}
        self.exact: set[Stored] = set()
        self.needed_until = _needed_until(program)
        self._pool: dict[object, list[Memory]] = {}
        for stored in program.arguments:
            self._open(stored, -1, stored in program.owned, stored in program.donated)
        expiring: dict[int, list[Memory]] = {}
        for position, step in enumerate(self.steps):
            self._place(position, step)
            for stored in (*step.inputs, *step.outputs):
                for memory in self._memories_of(stored):
                    expiring.setdefault(memory.until, []).append(memory)
            for memory in expiring.pop(position, ()):
                self._release(memory, position)

    def _open(self, stored: Stored, position: int, ours: bool, donated: bool = False) -> None:
        self.memories[stored] = (Memory(stored, self.needed_until.get(stored, position), ours, donated),)
        self.exact.add(stored)

    def _memories_of(self, stored: Stored) -> tuple[Memory, ...]:
        found = self.memories.get(stored)
        if found is None:  # a constant
            found = self.memories[stored] = (Memory(stored, FOREVER, False),)
        return found

    def _place(self, position: int, step: Step) -> None:
        nature = step.function.nature
        if nature is ELEMENTWISE or nature is FRESH:
            for stored in step.outputs:
                if stored in self.program.destinations:  # the caller that gave the argument reads the result there
                    self.into[stored] = self.program.destinations[stored]
                    self.memories[stored] = (Memory(stored, FOREVER, False),)
                    continue
                target = self._target(position, step, stored) if step.function.writes_into else None
                if target is None:
                    self._open(stored, position, True)
                else:
                    self._take_over(position, stored, target)
            return
        shared = tuple(dict.fromkeys([memory for stored in step.inputs for memory in self._memories_of(stored)]))
        if nature is not VIEW:
            for memory in shared:  # an unknown function may keep what it saw
                memory.ours = memory.donated = False
        for stored in step.outputs:
            self.memories[stored] = shared or (Memory(stored, FOREVER, False),)
            if nature is VIEW and len(step.inputs) == 1 and self._shows_all(step.inputs[0], stored):
                self.exact.add(stored)

    def _shows_all(self, operand: Stored, view: Stored) -> bool:
        """Whether a view shows each element once. Of nothing it may be a broadcast, which NumPy marks as read-only."""
        if is_symbolic(view.size):
            return False
        same = operand.size == view.size > 0 and operand.dtype.itemsize == view.dtype.itemsize
        return operand in self.exact and same

    def _target(self, position: int, step: Step, result: Stored) -> Stored | None:
        """A dead array of the right shape and dtype: an operand if possible, else any."""
        for place, stored in enumerate(step.inputs):
            if step.function.may_overwrite(place) and self._is_free(stored, result, position, step):
                return stored
        waiting = self._pool.get((result.shape, result.dtype))
        return waiting.pop().base if waiting else None

    def _take_over(self, position: int, result: Stored, target: Stored) -> None:
        self.into[result] = target
        (memory,) = self.memories[target]
        until = self.needed_until.get(result, position)
        if memory.donated:  # whether the result uses it is known at run time only; in any case it is ours
            memory = Memory(result, until, True)
        memory.until = until
        self.memories[result] = (memory,)
        self.exact.add(result)

    def _is_free(self, stored: Stored, result: Stored, position: int, step: Step) -> bool:
        if stored.shape != result.shape or stored.dtype != result.dtype or stored not in self.exact:
            return False
        (memory,) = self.memories[stored]
        if memory.until != position or not (memory.ours or self._may_be_given(memory, stored, step)):
            return False
        # No other operand may show the same memory in another order, and none may be read after it is written.
        for place, other in enumerate(step.inputs):
            if memory in self._memories_of(other) and not (other is stored and step.function.may_overwrite(place)):
                return False
        return True

    def _may_be_given(self, memory: Memory, stored: Stored, step: Step) -> bool:
        """Whether a donated argument can be the `out` of a step: None, where others see its memory."""
        return (
            memory.donated
            and memory.base is stored
            and (isinstance(step.function, Ufunc) or _may_be_given(step.function, stored))
            and stored.nbytes >= GIVEN
            and bool(stored.shape)
        )

    def _release(self, memory: Memory, position: int) -> None:
        if memory.until == position and memory.ours:
            waiting = self._pool.setdefault((memory.base.shape, memory.base.dtype), [])
            if memory not in waiting:
                waiting.append(memory)


def _may_be_given(function: Function, stored: Stored) -> bool:
    return isinstance(function, BlockLoop) and function.may_be_given(stored)


def _needed_until(program: Program) -> dict[Stored, int]:
    """For each array, the last step that needs its memory: one that reads it, or a view of it."""
    until: dict[Stored, int] = dict.fromkeys(program.outputs, FOREVER)
    for position in range(len(program.steps) - 1, -1, -1):
        step = program.steps[position]
        last = position
        if step.function.nature is not ELEMENTWISE and step.function.nature is not FRESH:
            last = max([position, *[until.get(stored, -1) for stored in step.outputs]])
        for stored in step.inputs:
            if until.get(stored, -1) < last:
                until[stored] = last
    return until
