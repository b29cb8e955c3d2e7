"""What the second half of a program needs of the first: residuals, and where they come from.

In a loop a residual is of one of two sorts. *Fixed* ones are the same in every iteration: what the body closed over,
carries that it hands on, and what is computed of these alone, which moves out of the loop. *Rows* differ: slices that
the loop goes along anyway, results that it stacks anyway, and the rest, which it stacks for this. In a conditional each
branch has residuals of its own; they share slots by type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.control_flow.evaluation import run
from tangrad._lax.control_flow.programs import as_different, invariant_vars
from tangrad.autodiff import zeros_p
from tangrad.core import (
    EVAL_TRACE,
    Array,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    ShapedArray,
    Var,
    dce_jaxpr,
    dtypes,
    equation_effects,
    eval_jaxpr,
    literal,
    thread,
    trace_to_closed_jaxpr,
)
from tangrad.core.transformations import join_named_shapes
from tangrad.typing import Atom, Params, Value

# Where a residual is found: a kind, and a position (or for VALUE the value itself).
VALUE, CONST, INIT, HOISTED = "value", "const", "init", "hoisted"
XS, YS, STACKED = "xs", "ys", "stacked"
FIXED = (VALUE, CONST, INIT, HOISTED)


class LoopResiduals:
    """A body that also gives residuals, and where each of them is.

    Attributes:
        hoisted: closed jaxpr `(consts, first carry) -> values`, to be computed before the loop.
        body: closed jaxpr `(hoisted values, consts, carry, slices) -> (carry, results, rows for residuals)`.
        places: for each residual, its kind and position.
    """

    __slots__ = ("body", "hoisted", "places")

    def __init__(
        self, known: ClosedJaxpr, sources: Sequence[int | None], num_consts: int, num_carry: int, num_outs: int
    ) -> None:
        jaxpr = known.jaxpr
        consts, carry = jaxpr.invars[:num_consts], jaxpr.invars[num_consts : num_consts + num_carry]
        xs = jaxpr.invars[num_consts + num_carry :]
        forwarded = [var for var, out in zip(carry, jaxpr.outvars[:num_carry]) if var is out]
        fixed = invariant_vars(jaxpr, [*consts, *forwarded])
        found: dict[Any, tuple[str, Any]] = {var: (XS, k) for k, var in enumerate(xs)}
        results = enumerate(jaxpr.outvars[num_carry:num_outs])
        found.update({var: (YS, k) for k, var in results if type(var) is not Literal and var not in found})
        found.update({var: (INIT, k) for k, var in enumerate(carry) if var in forwarded})
        found.update({var: (CONST, k) for k, var in enumerate(consts)})
        found.update({var: (VALUE, value) for var, value in zip(jaxpr.constvars, known.consts)})
        own = iter(jaxpr.outvars[num_outs:])
        atoms = [next(own) if source is None else jaxpr.invars[source] for source in sources]
        needed = [a for a in atoms if type(a) is not Literal and a in fixed and found.get(a, (YS, 0))[0] == YS]
        moved = _made_with(jaxpr, needed)
        found.update({var: (HOISTED, k) for k, var in enumerate(moved)})
        rows = list(dict.fromkeys([a for a in atoms if type(a) is not Literal and a not in found]))
        found.update({var: (STACKED, k) for k, var in enumerate(rows)})
        self.places = tuple([(VALUE, atom) if type(atom) is Literal else found[atom] for atom in atoms])
        self.hoisted = self._hoisted(known, moved, num_consts + num_carry)
        made = set(moved)
        eqns = [eqn for eqn in jaxpr.eqns if made.isdisjoint(eqn.outvars)]
        outvars = [*jaxpr.outvars[:num_outs], *rows]
        body = jaxpr.replace(invars=[*moved, *jaxpr.invars], outvars=outvars, eqns=eqns)
        body, _ = dce_jaxpr(body, [True] * len(outvars), instantiate=True)
        self.body = ClosedJaxpr(body, known.consts)

    def _hoisted(self, known: ClosedJaxpr, moved: Sequence[Var], count: int) -> ClosedJaxpr | None:
        if not moved:
            return None
        jaxpr = known.jaxpr.replace(invars=known.jaxpr.invars[:count], outvars=list(moved))
        wanted = set(moved)
        last = max([k for k, eqn in enumerate(jaxpr.eqns) if not wanted.isdisjoint(eqn.outvars)])
        fixed = invariant_vars(known.jaxpr, known.jaxpr.invars[:count])
        eqns = [eqn for eqn in jaxpr.eqns[: last + 1] if all([var in fixed for var in eqn.outvars])]
        jaxpr, _ = dce_jaxpr(jaxpr.replace(eqns=eqns), [True] * len(moved), instantiate=True)
        return ClosedJaxpr(jaxpr, known.consts)

    @property
    def is_fixed(self) -> list[bool]:
        """For each residual, whether it is the same in every iteration."""
        return [kind in FIXED for kind, _ in self.places]

    def before(self, consts: Sequence[Value], init: Sequence[Value]) -> list[Array]:
        """The values that are computed before the loop."""
        if self.hoisted is None:
            return []
        return eval_jaxpr(self.hoisted.jaxpr, self.hoisted.consts, *consts, *init)

    def values(
        self,
        hoisted: Any,
        consts: Sequence[Value],
        init: Sequence[Value],
        xs: Sequence[Value],
        ys: Sequence[Value],
        stacked: Sequence[Value],
    ) -> tuple[list[Any], list[Any]]:
        """The fixed residuals, and the rows stacked, each in order."""
        tables = {CONST: consts, INIT: init, HOISTED: hoisted, XS: xs, YS: ys, STACKED: stacked}
        found = [place if kind == VALUE else tables[kind][place] for kind, place in self.places]
        flags = self.is_fixed
        return [v for v, f in zip(found, flags) if f], [v for v, f in zip(found, flags) if not f]


def _made_with(jaxpr: Jaxpr, needed: Sequence[Var]) -> list[Var]:
    """All results of the equations that make these variables: an equation moves as a whole."""
    wanted = set(needed)
    made: list[Var] = []
    for eqn in jaxpr.eqns:
        if not wanted.isdisjoint(eqn.outvars):
            made.extend([var for var in eqn.outvars if type(var) is not DropVar])
    return made


# --- branches ---


class BranchResiduals:
    """Branches that all give the same residuals: each its own, in slots that they share by type, and zeros elsewhere.

    Attributes:
        slots: the types of the residuals that the branches give.
        branches: closed jaxprs `operands -> (outputs, slots)`.
        places: for each branch and each of its residuals, an operand `("const", position)` or a slot
            `("stacked", position)`.
    """

    __slots__ = ("branches", "places", "slots")

    def __init__(self, known: Sequence[ClosedJaxpr], sources: Sequence[Sequence[int | None]], num_outs: int) -> None:
        self.slots: list[ShapedArray] = []
        self.places: list[list[tuple[str, Any]]] = []
        filled: list[dict[int, Atom]] = []
        for closed, from_inputs in zip(known, sources, strict=True):
            own = iter(closed.jaxpr.outvars[num_outs:])
            mine: dict[int, Atom] = {}
            places: list[tuple[str, Any]] = []
            for source in from_inputs:
                if source is not None:
                    places.append((CONST, source))
                else:
                    atom = next(own)
                    slot = self._slot(atom.aval, mine)
                    mine[slot] = atom
                    places.append((STACKED, slot))
            self.places.append(places)
            filled.append(mine)
        self.branches = tuple([self._filled(c, mine, num_outs) for c, mine in zip(known, filled, strict=True)])

    def _slot(self, aval: ShapedArray, mine: dict[int, Atom]) -> int:
        for position, slot in enumerate(self.slots):
            if position not in mine and slot.strip_weak_type() is aval.strip_weak_type():
                return position
        self.slots.append(aval)
        return len(self.slots) - 1

    def _filled(self, closed: ClosedJaxpr, mine: dict[int, Atom], num_outs: int) -> ClosedJaxpr:
        eqns = list(closed.eqns)
        outvars = list(closed.jaxpr.outvars[:num_outs])
        for position, aval in enumerate(self.slots):
            atom = mine.get(position)
            outvars.append(zeros_atom(aval, eqns) if atom is None else atom)
        return ClosedJaxpr(closed.jaxpr.replace(outvars=outvars, eqns=eqns), closed.consts)


def second_half(
    program: ClosedJaxpr,
    places: Sequence[tuple[str, int]],
    slots: Sequence[ShapedArray],
    operands: Sequence[ShapedArray],
    rest: int,
) -> ClosedJaxpr:
    """`(residuals, rest) -> outputs`, the second half of one branch, as a program of what all branches get.

    That is `(slots, operands, rest)`; `slots` and `operands` are types, `rest` is the number of the other inputs.
    """
    jaxpr = program.jaxpr
    found = {(len(slots) if kind == CONST else 0) + p: v for (kind, p), v in zip(places, jaxpr.invars)}
    residuals = [found.get(position) or Var(aval) for position, aval in enumerate([*slots, *operands])]
    invars = [*residuals, *jaxpr.invars[len(jaxpr.invars) - rest :]]
    return ClosedJaxpr(jaxpr.replace(invars=invars), program.consts)


def equation(primitive: Primitive, invars: Sequence[Var | Literal], params: Params) -> JaxprEqn:
    """An equation that applies a primitive with several results to atoms."""
    avals = tuple([atom.aval for atom in invars])
    outvars = [Var(aval) for aval in primitive.infer(avals, params)]
    return JaxprEqn(primitive, list(invars), outvars, params, equation_effects(primitive, avals, params))


def of_one_type(branches: Sequence[ClosedJaxpr], index: Sequence[Any]) -> tuple[ClosedJaxpr, ...]:
    """Branches whose results count as differing along the same mapped axes: those of any, and of what chooses.

    So what is given for a result that is the same on all devices in one branch, and not in another, is a cotangent of
    each device in both.
    """
    if thread.typed_axes is None:
        return tuple(branches)
    chosen = [value.aval for value in index]
    axes = [
        join_named_shapes([*chosen, *each]) for each in zip(*[branch.out_avals for branch in branches], strict=True)
    ]
    return tuple([as_different(branch, axes) for branch in branches])


def with_zeros(
    closed: ClosedJaxpr, has: Sequence[bool], wanted: Sequence[bool], avals: Sequence[ShapedArray]
) -> ClosedJaxpr:
    """A program that gives some outputs (`has`), with zeros for others that are wanted; `avals`: of all of them.

    What it gives after these, as it logs something, stays.
    """
    eqns, outvars = list(closed.eqns), []
    found = iter(closed.jaxpr.outvars)
    for aval, given, want in zip(avals, has, wanted, strict=True):
        if given:
            outvars.append(next(found))
        elif want:
            outvars.append(zeros_atom(aval, eqns))
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, outvars=[*outvars, *found]), closed.consts)


def zeros_atom(aval: Any, eqns: list[JaxprEqn]) -> Literal | Var:
    """Zeros of a type as an atom of a program whose equations are `eqns`; appends those that it takes."""
    if aval.infer_types is not None:
        plain = zeros_atom(aval.plain, eqns)
        made = trace_to_closed_jaxpr(lambda value: [aval.constrain(value)], [plain.aval], "zeros").jaxpr
        (constraint,) = made.eqns
        eqns.append(constraint.replace(invars=[plain]))
        return constraint.outvars[0]
    if aval.named_shape:
        return _differing_zeros(aval, eqns)
    if not aval.shape and not isinstance(aval.dtype, dtypes.ExtendedDType) and aval.dtype is not dtypes.float0:
        return literal(0, aval.dtype, aval.weak_type)
    var = Var(aval)
    params = {"shape": aval.shape, "dtype": aval.dtype, "weak_type": aval.weak_type}
    eqns.append(JaxprEqn(zeros_p, [], [var], params))
    return var


def _differing_zeros(aval: ShapedArray, eqns: list[JaxprEqn]) -> Literal | Var:
    """The same of a type with named axes: zeros differ along none, so they are marked where types record that."""
    plain = zeros_atom(aval.update(named_shape=()), eqns)
    typed = thread.typed_axes
    if typed is None:
        return plain
    names = tuple([name for name, _ in aval.named_shape])
    marking = trace_to_closed_jaxpr(lambda value: [typed.marked(value, names)], [plain.aval], "zeros").jaxpr
    if not marking.eqns:
        return plain
    (mark,) = marking.eqns
    eqns.append(mark.replace(invars=[plain]))
    return mark.outvars[0]


def call_program(closed: ClosedJaxpr, args: Sequence[Value]) -> Sequence[Value]:
    """Run a program under the current trace; where that is the bottom, as fast as possible."""
    if thread.trace is EVAL_TRACE:
        return run(closed, args)
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)
