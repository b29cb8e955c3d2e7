"""Control flow: Python loops and conditions around functions of arrays that are compiled once.

The loops are text too: carries are local variables, results are written into arrays that are made before, and an
iteration costs one call of the body. What of a body depends only on what it closed over is computed before the loop.
Counters are Python integers, or known beforehand (0.1 µs for an element, where adding 1 to an array takes 0.4); sums
grow in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.array import physical
from tangrad._backend_numpy.compilers import compiled_or
from tangrad._backend_numpy.kernels import composed, inlined
from tangrad._backend_numpy.source import text_function
from tangrad.core import ClosedJaxpr, JaxprEqn, Literal, RuleSet, ShapedArray, dce_jaxpr
from tangrad.extend.lax import (
    branch_of_platform,
    cond_p,
    counted_condition,
    counters,
    platform_dependent_p,
    scan_p,
    split_list,
    sums,
    while_p,
    without_invariants,
)

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)

_BUILTINS = {"__builtins__": {"range": range, "int": int}}


@composed(lower, cond_p)
def _(ctx: Lowering, index: Value, *operands: Value, branches: tuple[ClosedJaxpr, ...]) -> Value:
    last = len(branches) - 1
    if index.constant is not None:
        position = int(index.constant)
        return ctx.inline(branches[position if 0 <= position < last else last], *operands)
    functions = tuple([ctx.compile(branch) for branch in branches])

    def choose(index: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        position = int(index)
        return functions[position if 0 <= position < last else last](*arrays)

    def choose_of_two(index: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        return functions[1](*arrays) if index else functions[0](*arrays)

    return ctx.call(choose if last > 1 else choose_of_two, index, *operands)


@inlined(lower, platform_dependent_p)
def _(ctx: Lowering, *, branches: tuple[ClosedJaxpr, ...], platforms: Sequence[str | None]) -> ClosedJaxpr:
    return branches[branch_of_platform(platforms, "numpy", "cpu")]


# --- text ---


def _arguments(names: Sequence[str]) -> str:
    return ", ".join(names)


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)},)" if names else "()"


def _targets(names: Sequence[str]) -> str:
    """What stands before a call for its results; nothing where it has none."""
    return f"{', '.join(names)}, = " if names else ""


def _function(name: str, parameters: Sequence[str], lines: Sequence[str], namespace: Mapping[str, object]) -> Any:
    text = f"def {name}({_arguments(parameters)}):\n" + "".join([f"    {line}\n" for line in lines])
    return text_function(text, {**namespace, **_BUILTINS}, name)


# --- while ---


@composed(lower, while_p)
@compiled_or
def _(
    ctx: Lowering,
    *operands: Value,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> tuple[Value, ...]:
    cond_consts, body_consts, init = split_list(operands, cond_nconsts, body_nconsts)
    cond_values, cond_jaxpr = _before(ctx, cond_jaxpr, cond_consts)
    body_values, body_jaxpr = _before(ctx, body_jaxpr, body_consts)
    cond_consts, body_consts = [*cond_values, *cond_consts], [*body_values, *body_consts]
    names = [f"a{position}" for position in range(len(cond_consts) + len(body_consts) + len(init))]
    first, second, carry = split_list(names, len(cond_consts), len(body_consts))
    loop = _While(cond_jaxpr, body_jaxpr, first, second, carry)
    namespace = {"body": ctx.compile(loop.body), "array": np.array}
    if loop.rest is not None:
        namespace["rest"] = ctx.compile(loop.rest)
    if loop.dtype is not None:
        namespace |= {"dtype": loop.dtype}
    return ctx.call(_function("while_loop", names, loop.lines, namespace), *cond_consts, *body_consts, *init)


def _before(ctx: Lowering, body: ClosedJaxpr, consts: Sequence[Value]) -> tuple[list[Value], ClosedJaxpr]:
    """The values of what a body need not compute in every iteration, and the body without it."""
    early, body = without_invariants(body, len(consts))
    return ([] if early is None else list(ctx.inline(early, *consts))), body


class _While:
    """The text of one loop.

    Attributes:
        lines: of its function.
        body, rest: the programs that it calls: `body` and, for what cannot be decided by counting, `rest`.
        dtype: of the counter, where there is one.
    """

    def __init__(
        self, condition: ClosedJaxpr, body: ClosedJaxpr, first: list[str], second: list[str], carry: list[str]
    ) -> None:
        self.rest: ClosedJaxpr | None = condition
        self.body, self.dtype = body, None
        steps = counters(body.jaxpr, len(second), len(carry))
        invars = body.jaxpr.invars[len(second) :]
        kept = {k for k, var in enumerate(invars) if body.jaxpr.outvars[k] is var}
        counted = counted_condition(
            condition,
            {len(first) + k: step for k, step in steps.items()},
            {*range(len(first)), *[len(first) + k for k in kept]},
        )
        inputs = [*first, *carry]
        if counted is None:
            self.lines = [
                f"while rest({_arguments(inputs)})[0]:",
                f"    {_targets(carry)}body({_arguments([*second, *carry])})",
                f"return {_tuple(carry)}",
            ]
            return
        self.rest = counted.rest
        self.dtype = condition.in_avals[counted.counter].dtype
        name = inputs[counted.counter]
        position = carry.index(name)
        bound = repr(int(counted.bound.ndarray)) if type(counted.bound) is Literal else f"int({inputs[counted.bound]})"
        self.body, reads = _without_output(body, len(second) + position, position)
        others = [other for other in carry if other != name]
        given = [other for other in [*second, *carry] if other != name or reads]
        in_rest = counted.rest is not None
        as_array = f"{name} = array(i, dtype)"
        call = f"{_targets(others)}body({_arguments(given)})"
        if in_rest:
            test = f"i {'<' if counted.step > 0 else '>'} n and rest({_arguments(inputs)})[0]"
            iteration = [f"while {test}:", f"    {call}", f"    i += {counted.step}", f"    {as_array}"]
        else:
            iteration = [
                f"for i in range(i, n, {counted.step}):",
                *([f"    {as_array}"] if reads else []),
                f"    {call}",
            ]
        last = "max" if counted.step > 0 else "min"
        end = [] if in_rest else [f"{name} = array(n if n {'>' if last == 'max' else '<'} start else start, dtype)"]
        self.lines = [f"start = i = int({name})", f"n = {bound}", *iteration, *end, f"return {_tuple(carry)}"]


def _without_output(body: ClosedJaxpr, place: int, position: int) -> tuple[ClosedJaxpr, bool]:
    """A body without one of its outputs, and whether it still reads input `place`; if not, it has that no more."""
    wanted = [k != position for k in range(len(body.out_avals))]
    keep = [k != place for k in range(len(body.in_avals))]
    jaxpr, used = dce_jaxpr(body.jaxpr, wanted, instantiate=keep)
    return ClosedJaxpr(jaxpr, body.consts), used[place]


# --- scan ---


@composed(lower, scan_p)
@compiled_or
def _(
    ctx: Lowering,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    unroll: int,
) -> tuple[Value, ...]:
    consts, init, xs = split_list(operands, num_consts, num_carry)
    values, body = _before(ctx, jaxpr, consts)
    consts = [*values, *consts]
    steps = counters(body.jaxpr, len(consts), num_carry)
    body, read = _with_rows(body, len(consts), num_carry, steps)
    counted = {k: _count(ctx, init[k], step, length, reverse) for k, step in steps.items()}
    kept = [k for k in range(num_carry) if k not in steps]
    xs = [*xs, *[counted[k][0] for k in read]]
    adding = sums(body.jaxpr, len(consts), len(kept))
    body = _giving_terms(body, len(consts), adding)
    y_types = [physical(aval) for aval in ctx.out_avals[num_carry:]]
    # Sums are not written into: their terms are.
    carried = enumerate([k for k in range(len(kept)) if k not in adding], len(consts))
    run, written, overwritten = ctx.compile_into(body, range(len(kept), len(kept) + len(y_types)), [*carried])
    loop = _Scan(len(consts), len(kept), [len(x.shape) for x in xs], y_types, list(adding))
    function = loop.function(run, [position - len(kept) for position in written], overwritten, length, reverse)
    like = (*[ctx.out_avals[k] for k in kept], *ctx.out_avals[num_carry:])
    results = list(ctx.call(function, *consts, *[init[k] for k in kept], *xs, like=like))
    last = iter(results)
    carry = [counted[k][1] if k in steps else next(last) for k in range(num_carry)]
    return (*carry, *last)


def _count(ctx: Lowering, start: Value, step: int, length: int, reverse: bool) -> tuple[Value, Value]:
    """What a counter is in each iteration, at the place of that iteration's slice; and after the last iteration."""
    iterations = np.arange(length)[::-1] if reverse else np.arange(length)
    moves = ctx.constant((iterations * step).astype(start.dtype))
    return ctx.add(moves, start), ctx.add(ctx.constant(np.asarray(length * step).astype(start.dtype)), start)


