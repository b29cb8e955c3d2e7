"""What stands in the way of a repetition: parts of an input that each step takes at a place of its own.

`x[t]` is another equation at each step, for its parameters differ. Such equations are put where their operands are
made: then the steps are equal, and take the part as an argument.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tangrad.core import JaxprEqn, Literal

TAKES_A_PART = frozenset({"structure.slice"})
FAMILY = 4  # so many equations of one primitive and types, and each of few of them: they differ from step to step


def parts_first(equations: list[JaxprEqn], numbers: Sequence[int]) -> list[JaxprEqn]:
    """The equations, with those that take a part at a place of their own as early as can be.

    Args:
        numbers: the structure of each equation.
    """
    early = _varying(equations, numbers)
    if not early:
        return equations
    places = {var: at for at, equation in enumerate(equations) if at not in early for var in equation.outvars}
    waiting: dict[int, list[JaxprEqn]] = {}
    for at in early:  # in order: one may take a part of what another took
        equation = equations[at]
        place = max([places.get(atom, -1) for atom in equation.invars if type(atom) is not Literal], default=-1)
        waiting.setdefault(place, []).append(equation)
        places.update(dict.fromkeys(equation.outvars, place))
    ordered = waiting.get(-1, [])
    for at, equation in enumerate(equations):
        if at not in early:
            ordered += [equation, *waiting.get(at, ())]
    return ordered


def _varying(equations: Sequence[JaxprEqn], numbers: Sequence[int]) -> dict[int, None]:
    """The positions of such equations: many are alike but for their parameters, and few are equal."""
    found = [at for at, equation in enumerate(equations) if equation.primitive.identity in TAKES_A_PART]
    alike = Counter([_types(equations[at]) for at in found])
    equal = Counter([numbers[at] for at in found])
    few = [at for at in found if FAMILY * equal[numbers[at]] <= alike[_types(equations[at])]]
    return dict.fromkeys([at for at in few if not equations[at].effects])


def _types(equation: JaxprEqn) -> tuple[object, ...]:
    return equation.primitive, equation.invars[0].aval, equation.outvars[0].aval
