"""Effects: what an equation does beside computing its results.

An effect is a hashable object. The effects of an equation are those of its primitive and of the jaxprs in its
parameters; an equation with effects is never dropped as dead code, and never merged with an equal one.
"""

from __future__ import annotations

from typing import Any


class Effect:
    """Base of effects. `ordered` effects happen in program order: lowering threads a token through them."""

    __slots__ = ()
    ordered = False
    # Whether a transformation may make it happen more often than the program says, such as output for debugging.
    incidental = False
    # Whether an equation whose results are unused may still be dropped.
    droppable = False

    def __repr__(self) -> str:
        return type(self).__name__


class NamedAxisEffect(Effect):
    """The equation depends on the mapped axis `name`: its value differs along it even where no operand is mapped."""

    __slots__ = ("name",)
    droppable = True

    def __init__(self, name: Any) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedAxisEffect) and self.name == other.name

    def __hash__(self) -> int:
        return hash((NamedAxisEffect, self.name))

    def __repr__(self) -> str:
        return f"NamedAxis({self.name!r})"


NO_EFFECTS: frozenset[Effect] = frozenset()


def axes_of_effects(effects: frozenset[Any]) -> frozenset[Any]:
    """The names of the mapped axes among `effects`.

    >>> from tangrad.core import NamedAxisEffect, axes_of_effects
    >>> axes_of_effects(frozenset([NamedAxisEffect("batch")]))
    frozenset({'batch'})
    """
    return frozenset([effect.name for effect in effects if isinstance(effect, NamedAxisEffect)])


def keeps_alive(effects: frozenset[Any]) -> bool:
    """Whether an equation with these effects must run even if its results are unused.

    >>> from tangrad.core import NO_EFFECTS, Effect, NamedAxisEffect, keeps_alive
    >>> keeps_alive(NO_EFFECTS), keeps_alive({NamedAxisEffect("i")}), keeps_alive({Effect()})
    (False, False, True)
    """
    for effect in effects:  # noqa: SIM110 - called for every equation
        if not effect.droppable:
            return True
    return False