def _with_rows(body: ClosedJaxpr, consts: int, count: int, steps: dict[int, int]) -> tuple[ClosedJaxpr, list[int]]:
    """A body that takes its counters as slices: without those that it does not read. And which it reads."""
    if not steps:
        return body, []
    jaxpr = body.jaxpr
    carry = jaxpr.invars[consts : consts + count]
    invars = [
        *jaxpr.invars[:consts],
        *[var for k, var in enumerate(carry) if k not in steps],
        *jaxpr.invars[consts + count :],
        *[carry[k] for k in steps],
    ]
    wanted = [k not in steps for k in range(len(jaxpr.outvars))]
    rows = len(steps)
    keep = [True] * (len(invars) - rows) + [False] * rows
    jaxpr, used = dce_jaxpr(jaxpr.replace(invars=invars), wanted, instantiate=keep)
    read = [k for k, is_used in zip(steps, used[len(invars) - rows :]) if is_used]
    return ClosedJaxpr(jaxpr, body.consts), read


def _giving_terms(body: ClosedJaxpr, consts: int, adding: Mapping[int, JaxprEqn]) -> ClosedJaxpr:
    """A body that gives, in place of sums, what is to be added to them; it does not take the sums."""
    if not adding:
        return body
    jaxpr = body.jaxpr
    places = {jaxpr.invars[consts + k] for k in adding}
    outvars = list(jaxpr.outvars)
    for k, eqn in adding.items():
        outvars[k] = next(atom for atom in eqn.invars if atom not in places)
    done = {id(eqn) for eqn in adding.values()}
    return ClosedJaxpr(
        jaxpr.replace(
            invars=[var for var in jaxpr.invars if var not in places],
            outvars=outvars,
            eqns=[eqn for eqn in jaxpr.eqns if id(eqn) not in done],
        ),
        body.consts,
    )


