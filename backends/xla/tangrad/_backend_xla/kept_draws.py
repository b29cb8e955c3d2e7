"""Draws of random numbers that many equations read, as slices do, on CPUs: computed once, and kept.

XLA computes a chain of elementwise operations anew within each loop that reads it, and a cipher is some hundred of
them: of a draw that is sliced 36 times it compiles the cipher 36 times. What comes out of a branch it keeps: so the
chain from the cipher to what is read becomes a branch, of a condition that always holds and that XLA cannot know to,
as it depends on an argument. Of 36 slices of 4,096 normal numbers, each in a sum of its own, compiling takes 1.3 s of
CPU time instead of 4.6, and a call 0.44 ms instead of 0.71; of 400,000 8 ms instead of 23.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_xla.even_loops import DRAWN, FAMILIES, RESHAPED, SPREAD
from tangrad._backend_xla.jaxlib_api import physical_aval
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, ShapedArray, Var, dtypes, find_primitive, literal
from tangrad.core.tools import with_sub_jaxprs

if TYPE_CHECKING:
    from tangrad.typing import Atom, Params

MANY = 8  # equations that read a draw; of fewer XLA's loops take as long to compile as a condition
LEAST = 1 << 10  # elements
# Equations of other families that are part of a loop, as functions of elements are.
_SLICES = frozenset({"structure.slice", "structure.dynamic_slice", "structure.split"})
_WITHIN = _SLICES | {SPREAD, RESHAPED, "structure.squeeze", "structure.transpose", "autodiff.set_weak_type"}
_INT32, _BITS = dtypes.as_dtype("int32"), {size: dtypes.as_dtype(f"uint{8 * size}") for size in (1, 2, 4, 8)}


def with_kept_draws(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A program that computes once what it draws and many equations read; itself where there is nothing of the kind.

    >>> import tangrad
    >>> from tangrad._backend_xla.kept_draws import with_kept_draws
    >>> def rows(key):
    ...     drawn = tangrad.random.uniform(key, (8, 256))
    ...     return [row.sum() for row in drawn]
    >>> program = tangrad.make_jaxpr(rows)(tangrad.random.key(0))
    >>> [eqn.primitive.name for eqn in with_kept_draws(program).jaxpr.eqns].count("cond")
    1
    """
    jaxpr = _kept(closed.jaxpr)
    return closed if jaxpr is closed.jaxpr else ClosedJaxpr(jaxpr, closed.consts)


def _kept(jaxpr: Jaxpr) -> Jaxpr:
    chosen = _read_often(jaxpr)
    witness = next((var for var in jaxpr.invars if _is_witness(var.aval)), None) if chosen else None
    if witness is not None:
        jaxpr = _Branches(jaxpr, chosen, witness).jaxpr
    if not any([eqn.primitive.programs is not None for eqn in jaxpr.eqns]):
        return jaxpr
    eqns = [eqn if eqn.primitive.programs is None else _looked_into(eqn) for eqn in jaxpr.eqns]
    return jaxpr.replace(eqns=eqns) if any([new is not eqn for new, eqn in zip(eqns, jaxpr.eqns)]) else jaxpr


def _looked_into(eqn: JaxprEqn) -> JaxprEqn:
    params = with_sub_jaxprs(eqn.params, lambda inner: with_kept_draws(inner) if type(inner) is ClosedJaxpr else inner)
    return eqn if params is eqn.params else eqn.replace(params=params)


def _read_often(jaxpr: Jaxpr) -> set[Var]:
    """What is computed from a cipher by functions of elements, and read by many equations, by way of slices, too."""
    drawn: set[Var] = set()
    for eqn in jaxpr.eqns:
        if _draws(eqn) or (drawn and _is_within(eqn) and not drawn.isdisjoint(_variables(eqn))):
            drawn.update(eqn.outvars)
    reads: Counter[Var] = Counter()
    for eqn in reversed(jaxpr.eqns) if drawn else ():
        is_slice = eqn.primitive.identity in _SLICES
        count = sum([max(reads[var], 1) for var in eqn.outvars]) if is_slice else 1
        reads.update(dict.fromkeys(_variables(eqn), count))
    return {var for var in drawn if reads[var] >= MANY}


def _draws(eqn: JaxprEqn) -> bool:
    aval = eqn.outvars[0].aval if eqn.outvars else None
    return eqn.primitive.family == DRAWN and type(aval) is ShapedArray and _is_large(aval)


def _is_large(aval: ShapedArray) -> bool:
    known = all([type(size) is int for size in aval.shape]) and isinstance(aval.dtype, np.dtype)
    return known and aval.size >= LEAST


def _is_within(eqn: JaxprEqn) -> bool:
    """Whether XLA computes an equation within the loop that reads its result."""
    if eqn.effects or not all([_is_large(var.aval) for var in eqn.outvars]):
        return False
    return eqn.primitive.family in FAMILIES or eqn.primitive.identity in _WITHIN


