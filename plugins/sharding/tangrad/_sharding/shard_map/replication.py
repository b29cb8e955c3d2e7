"""Along which mapped axes the values of a program differ: rules of kind `replication`, and operands that fit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    RuleKind,
    ShapedArray,
    axes_of_effects,
    calls_rules,
    equation_effects,
    eval_jaxpr,
    get_aval,
    rule_table,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.core.tools import sub_jaxprs, with_sub_jaxprs
from tangrad.core.transformations import join_named_shapes
from tangrad.extend.collectives import differing

if TYPE_CHECKING:
    from tangrad.typing import Params, Value


Axes = frozenset[Hashable]

_NOWHERE: Axes = frozenset()
REPLICATION = rule_table("replication")


@calls_rules("replication", "eqn")
def varying_of_program(closed: ClosedJaxpr, varying: Sequence[Axes]) -> list[Axes]:
    """For each output of a program the axes along which it differs, given those of the inputs; constants never do."""
    jaxpr = closed.jaxpr
    known: dict[object, Axes] = dict(zip(jaxpr.invars, varying, strict=True))

    def of(atom: object) -> Axes:
        return _NOWHERE if type(atom) is Literal else known.get(atom, _NOWHERE)

    for eqn in jaxpr.eqns:
        found = REPLICATION[eqn.primitive](tuple([of(atom) for atom in eqn.invars]), eqn.params)
        if not eqn.primitive.multiple_results:
            found = (found,)
        if found == (None,) or found is None:  # the default: see `default_rule`
            found = (_union([of(atom) for atom in eqn.invars]) | _named(eqn),) * len(eqn.outvars)
        if not _are_sets(found, len(eqn.outvars)):
            expected = f"for each of its results ({len(eqn.outvars)}) a frozenset of names of axes"
            raise TypeError(
                f"the replication rule of {eqn.primitive.identity!r} returned {found!r}; expected {expected}"
            )
        known.update(zip(eqn.outvars, found, strict=True))
    return [of(atom) for atom in jaxpr.outvars]


def _are_sets(found: Any, count: int) -> bool:
    """Whether a rule returned a set of names for each result."""
    right = isinstance(found, (tuple, list)) and len(found) == count
    return right and all([isinstance(one, (frozenset, set)) for one in found])


def types_suffice(jaxpr: Jaxpr) -> bool:
    """Whether types, where they record along which axes values differ, are right of a program.

    The types of results are those of the operands together. That is right but for what distinguishes devices itself; of
    that it is known only for what has a rule of its own, and is no program.
    """
    for eqn in jaxpr.eqns:
        if eqn.effects:
            carries = next(iter(sub_jaxprs(eqn.params)), None) is not None
            if carries or REPLICATION.cell(eqn.primitive).status != "rule":
                return False
    return True


def _named(eqn: JaxprEqn) -> Axes:
    return axes_of_effects(equation_effects(eqn.primitive, tuple([atom.aval for atom in eqn.invars]), eqn.params))


def _union(sets: Sequence[Axes]) -> Axes:
    return frozenset().union(*sets)


def default_rule(primitive: Primitive) -> Callable[..., Sequence[Axes] | None]:
    """Of a primitive without a rule: its one program of the same inputs and outputs decides, or the union of all."""

    def rule(varying: tuple[Axes, ...], params: Params) -> Sequence[Axes] | None:
        programs = [program for program in sub_jaxprs(params) if isinstance(program, ClosedJaxpr)]
        if len(programs) == 1 and len(programs[0].in_avals) == len(varying) and primitive.multiple_results:
            return tuple(varying_of_program(programs[0], varying))
        return None

    return rule


replication = RuleKind(
    "replication",
    api=1,
    signature="(varying, params) -> varying of each result",
    doc="along which mapped axes the results differ, given along which the operands do (frozensets of names)",
    default=default_rule,
    optional=True,
)


NamedShape = tuple[tuple[Hashable, int], ...]  # a named shape
Rule = TypeVar("Rule", bound=Callable[..., object])

_fitted = JaxprCache()
register_cache(_fitted.clear)


class Places(NamedTuple):
    """Where the programs of an equation have their inputs from.

    Attributes:
        programs: for each program, in the order of the parameters, the positions of its inputs among the operands.
        carry: the positions of the operands that go round; the first results of the last program are the next ones.
    """

    programs: Sequence[Sequence[int]]
    carry: Sequence[int] = ()


def places(of: Callable[[int, Params], Places]) -> Callable[[Rule], Rule]:
    """Decorator for a `replication` rule: `of(number of operands, params)` is where programs have inputs from.

    Without it a program that takes as many inputs as there are operands takes these; of others nothing is known, and
    whatever differs somewhere in such an equation counts as differing everywhere in it.
    """

    def add(rule: Rule) -> Rule:
        vars(rule)["places"] = of
        return rule

    return add


def fitted(
    primitive: Primitive,
    recorded: Sequence[ShapedArray],
    args: Sequence[Value],
    params: Params,
    names: Sequence[Hashable],
) -> tuple[Sequence[Value], Params]:
    """The operands and parameters of an equation, with programs for operands that differ as they do.

    Args:
        recorded: the types of the operands that the equation was made for.
        names: the axes that types record.
    """
    avals = [get_aval(arg) for arg in args]
    if all([one is other or one.named_shape == other.named_shape for one, other in zip(recorded, avals)]):
        return args, params
    wanted = [_among(join_named_shapes(pair), names) for pair in zip(recorded, avals, strict=True)]
    programs = [program for program in sub_jaxprs(params) if isinstance(program, ClosedJaxpr)]
    if not programs:
        return args, params
    found = _places(primitive, len(args), params, programs)
    if found is None:
        everywhere = _joined([*wanted, *[_among(aval.named_shape, names) for p in programs for aval in _avals(p)]])
        wanted = [everywhere] * len(args)
        made = [along(p, [everywhere] * len(p.in_avals), [everywhere] * len(p.out_avals)) for p in programs]
    else:
        wanted, made = _round(programs, found, wanted, names)
    new = iter(made)
    replaced = with_sub_jaxprs(params, lambda program: next(new) if isinstance(program, ClosedJaxpr) else program)
    return [_as_wide(arg, axes) for arg, axes in zip(args, wanted, strict=True)], replaced


def _places(primitive: Primitive, count: int, params: Params, programs: Sequence[ClosedJaxpr]) -> Places | None:
    rule = REPLICATION.get_rule(primitive)
    of = getattr(rule, "places", None)
    if of is not None:
        return of(count, params)
    if len(programs) == 1 and len(programs[0].in_avals) == count:
        return Places([range(count)])
    return None


def _round(
    programs: Sequence[ClosedJaxpr], found: Places, wanted: list[NamedShape], names: Sequence[object]
) -> tuple[list[NamedShape], list[ClosedJaxpr]]:
    """The axes of operands, and the programs: those of a carry after as many turns as it takes until they stay."""
    while True:
        made = [
            along(program, [wanted[position] for position in positions])
            for program, positions in zip(programs, found.programs, strict=True)
        ]
        carry = [wanted[position] for position in found.carry]
        if not carry:
            return wanted, made
        # What decides whether a loop goes on decides about all that goes round.
        deciding = [_among(aval.named_shape, names) for program in made[:-1] for aval in program.out_avals]
        after = [_among(aval.named_shape, names) for aval in made[-1].out_avals[: len(carry)]]
        wider = [_joined([*deciding, *pair]) for pair in zip(carry, after, strict=True)]
        if wider == carry:
            made[-1] = along(made[-1], [()] * len(made[-1].in_avals), carry)
            return wanted, made
        wanted = list(wanted)
        for position, axes in zip(found.carry, wider, strict=True):
            wanted[position] = axes


def along(closed: ClosedJaxpr, inputs: Sequence[NamedShape], outputs: Sequence[NamedShape] = ()) -> ClosedJaxpr:
    """The program for inputs that differ along these axes, too, and with first results that do."""
    avals = [_wider(aval, axes) for aval, axes in zip(closed.in_avals, inputs, strict=True)]
    results = [_wider(aval, axes) for aval, axes in zip(closed.out_avals, outputs)]
    if avals == closed.in_avals and results == closed.out_avals[: len(results)]:
        return closed

    def run(*values: Value) -> list[Value]:
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *values)
        return [*[_as_wide(out, axes) for out, axes in zip(outs, outputs)], *outs[len(outputs) :]]

    make = lambda: trace_to_closed_jaxpr(run, avals, closed.jaxpr.debug_name)
    return _fitted.get(closed, (tuple(avals), tuple(outputs)), make)


def _wider(aval: ShapedArray, axes: NamedShape) -> object:
    missing = {name: size for name, size in axes if name not in dict(aval.named_shape)}
    return aval.update(named_shape={**dict(aval.named_shape), **missing}) if missing else aval


def _as_wide(value: Value, axes: NamedShape) -> Value:
    return differing(value, tuple([name for name, _ in axes])) if axes else value


def _among(axes: NamedShape, names: Sequence[object]) -> NamedShape:
    return tuple([(name, size) for name, size in axes if name in names])


def _joined(several: Sequence[NamedShape]) -> NamedShape:
    return tuple(sorted({pair for axes in several for pair in axes}, key=repr))


def _avals(program: ClosedJaxpr) -> list[ShapedArray]:
    return [*program.in_avals, *program.out_avals]
