"""Along which mapped axes the values of a program differ: rules of kind `replication`, and a walk over programs.

A value that is computed of values that are the same everywhere along an axis is the same everywhere too, unless the
operation itself distinguishes devices. So the default for a primitive is the union over its operands, and over the axes
that it names; collectives that make values equal have rules that say so, and so have loops, whose carries go round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    axes_of_effects,
    calls_rules,
    equation_effects,
    rule_table,
)
from tangrad.core.tools import sub_jaxprs

if TYPE_CHECKING:
    from tangrad.typing import Params


Axes = frozenset[Any]

_NOWHERE: Axes = frozenset()
REPLICATION = rule_table("replication")


@calls_rules("replication", "eqn")
def varying_of_program(closed: ClosedJaxpr, varying: Sequence[Axes]) -> list[Axes]:
    """For each output of a program the axes along which it differs, given those of the inputs; constants never do."""
    jaxpr = closed.jaxpr
    known: dict[Any, Axes] = dict(zip(jaxpr.invars, varying, strict=True))

    def of(atom: Any) -> Axes:
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


def default_rule(primitive: Primitive) -> Callable[..., Any]:
    """Of a primitive without a rule: its one program of the same inputs and outputs decides, or the union of all."""

    def rule(varying: tuple[Axes, ...], params: Params) -> Any:
        programs = [program for program in sub_jaxprs(params) if isinstance(program, ClosedJaxpr)]
        if len(programs) == 1 and len(programs[0].in_avals) == len(varying) and primitive.multiple_results:
            return tuple(varying_of_program(programs[0], varying))
        return None

    return rule