def _is_witness(aval: object) -> bool:
    """Whether a condition can depend on an argument of this type: numbers, or keys."""
    if type(aval) is not ShapedArray or not all([type(size) is int and size > 0 for size in aval.shape]):
        return False
    if not isinstance(aval.dtype, np.dtype):
        return dtypes.issubdtype(aval.dtype, dtypes.prng_key)
    return aval.dtype.kind in "iuf" and aval.dtype.itemsize in _BITS


class _Branches:
    """The branches of one program. `jaxpr`: the program with them."""

    def __init__(self, jaxpr: Jaxpr, chosen: set[Var], witness: Var) -> None:
        self._producers: dict[Var, JaxprEqn] = {}  # of what is drawn, and not kept
        self._kept: set[Var] = set()
        self._eqns: list[JaxprEqn] = []
        self._index = self._always_one(witness)
        for eqn in jaxpr.eqns:
            if _draws(eqn) or (_is_within(eqn) and not self._producers.keys().isdisjoint(_variables(eqn))):
                self._producers.update(dict.fromkeys(eqn.outvars, eqn))
            kept = [var for var in eqn.outvars if var in chosen and var in self._producers]
            # What else an equation gives, and what the chain computes for others, stays; what is not read is dropped.
            self._eqns.append(_without(eqn, kept))
            for var in kept:
                self._keep(var)
        self.jaxpr = jaxpr.replace(eqns=self._eqns)

    def _keep(self, var: Var) -> None:
        """Compute a variable in a branch."""
        chain = [_without(eqn, self._kept) for eqn in self._chain(var)]
        made = {out for eqn in chain for out in eqn.outvars}
        operands = list(dict.fromkeys([atom for eqn in chain for atom in _variables(eqn) if atom not in made]))
        computed = ClosedJaxpr(Jaxpr([], operands, [var], chain), [])
        zeros = Var(var.aval)
        params = {"shape": var.aval.shape, "broadcast_dimensions": ()}
        spread = JaxprEqn(find_primitive(SPREAD), [literal(0, var.aval.dtype)], [zeros], params)
        nothing = ClosedJaxpr(Jaxpr([], [Var(operand.aval) for operand in operands], [zeros], [spread]), [])
        self._add("control_flow.cond", [self._index, *operands], var, {"branches": (nothing, computed)})
        del self._producers[var]
        self._kept.add(var)

    def _chain(self, var: Var) -> list[JaxprEqn]:
        """The equations between the ciphers and a variable, each after those that it needs."""
        found: dict[int, JaxprEqn] = {}

        def visit(needed: Var) -> None:
            eqn = self._producers.get(needed)
            if eqn is not None and id(eqn) not in found:
                for operand in _variables(eqn):
                    visit(operand)
                found[id(eqn)] = eqn

        visit(var)
        return list(found.values())

    def _always_one(self, witness: Var) -> Var:
        """The number of the branch that is taken: 1, as the lowest bit of an argument is less than 2."""
        aval = physical_aval(witness.aval)
        if aval is not witness.aval:
            witness = self._made("random.random_unwrap", [witness], aval)
        ones = (1,) * len(aval.shape)
        limits = {"start_indices": (0,) * len(ones), "limit_indices": ones, "strides": None}
        bits = _BITS[aval.dtype.itemsize]
        value = self._made("structure.slice", [witness], aval.update(shape=ones), limits)
        value = self._made(RESHAPED, [value], aval.update(shape=()), {"new_sizes": (), "dimensions": None})
        scalar = ShapedArray((), bits)
        value = self._made("elementwise.bitcast_convert_type", [value], scalar, {"new_dtype": bits})
        value = self._made("elementwise.and", [value, literal(1, bits)], scalar)
        value = self._made("elementwise.lt", [value, literal(2, bits)], ShapedArray((), bool))
        params = {"new_dtype": _INT32, "weak_type": False}
        return self._made("elementwise.convert_element_type", [value], ShapedArray((), _INT32), params)

    def _made(self, name: str, invars: Sequence[Atom], aval: ShapedArray, params: Params | None = None) -> Var:
        var = Var(aval)
        self._add(name, invars, var, params)
        return var

    def _add(self, name: str, invars: Sequence[Atom], outvar: Var, params: Params | None = None) -> None:
        self._eqns.append(JaxprEqn(find_primitive(name), invars, [outvar], params or {}))


def _without(eqn: JaxprEqn, others: Collection[Var]) -> JaxprEqn:
    """An equation that gives new variables in place of those that others give."""
    return eqn.replace(outvars=[Var(var.aval) if var in others else var for var in eqn.outvars])


def _variables(eqn: JaxprEqn) -> Iterable[Var]:
    return [atom for atom in eqn.invars if isinstance(atom, Var)]
