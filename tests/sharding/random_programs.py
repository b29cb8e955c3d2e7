"""Random programs over devices, as data, and what is done to them: derivatives, one by one and composed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from random import Random
from typing import Any, NamedTuple

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad.core import eval_jaxpr
from tests.sharding.random_operations import BACKWARD_ONLY, COLLECTIVES, LOCAL, SIZE

# --- Derivatives of derivatives ---


Flat = Callable[..., Sequence[Any]]


def chain(names: Sequence[str], function: Flat, seen: Any, inputs: Any, outputs: Any) -> Flat:
    """A function of arrays that returns several, transformed by each name in turn.

    Args:
        seen: `vector(number, value)`, a direction; `marked(value, axes)`, a value that differs along axes.
        inputs, outputs: along which axes arguments and results differ.
    """
    for name in names:
        if name in ("vjp", "grad", "transpose"):
            outputs = inputs
        function = _marking(TRANSFORMATIONS[name](function, seen.vector), seen.marked, outputs)
    return function


def _marking(function: Flat, mark: Any, outputs: Any) -> Flat:
    return lambda *args: tuple([mark(out, axes) for out, axes in zip(function(*args), outputs, strict=True)])


def _directions(vector: Any, values: Sequence[Any], start: int) -> tuple[Any, ...]:
    return tuple([vector(start + number, value) for number, value in enumerate(values)])


def _jvp(function: Flat, vector: Any) -> Flat:
    return lambda *xs: tuple(tangrad.jvp(lambda *a: tuple(function(*a)), xs, _directions(vector, xs, 1))[1])


def _linearize(function: Flat, vector: Any) -> Flat:
    return lambda *xs: tangrad.linearize(lambda *a: tuple(function(*a)), *xs)[1](*_directions(vector, xs, 1))


def _vjp(function: Flat, vector: Any) -> Flat:
    def run(*xs: Any) -> Any:
        outs, pullback = tangrad.vjp(lambda *a: tuple(function(*a)), *xs)
        return pullback(_directions(vector, outs, 3))

    return run


def _transpose(function: Flat, vector: Any) -> Flat:
    def run(*xs: Any) -> Any:
        outs, linear = tangrad.linearize(lambda *a: tuple(function(*a)), *xs)
        return tangrad.linear_transpose(linear, *xs)(_directions(vector, outs, 3))

    return run


def _grad(function: Flat, vector: Any) -> Flat:
    def loss(*xs: Any) -> Any:
        """One number; of whole arrays the total over all values that differ."""
        outs = function(*xs)
        total = sum([(out * vector(5 + number, out)).sum(-1) for number, out in enumerate(outs)])
        return total.sum()

    return lambda *xs: tangrad.grad(loss, tuple(range(len(xs))))(*xs)


def _vmap(function: Flat, vector: Any) -> Flat:
    def run(*xs: Any) -> Any:
        return tuple([out[0] - out[1] for out in tangrad.vmap(lambda *a: tuple(function(*a)))(*map(_pair, xs))])

    return run


def _pair(x: Any) -> Any:
    return np.stack([x, 0.5 * x])


TRANSFORMATIONS: dict[str, Callable[[Flat, Any], Flat]] = {
    "jvp": _jvp,
    "linearize": _linearize,
    "vjp": _vjp,
    "transpose": _transpose,
    "grad": _grad,
    "vmap": _vmap,
    "jit": lambda function, _: tangrad.jit(lambda *a: tuple(function(*a))),
    "checkpoint": lambda function, _: tangrad.checkpoint(lambda *a: tuple(function(*a))),
}


# --- Random programs: steps on values that differ along some of the axes of a mesh, made from a seed ---
# A program is run on each device (`on_devices`) and on whole arrays (`whole`). Whole arrays have a leading dimension
# for each axis of the mesh, of size 1 where values are the same along it.


Axes = frozenset[str]
FORWARD = ("jvp", "linearize", "transpose", "vjp", "grad", "jit", "checkpoint", "vmap")
BACKWARD = ("vjp", "grad", "jit", "checkpoint", "vmap")
NESTED = ("jit", "checkpoint", "scan", "cond", "derivative", "by rule")


class Step(NamedTuple):
    """One step: what it does with earlier values, and along which axes its result counts as differing."""

    kind: str
    args: tuple[int, ...]
    axes: Axes
    detail: Any = None


class Program(NamedTuple):
    """Steps; the values are the inputs and the results of the steps, the result is the last one or the last two."""

    inputs: tuple[Axes, ...]
    steps: tuple[Step, ...]
    count: int  # of outputs

    @property
    def outputs(self) -> tuple[Axes, ...]:
        return tuple([step.axes for step in self.steps[-self.count :]])

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The program as text, indented below its first line."""
        found = [f"inputs {[''.join(sorted(axes)) for axes in self.inputs]}, {self.count} outputs"]
        for place, step in enumerate(self.steps, len(self.inputs)):
            detail = step.detail if isinstance(step.detail, tuple) else (step.detail,)
            plain = [part for part in detail if not isinstance(part, Program) and part is not None]
            found.append(f"  {place}: {step.kind} {step.args} {plain or ''} -> {''.join(sorted(step.axes))}")
            for part in detail:
                if isinstance(part, Program):
                    found.extend(["    " + line for line in part.lines()])
        return found