class _Scan:
    """The text of one scan: `(consts, carry, xs) -> (carry, ys)`."""

    def __init__(
        self, consts: int, carry: int, x_ranks: list[int], y_types: list[ShapedArray], adding: list[int]
    ) -> None:
        names = [f"a{position}" for position in range(consts + carry + len(x_ranks))]
        self.parameters = names
        self.consts, self.carry, xs = split_list(names, consts, carry)
        self.sums = [self.carry[k] for k in adding]
        # One element of a vector must stay an array.
        self.slices = [f"{x}[i, ...]" if rank == 1 else f"{x}[i]" for x, rank in zip(xs, x_ranks)]
        self.y_types = y_types

    def function(self, body: Any, written: list[int], overwritten: Sequence[int], length: int, reverse: bool) -> Any:
        """The function of arrays.

        `written`: the results that the body writes into rows that it is given; `overwritten`: the arguments, all of
        them carries, that it overwrites.
        """
        ys = [f"y{position}" for position in range(len(self.y_types))]
        returned = {f"r{position}": y for position, y in enumerate(ys) if position not in written}
        terms = {name: f"t{name[1:]}" for name in self.sums}
        given = [*self.consts, *[name for name in self.carry if name not in terms], *self.slices]
        given += [f"{ys[k]}[i, ...]" if not self.y_types[k].shape[1:] else f"{ys[k]}[i]" for k in written]
        targets = [*[terms.get(name, name) for name in self.carry], *returned]
        iterations = f"range({length - 1}, -1, -1)" if reverse else f"range({length})"
        # A carry may be one row of something large, which must not live as long.
        last = [name if name in terms else f"{name} if {name}.base is None else {name}.copy()" for name in self.carry]
        lines = [
            *[f"{y} = empty({type_.shape!r}, dtype_{y})" for y, type_ in zip(ys, self.y_types)],
            *[f"{name} = {name}.copy()" for name in (*terms, *[given[position] for position in overwritten])],
            f"for i in {iterations}:",
            f"    {_targets(targets)}body({_arguments(given)})",
            *[f"    {y}[i] = {row}" for row, y in returned.items()],
            *[f"    add({name}, {term}, {name})" for name, term in terms.items()],
            f"return {_tuple([*last, *ys])}",
        ]
        namespace = {"body": body, "empty": np.empty, "add": np.add}
        namespace |= {f"dtype_{y}": type_.dtype for y, type_ in zip(ys, self.y_types)}
        return _function("scan", self.parameters, lines, namespace)
