"""From the equations of a jaxpr to values in a block; loops and conditions are blocks within blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tangrad._numba import structure
from tangrad._numba.blocks import Block, indented
from tangrad._numba.elementwise import text_of
from tangrad._numba.loops import Loop, Member, Number, UnsupportedError, Value, View, code_of
from tangrad.core import ClosedJaxpr, JaxprEqn, Literal, decomposition_jaxpr

if TYPE_CHECKING:
    from tangrad.core import Jaxpr, ShapedArray, Var
    from tangrad.typing import Params

# --- Loops and conditions: blocks within blocks -----------------------------------------------------------------------


LAST = 1 << 30  # the part at which a body ends
# Between arrays of the caller the compiler checks for overlaps, and gives up on vectors where there are many: then rows
# are copied to and from working memory, whose places are known to be distinct.
MOST_ARRAYS = 3


@dataclass
class Carried:
    """What goes from one iteration to the next: arrays in memory, numbers in local variables.

    Attributes:
        inside: the values at the beginning of an iteration.
        cells: where each is kept: an array's own memory; of a number a place for when the function returns.
        start: the lines that put the first values there.
    """

    inside: list[Number | View] = field(default_factory=list)
    cells: list[View | None] = field(default_factory=list)
    start: list[str] = field(default_factory=list)

    def load(self) -> list[str]:
        """The lines that take numbers from their places."""
        return [f"{value.text} = {_cell(cell)}" for value, cell in self._numbers()]

    def save(self) -> list[str]:
        """The lines that put numbers back."""
        return [f"{_cell(cell)} = {value.text}" for value, cell in self._numbers()]

    def _numbers(self) -> list[tuple[Number, View]]:
        pairs = zip(self.inside, self.cells)
        return [(value, cell) for value, cell in pairs if isinstance(value, Number) and cell is not None]


def _cell(view: View) -> str:
    return f"{view.array}[{view.offset}]"


def carried(block: Block, init: Sequence[Value], avals: Sequence[ShapedArray], kept: bool) -> Carried:
    """Places for the carry of a loop. `kept`: numbers too are kept in memory, between calls of the function."""
    made = Carried()
    for value, aval in zip(init, avals):
        code = code_of(aval.dtype)
        if aval.shape:
            place = block.memory.take(aval.shape, code)
            copying = Block(block.memory)
            copying.write(outside(block, value), place)
            made.start += copying.text()
            made.inside.append(place)
            made.cells.append(place)
            continue
        name = block.memory.name("c")
        first = block.number(value)
        made.inside.append(Number(name, code))
        made.cells.append(block.memory.take((), code) if kept else None)
        cell = made.cells[-1]
        made.start.append(f"{name if cell is None else _cell(cell)} = {first.text}")
    return made


def outside(block: Block, value: Value) -> Number | View:
    """A value as a block within sees it: it is there before."""
    if isinstance(value, Member):
        value = block.view(value)
    if isinstance(value, View):
        block.note(value, LAST)
    return replace(value, part=-1)


def advance(body: Block, state: Carried, results: Sequence[Value]) -> list[str]:
    """The end of an iteration: the lines that make the results the next values."""
    places = {value.home: value for value in state.inside if isinstance(value, View)}
    arrays = [(value, result) for value, result in zip(state.inside, results) if isinstance(value, View)]
    lines = _numbers_advance(body, state, results)
    waiting = []
    for place, result in arrays:
        if isinstance(result, View) and result.home == place.home and result == replace(place, part=result.part):
            continue
        waiting.append((place, result))
    for _, result in waiting:
        if isinstance(result, View) and result.home in places:
            body.note(result, LAST)
    temporaries, copies = Block(body.memory), []
    for place, result in waiting:
        if isinstance(result, Member) and _may_write(body, place, result.loop):
            result.loop.store(place, result.name)
            continue
        source = outside(body, result)
        if isinstance(source, View) and source.home in places:
            aside = body.memory.take(source.shape, source.code)
            temporaries.write(source, aside)
            source = aside
        copies.append((place, source))
    final = Block(body.memory)
    for place, source in copies:
        final.write(source, place)
    return [*temporaries.text(), *final.text(), *lines]


def _numbers_advance(body: Block, state: Carried, results: Sequence[Value]) -> list[str]:
    pairs = [(value, body.number(result)) for value, result in zip(state.inside, results) if isinstance(value, Number)]
    pairs = [(value, result) for value, result in pairs if value.text != result.text]
    if not pairs:
        return []
    names = ", ".join([value.text for value, _ in pairs])
    return [f"{names} = {', '.join([result.text for _, result in pairs])}"]


def _may_write(body: Block, place: View, loop: Loop) -> bool:
    """Whether a loop may write the next value of a carry over what it is in this iteration."""
    for part, view, in_place in body.read_by.get(place.home, ()):
        same = in_place and not loop.is_repeated and view.strides == place.strides and view.offset == place.offset
        if part > loop.part or (part == loop.part and not same):
            return False
    return True


@dataclass
class Run:
    """A loop as lines.

    Attributes:
        before: lines that come first: the first values, and what an iteration does not change.
        lines: those of the iterations.
        results: where the results are.
        state: what goes from one iteration to the next.
    """

    start: list[str]
    lines: list[str]
    results: list[Value]
    state: Carried


def scan(
    block: Block,
    evaluate: Any,
    operands: Sequence[Value],
    params: Params,
    bounds: tuple[str, str] | None = None,
    targets: Sequence[View] | None = None,
) -> Run:
    """A scan in a block.

    Args:
        evaluate: `equations.evaluate`.
        bounds: the names of the first iteration and the one after the last; None: all of them.
        targets: where the stacked results go; None: to working memory.
    """
    closed, consts, carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    fixed, init, xs = operands[:consts], operands[consts : consts + carry], operands[consts + carry :]
    state = carried(block, init, closed.in_avals[consts : consts + carry], bounds is not None)
    counter = block.memory.name("r")
    row = counter
    body = Block(block.memory)
    body.own = {value.home for value in state.inside if isinstance(value, View)}
    if params["reverse"]:
        row = block.memory.name("r")
    slices = [_row(outside(block, x), row) for x in xs]
    out_avals = closed.out_avals[carry:]
    apart = len(xs) + len(out_avals) > MOST_ARRAYS
    if apart:
        slices = [_copied_in(body, row) for row in slices]
    results = evaluate(block, body, closed, fixed, [*state.inside, *slices])
    if targets is None:
        targets = [block.memory.take((params["length"], *aval.shape), code_of(aval.dtype)) for aval in out_avals]
    written: list[str] = []
    for target, result in zip(targets, results[carry:]):
        place = _row(target, row)
        assert isinstance(place, View)
        if apart and place.shape:
            written += _copy(body, outside(body, result), place)
        else:
            body.write(result, place)
    end = [*written, *advance(body, state, results[:carry])]
    first, last = bounds or ("0", str(params["length"]))
    inside = [f"{row} = {params['length'] - 1} - {counter}"] if params["reverse"] else []
    inside += [*body.text(), *end]
    lines = [f"for {counter} in range({first}, {last}):", *indented(inside or ["pass"])]
    return Run(state.start, lines, [*state.inside, *targets], state)


def _copied_in(body: Block, row: Number | View) -> Number | View:
    if isinstance(row, Number) or not row.shape:
        return row
    place = body.memory.take(row.shape, row.code)
    return replace(place, part=body.lines(_copy(body, row, place)))


def _copy(body: Block, source: Number | View, place: View) -> list[str]:
    copying = Block(body.memory)
    copying.write(source, place)
    return copying.text()


def _row(value: Number | View, row: str) -> Number | View:
    if isinstance(value, Number):
        return replace(value, shape=value.shape[1:])
    base = row if value.strides[0] == 1 else f"{row} * {value.strides[0]}"
    moved = value.moved(base, value.shape[1:])
    return replace(moved, strides=value.strides[1:])


def while_loop(block: Block, evaluate: Any, operands: Sequence[Value], params: Params, limit: str = "") -> Run:
    """A while loop in a block. `limit`: the name of how many iterations at most; it then has whether it is done."""
    test_consts, body_consts = params["cond_nconsts"], params["body_nconsts"]
    test, turn = params["cond_jaxpr"], params["body_jaxpr"]
    first, second = operands[:test_consts], operands[test_consts : test_consts + body_consts]
    init = operands[test_consts + body_consts :]
    state = carried(block, init, turn.in_avals[body_consts:], bool(limit))
    asking, body = Block(block.memory), Block(block.memory)
    body.own = {value.home for value in state.inside if isinstance(value, View)}
    answer = asking.number(evaluate(block, asking, test, first, state.inside)[0])
    results = evaluate(block, body, turn, second, state.inside)
    end = advance(body, state, results)
    inside = [*asking.text(), f"if not {answer.text}:", *indented(["done = True", "break"] if limit else ["break"])]
    inside += [*body.text(), *end]
    head = f"for i in range({limit}):" if limit else "while True:"
    return Run(state.start, [head, *indented(inside)], list(state.inside), state)


def nested(block: Block, run: Run) -> tuple[Value, ...]:
    """Put a loop into the block around it."""
    part = block.lines([*run.start, *run.lines])
    return tuple([replace(value, part=part) for value in run.results if not isinstance(value, Member)])


def cond(
    block: Block, evaluate: Any, operands: Sequence[Value], params: Params, out: Sequence[ShapedArray]
) -> tuple[Value, ...]:
    """A choice of programs: each writes its results to the same places."""
    branches = params["branches"]
    index = block.number(operands[0])
    inputs = [outside(block, value) for value in operands[1:]]
    results: list[Number | View] = []
    for aval in out:
        code = code_of(aval.dtype)
        array = bool(aval.shape)
        results.append(block.memory.take(aval.shape, code) if array else Number(block.memory.name("c"), code))
    lines: list[str] = []
    for position, branch in enumerate(branches):
        inner = Block(block.memory)
        values = evaluate(block, inner, branch, (), inputs)
        ends = []
        for result, value in zip(results, values):
            if isinstance(result, View):
                inner.write(value, result)
            else:
                ends.append(f"{result.text} = {inner.number(value).text}")
        last = position == len(branches) - 1
        test = f"not {index.text}" if index.code == "b1" else f"{index.text} <= {position}"
        head = "else:" if last and position else ("if True:" if last else f"{'elif' if position else 'if'} {test}:")
        lines += [head, *indented([*inner.text(), *ends] or ["pass"])]
    part = block.lines(lines)
    return tuple([replace(result, part=part) for result in results])


# --- From the equations of a jaxpr to values in a block ---------------------------------------------------------------


RULES: dict[str, Any] = {**structure.MOVING, **structure.REDUCING}
# Calls that are what they call, as far as values go.
CALLS = frozenset(
    ("jit.jit", "regions.region", "custom_rules.custom_jvp_call", "custom_rules.custom_vjp_call", "checkpointing.remat")
)
MOST_EQUATIONS = 600  # beyond them compilation takes many seconds


def evaluate(
    around: Block, block: Block, closed: ClosedJaxpr, fixed: Sequence[Value], inputs: Sequence[Value]
) -> list[Value]:
    """The results of a jaxpr in a block, of the values `fixed` of the block around it and `inputs` of its own.

    What depends on `fixed` alone is computed in the block around.
    """
    jaxpr, count = closed.jaxpr, len(fixed)
    outer = {**dict(zip(jaxpr.constvars, map(around.memory.given, closed.consts))), **dict(zip(jaxpr.invars, fixed))}
    around.values.update(outer)
    for var, value in outer.items():
        block.values[var] = value if block is around else outside(around, value)
    block.values.update(zip(jaxpr.invars[count:], inputs))
    inner = []
    for eqn in _needed(jaxpr):
        if block is not around and all([isinstance(atom, Literal) or atom in outer for atom in eqn.invars]):
            equation(around, eqn)
            for var in eqn.outvars:
                outer[var] = around.values[var]
                block.values[var] = outside(around, outer[var])
        else:
            inner.append(eqn)
    _run(block, inner, jaxpr.outvars)
    return [block.read(atom) for atom in jaxpr.outvars]


def _needed(jaxpr: Jaxpr) -> list[JaxprEqn]:
    """The equations whose results are used, in order."""
    used = {atom for atom in jaxpr.outvars if not isinstance(atom, Literal)}
    found = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects:
            raise UnsupportedError("effects")
        if not used.isdisjoint(eqn.outvars):
            found.append(eqn)
            used.update([atom for atom in eqn.invars if not isinstance(atom, Literal)])
    found.reverse()
    return found


def _run(block: Block, eqns: Sequence[JaxprEqn], outvars: Sequence[Var | Literal]) -> None:
    for position, eqn in enumerate(eqns):
        if eqn.primitive.identity == "structure.dynamic_update_slice":
            later = [atom for other in eqns[position + 1 :] for atom in other.invars]
            _note_dead(block, eqn, [*eqn.invars[1:], *later, *outvars])
        equation(block, eqn)
        block.dead = frozenset()


def _note_dead(block: Block, eqn: JaxprEqn, live: Sequence[Var | Literal]) -> None:
    """Say which memory is not read after an equation, so that it may write there."""
    value = block.read(eqn.invars[0])
    if isinstance(value, View) and value.home in block.own:
        homes = [block.values.get(atom) for atom in live if not isinstance(atom, Literal)]
        if not any([isinstance(other, View) and other.home == value.home for other in homes]):
            block.dead = frozenset([value.home])


def equation(block: Block, eqn: JaxprEqn) -> None:
    """Append what computes one equation."""
    block.memory.count_equation(MOST_EQUATIONS)
    results = _results(block, eqn)
    block.values.update(zip(eqn.outvars, results))


def _results(block: Block, eqn: JaxprEqn) -> Sequence[Value]:
    identity, params = eqn.primitive.identity, eqn.params
    operands = [block.read(atom) for atom in eqn.invars]
    out = [var.aval for var in eqn.outvars]
    if any([size.__class__ is not int for aval in out for size in aval.shape]):
        raise UnsupportedError("symbolic sizes")
    text = text_of(identity, [code_of(atom.aval.dtype) for atom in eqn.invars], params)
    if text is not None:
        # Elements without dimensions stand beside arrays in a few primitives.
        operands = [block.number(value) if value.shape == () else value for value in operands]
        return (block.elementwise(out[0].shape, code_of(out[0].dtype), operands, text),)
    rule = RULES.get(identity)
    if rule is not None:
        result = rule(block, out, *operands, **params)
        return result if eqn.primitive.multiple_results else (result,)
    if identity == "control_flow.scan":
        return nested(block, scan(block, evaluate, operands, params))
    if identity == "control_flow.while":
        return nested(block, while_loop(block, evaluate, operands, params))
    if identity == "control_flow.cond":
        return cond(block, evaluate, operands, params, out)
    return evaluate(block, block, _program(eqn), operands, ())


def _program(eqn: JaxprEqn) -> ClosedJaxpr:
    """What an equation calls, or its decomposition."""
    if eqn.primitive.identity in CALLS:
        programs = [value for value in eqn.params.values() if isinstance(value, ClosedJaxpr)]
        if len(programs) == 1 and len(programs[0].in_avals) == len(eqn.invars):
            return programs[0]
    if eqn.primitive.decompose is None or eqn.primitive.identity in CALLS:
        raise UnsupportedError(eqn.primitive.identity)
    return decomposition_jaxpr(eqn.primitive, tuple([atom.aval for atom in eqn.invars]), eqn.params)