class Maker:
    """Makes programs.

    Args:
        random: where choices come from.
        mesh: the sizes of the axes.
        typed: whether types record what is the same: else everything counts as differing along all axes.
        forward: whether forward derivatives are to be taken: rules that only go backward are then not used.
    """

    def __init__(self, random: Random, mesh: dict[str, int], typed: bool, forward: bool) -> None:
        self.random = random
        self.mesh = mesh
        self.typed = typed
        self.local = LOCAL if forward else {**LOCAL, **BACKWARD_ONLY}
        self.transformations = FORWARD if forward else BACKWARD
        self.nested = [kind for kind in NESTED if kind != "by rule" or not forward]

    def axes(self) -> Axes:
        """Of an input."""
        return self.shown(frozenset([name for name in self.mesh if self.random.random() < 0.5]))

    def shown(self, axes: Axes) -> Axes:
        return axes if self.typed else frozenset(self.mesh)

    def program(
        self, inputs: Sequence[Axes], length: int, depth: int, usable: Sequence[str], count: int = 1
    ) -> Program:
        """A program of some steps.

        Args:
            depth: how deep programs may be within one another.
            usable: the axes that collectives may go over.
        """
        values, steps = list(inputs), []
        for _ in range(max(length, count)):
            step = self.step(values, depth, usable)
            steps.append(step)
            values.append(step.axes)
        return Program(tuple(inputs), tuple(steps), count)

    def step(self, values: list[Axes], depth: int, usable: Sequence[str]) -> Step:
        random = self.random
        draw = random.random()
        if depth and draw < 0.3:
            return self.with_programs(random.choice(self.nested), values, depth - 1, usable)
        if usable and draw < 0.65:
            name, axis = random.choice(list(COLLECTIVES)), random.choice(list(usable))
            (arg,) = self.some(values, 1)
            axes = values[arg] | {axis} if COLLECTIVES[name].differs else values[arg] - {axis}
            return Step("collective", (arg,), self.shown(axes), (name, axis))
        name = random.choice(list(self.local))
        args = self.some(values, self.local[name][0])
        return Step("local", args, joint(values, args), name)

    def some(self, values: Sequence[Axes], count: int) -> tuple[int, ...]:
        """Positions of values: most often of late ones."""
        late = [len(values) - 1 - min(int(self.random.expovariate(0.6)), len(values) - 1) for _ in range(count)]
        return tuple(late)

    def with_programs(self, kind: str, values: list[Axes], depth: int, usable: Sequence[str]) -> Step:
        args = self.some(values, 2)
        given = [values[arg] for arg in args]
        length = self.random.randint(2, 4)
        if kind == "cond":
            least = [axis for axis in usable if axis not in given[0]]  # a device would wait for those in the other
            branches = tuple([self.program(given, length, depth, least) for _ in range(2)])
            axes = branches[0].outputs[0] | branches[1].outputs[0] | given[0]
            return Step(kind, args, self.shown(axes), branches)
        if kind == "scan":
            return self.scan(args, given, length, depth, usable)
        program = self.program(given, length, depth, usable)
        if kind == "derivative":
            names = self.names(self.random.randint(1, 2))
            back = any([name in ("vjp", "grad", "transpose") for name in names])
            axes = given[0] if back else program.outputs[0]
            return Step(kind, args, axes, (*names, program))
        return Step(kind, args, program.outputs[0], (program,))

    def names(self, orders: int) -> tuple[str, ...]:
        """Transformations, of which as many as `orders` are derivatives."""
        found: list[str] = []
        while orders:
            found.append(self.random.choice(self.transformations))
            orders -= found[-1] not in ("jit", "checkpoint", "vmap")
        return tuple(found)

    def scan(self, args: tuple[int, ...], given: list[Axes], length: int, depth: int, usable: Sequence[str]) -> Step:
        """A loop whose carry differs along all axes along which it does after a turn."""
        state = self.random.getstate()
        carry = given[0]
        while True:
            self.random.setstate(state)
            program = self.program([carry, given[1]], length, depth, usable)
            if program.outputs[0] <= carry:
                return Step("scan", args, carry, (program,))
            carry |= program.outputs[0]


