"""Groups of equations that become one: how they are collected, and what becomes of the program around them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tangrad.core import Jaxpr, JaxprEqn, Literal, Var, dce_jaxpr

if TYPE_CHECKING:
    from tangrad.typing import Atom

PATIENCE = 64  # equations after which a group is closed that nothing has joined


class Collection(ABC):
    """Equations that become one, and those that stand between them.

    Attributes:
        eqns: those that joined.
        before, after: equations on the way that go before it, and that need what it makes.
    """

    def __init__(self) -> None:
        self.eqns: list[JaxprEqn] = []
        self.before: list[JaxprEqn] = []
        self.after: list[JaxprEqn] = []
        self._since = 0
        self._late: set[Atom] = set()  # what is made by equations behind it

    def take(self, eqn: JaxprEqn) -> bool:
        """Take an equation, into the group or beside it. False: the group has to end before it."""
        if eqn.effects or self._since > PATIENCE or self.is_full():
            return False
        reads = variables(eqn)
        is_late = not self._late.isdisjoint(reads)
        if not is_late and self.may_join(eqn) and self.join(eqn):
            self._since = 0
            return True
        self._since += 1
        if not is_late and not any(map(self.is_made, reads)):
            self.before.append(eqn)
        else:
            self.after.append(eqn)
            self._late.update(eqn.outvars)
        return True

    @abstractmethod
    def is_full(self) -> bool:
        """Whether nothing more has room in it."""

    @abstractmethod
    def is_made(self, atom: Atom) -> bool:
        """Whether an equation of the group makes it."""

    @abstractmethod
    def join(self, eqn: JaxprEqn) -> bool:
        """Make an equation a part of the group, if it is one of those that can be."""

    def may_join(self, eqn: JaxprEqn) -> bool:
        """Whether an equation is asked to join."""
        return True

    def collect(self, waiting: Sequence[JaxprEqn]) -> int:
        """Take of the equations that wait, the last one first. How many it went through."""
        count = 0
        while count < len(waiting) and self.take(waiting[-1 - count]):
            count += 1
        return count


C = TypeVar("C", bound=Collection)


def variables(eqn: JaxprEqn) -> list[Var]:
    return [atom for atom in eqn.invars if type(atom) is not Literal]


def thinned(jaxpr: Jaxpr) -> tuple[Jaxpr, Counter[Var]]:
    """A program without what nothing needs, and how often each variable is read."""
    thin, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
    uses = Counter([var for eqn in thin.eqns for var in variables(eqn)])
    uses.update([atom for atom in thin.outvars if type(atom) is not Literal])
    return thin, uses


def regrouped(
    thin: Jaxpr, grouped: Callable[[JaxprEqn, list[JaxprEqn]], tuple[C, list[JaxprEqn]] | None]
) -> Jaxpr | None:
    """A program with its groups; None where it has none.

    `grouped(eqn, waiting)` is the group that begins with an equation, if it pays, and what becomes of it; what it went
    through it has taken from the end of those that wait.
    """
    places = {id(eqn): place for place, eqn in enumerate(thin.eqns)}
    made: list[tuple[int, list[JaxprEqn]]] = []
    waiting = thin.eqns[::-1]
    found = False
    while waiting:
        eqn = waiting.pop()
        result = grouped(eqn, waiting)
        if result is None:
            made.append((places[id(eqn)], [eqn]))
            continue
        found = True
        group, fused = result
        made += [(places[id(before)], [before]) for before in group.before]
        made.append((places[id(eqn)], fused))
        waiting += group.after[::-1]
    return thin.replace(eqns=_in_order(made)) if found else None


def _in_order(parts: list[tuple[int, list[JaxprEqn]]]) -> list[JaxprEqn]:
    """Parts of a program, each with its place, by places as far as what they read permits: equal layers stay equal."""
    parts = sorted(parts, key=lambda part: part[0])
    makers = {var: number for number, (_, eqns) in enumerate(parts) for eqn in eqns for var in eqn.outvars}
    done: list[JaxprEqn] = []
    written: set[int] = set()
    stack = [*range(len(parts))][::-1]
    while stack:
        number = stack[-1]
        read = [] if number in written else [var for eqn in parts[number][1] for var in variables(eqn)]
        missing = {makers.get(var, number) for var in read} - written - {number}
        if missing:
            stack += sorted(missing)[::-1]
            continue
        if stack.pop() not in written:
            written.add(number)
            done += parts[number][1]
    return done
