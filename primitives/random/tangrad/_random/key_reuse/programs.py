"""What programs do with random keys: equation by equation, by the rules of kind `key_reuse`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._random.key_reuse.uses import Keys, KeyUse, check, places_of, results
from tangrad._random.keys import is_key
from tangrad.core import ClosedJaxpr, JaxprEqn, Literal, ShapedArray, rule_table
from tangrad.core.caches import JaxprCache, register_cache

_known = JaxprCache()
register_cache(_known.clear)


def use_of_program(closed: ClosedJaxpr) -> KeyUse:
    """What a program does with the keys among its arguments, and which results are keys.

    Operands are the arguments; those after them are the constants that it closed over. Raises KeyReuseError where it
    uses a key twice.
    """
    return _known.get(closed, "key_reuse", lambda: _Walk(closed).run())  # type: ignore[no-any-return]


def has_keys(atoms: Sequence[Any]) -> bool:
    """Whether there are keys among variables."""
    return any([isinstance(atom.aval, ShapedArray) and is_key(atom.aval) for atom in atoms])


class _Walk:
    """Goes through a program once."""

    def __init__(self, closed: ClosedJaxpr) -> None:
        self._jaxpr = closed.jaxpr
        self._given = [*self._jaxpr.invars, *self._jaxpr.constvars]
        self._keys: dict[Any, Keys] = {var: Keys.of(var.aval) for var in self._given if has_keys([var])}

    def run(self) -> KeyUse:
        for eqn in self._jaxpr.eqns:
            if has_keys(eqn.invars) or has_keys(eqn.outvars):
                self._apply(eqn)
        return self._summary()

    def _of(self, atom: Any) -> Keys | None:
        return None if type(atom) is Literal else self._keys.get(atom)

    def _apply(self, eqn: JaxprEqn) -> None:
        use = rule_table("key_reuse")[eqn.primitive](tuple([atom.aval for atom in eqn.invars]), **eqn.params)
        by, given = described(eqn), [self._of(atom) for atom in eqn.invars]
        for position, which in use.consumes.items():
            keys = given[position] if position < len(given) else None
            if keys is not None:
                check(keys, which, eqn.invars[position].aval, by)
                keys.use(which, by)
        for var, keys in zip(eqn.outvars, results(use, given, [var.aval for var in eqn.outvars], by), strict=True):
            if keys is not None:
                self._keys[var] = keys

    def _summary(self) -> KeyUse:
        inputs = [self._keys.get(var) for var in self._given]
        consumed = {}
        for position, keys in enumerate(inputs):
            if keys is not None and keys.origin.used.any():
                consumed[position] = True if keys.places is None else keys.origin.used[keys.places]
        origins = {id(keys.origin): position for position, keys in enumerate(inputs) if keys is not None}
        fresh, moved, some = [], {}, {}
        for position, atom in enumerate(self._jaxpr.outvars):
            found = self._of(atom)
            if found is None:
                continue
            among = found.origin.among
            if id(found.origin) in origins:
                moved[position] = (origins[id(found.origin)], found.places)
            elif found.were_used():
                continue
            elif among is not None and id(among.origin) in origins:
                some[position] = origins[id(among.origin)]
            else:
                fresh.append(position)
        return KeyUse(consumed, tuple(fresh), moved, some)


def described(eqn: JaxprEqn) -> str:
    """An equation in a message: its primitive, and the line that made it."""
    name = eqn.primitive.name
    return name if eqn.source_info is None else f"{name} at {eqn.source_info.summarize()}"


# --- carriers of programs -------------------------------------------------------------------------------------------


def of_call(avals: Any, program: ClosedJaxpr, first: int = 0) -> KeyUse:
    """The use of keys of a primitive that runs a program once, on the operands from `first` on.

    Parts of operands, as devices have them, count as the whole.
    """
    use = use_of_program(program)
    consumed = {}
    for position, which in use.consumes.items():
        if position + first < len(avals):
            whole = np.shape(which) == avals[position + first].shape
            consumed[position + first] = which if whole else True
    moved = {}
    for result, (operand, places) in use.moved.items():
        if operand + first < len(avals):
            known = places_of(avals[operand + first])
            fits = known is not None and program.in_avals[operand].shape == avals[operand + first].shape
            moved[result] = (operand + first, places if fits else None)
    some = {result: operand + first for result, operand in use.some.items() if operand + first < len(avals)}
    return KeyUse(consumed, use.fresh, moved, some)