def joint(values: Sequence[Axes], args: Sequence[int]) -> Axes:
    return frozenset().union(*[values[arg] for arg in args])


# --- on each device ------------------------------------------------------------------------------------------------


def marked(value: Any, axes: Axes) -> Any:
    """A value of which the type says that it differs along axes."""
    return lax.pvary(value, tuple(sorted(axes))) if axes else value


def on_devices(program: Program, values: Sequence[Any]) -> list[Any]:
    """The program, on the values of a device."""
    known = [marked(value, axes) for value, axes in zip(values, program.inputs, strict=True)]
    for step in program.steps:
        result = _DEVICE[step.kind](step, *[known[arg] for arg in step.args])
        known.append(marked(result, step.axes))
    return known[-program.count :]


def _first(program: Program) -> Callable[..., Any]:
    return lambda *values: on_devices(program, values)[0]


def _scan(step: Step, init: Any, other: Any) -> Any:
    turn = _first(step.detail[0])
    return lax.scan(lambda carry, _: (turn(carry, other), None), init, None, length=2)[0]


def _collective(step: Step, value: Any) -> Any:
    name, axis = step.detail
    return COLLECTIVES[name].named(value, axis)


def _by_rule(step: Step, *values: Any) -> Any:
    """A function whose rule for backward derivatives is a user's: the one that it would have anyway."""
    ruled = tangrad.custom_vjp(_first(step.detail[0]))
    ruled.defvjp(lambda *args: tangrad.vjp(_first(step.detail[0]), *args), lambda pullback, ct: pullback(ct))
    return ruled(*values)


def vector(number: int, aval: Any) -> Any:
    """A direction, or a cotangent, for a value of each device."""
    return np.cos(np.arange(float(SIZE)) + number)


def _derivative(step: Step, *values: Any) -> Any:
    *names, program = step.detail
    seen = Derivatives(vector, lambda out, axes: marked(out, axes))
    return chain(names, lambda *args: on_devices(program, args), seen, program.inputs, program.outputs)(*values)[0]


def from_outside(program: Program) -> Program:
    """The program with local steps that are programs of their own, traced where nothing is mapped."""

    def changed(part: Any) -> Any:
        return from_outside(part) if isinstance(part, Program) else part

    steps = []
    for step in program.steps:
        detail = tuple([changed(part) for part in step.detail]) if isinstance(step.detail, tuple) else step.detail
        steps.append(step._replace(kind="from outside" if step.kind == "local" else step.kind, detail=detail))
    return program._replace(steps=tuple(steps))


@cache
def _traced_outside(name: str) -> Any:
    """A local operation as a program: a thread of its own knows of no map."""
    count, function = (LOCAL | BACKWARD_ONLY)[name]

    def trace() -> Any:
        with tangrad.enable_x64():
            return tangrad.make_jaxpr(function)(*[np.ones(SIZE)] * count)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(trace).result()


def _from_outside(step: Step, *values: Any) -> Any:
    closed = _traced_outside(step.detail)
    return eval_jaxpr(closed.jaxpr, closed.consts, *values)[0]


class Derivatives(NamedTuple):
    """What derivatives need: directions, and results of the types that are expected."""

    vector: Callable[[int, Any], Any]
    marked: Callable[[Any, Axes], Any]


_DEVICE: dict[str, Callable[..., Any]] = {
    "local": lambda step, *values: (LOCAL | BACKWARD_ONLY)[step.detail][1](*values),
    "from outside": _from_outside,
    "collective": _collective,
    "jit": lambda step, *values: tangrad.jit(_first(step.detail[0]))(*values),
    "checkpoint": lambda step, *values: tangrad.checkpoint(_first(step.detail[0]))(*values),
    "scan": _scan,
    "cond": lambda step, x, y: lax.cond(x.sum() > 0, *[_first(branch) for branch in step.detail], x, y),
    "derivative": _derivative,
    "by rule": _by_rule,
}


# --- on whole arrays -----------------------------------------------------------------------------------------------


def whole(program: Program, mesh: dict[str, int], values: Sequence[Any]) -> list[Any]:
    """The program, on arrays of the values of all devices."""
    known = [widened(value, axes, mesh) for value, axes in zip(values, program.inputs, strict=True)]
    for step in program.steps:
        result = _WHOLE[step.kind](step, mesh, *[known[arg] for arg in step.args])
        known.append(widened(result, step.axes, mesh))
    return known[-program.count :]


def shape_of(axes: Axes, mesh: dict[str, int]) -> tuple[int, ...]:
    return (*[size if name in axes else 1 for name, size in mesh.items()], SIZE)


def widened(value: Any, axes: Axes, mesh: dict[str, int]) -> Any:
    """An array with the dimensions of axes along which its values count as differing."""
    return np.broadcast_to(value, np.broadcast_shapes(value.shape, shape_of(axes, mesh)))


def _whole_local(step: Step, mesh: dict[str, int], *values: Any) -> Any:
    function = (LOCAL | BACKWARD_ONLY)[step.detail][1]
    for _ in mesh:
        function = tangrad.vmap(function)
    return function(*np.broadcast_arrays(*values))


def _whole_collective(step: Step, mesh: dict[str, int], value: Any) -> Any:
    name, axis = step.detail
    full = widened(value, frozenset([axis]), mesh)
    return COLLECTIVES[name].whole(full, list(mesh).index(axis), mesh[axis])


def _whole_scan(step: Step, mesh: dict[str, int], carry: Any, other: Any) -> Any:
    for _ in range(2):
        (carry,) = whole(step.detail[0], mesh, [carry, other])
    return carry


def _whole_cond(step: Step, mesh: dict[str, int], x: Any, y: Any) -> Any:
    no, yes = [whole(branch, mesh, [x, y])[0] for branch in reversed(step.detail)]
    return np.where(x.sum(-1, keepdims=True) > 0, yes, no)


def _whole_derivative(step: Step, mesh: dict[str, int], *values: Any) -> Any:
    *names, program = step.detail
    seen = Derivatives(
        lambda number, aval: np.broadcast_to(vector(number, aval), aval.shape),
        lambda out, axes: widened(out, axes, mesh),
    )
    return chain(names, lambda *args: whole(program, mesh, args), seen, program.inputs, program.outputs)(*values)[0]


_WHOLE: dict[str, Callable[..., Any]] = {
    "local": _whole_local,
    "from outside": _whole_local,
    "collective": _whole_collective,
    "scan": _whole_scan,
    "cond": _whole_cond,
    "derivative": _whole_derivative,
} | dict.fromkeys(("jit", "checkpoint", "by rule"), lambda step, mesh, *values: whole(step.detail[0], mesh, values)[0])
