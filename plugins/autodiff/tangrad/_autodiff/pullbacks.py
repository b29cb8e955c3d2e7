"""What one primitive is to an eager gradient: a program that computes it and keeps residuals, and one that pulls back.

Both are made once for each signature (primitive, parameters, types, which operands have a tangent), from the same `jvp`
and `transpose` rules as everything else: the primitive is staged as a program of one equation, linearised and
transposed, and the backend compiles the two halves. An eager gradient then makes two calls for an operation, however
many operations its derivative is made of; before, the recorded arithmetic of the derivatives was most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._autodiff.programs import linearize_jaxpr, transpose_jaxpr
from tangrad.core import EVAL_TRACE, Backend, ClosedJaxpr, Jaxpr, Literal, Primitive, ShapedArray, holding, thread
from tangrad.core.caches import params_key, register_cache
from tangrad.core.programs import compile_program, report_hit
from tangrad.core.tools import hooks
from tangrad.core.transformations import one_equation

if TYPE_CHECKING:
    from tangrad.typing import Params, Value


PULLBACK_LIMIT = 4096
LITERAL_LIMIT = 1024

Run = Callable[[Sequence[Any]], Sequence[Any]]


class Pullback:
    """The two halves of one signature.

    Attributes:
        forward: operands -> results, then the residuals that are neither operands nor results.
        out_count: the number of results.
        nonzero: for each result, whether it has a tangent.
        sources: for each residual, its position among `(*operands, *outputs of forward)`.
    """

    __slots__ = ("_backend", "_linear", "_name", "backwards", "forward", "nonzero", "out_count", "sources")

    def __init__(
        self, backend: Backend, primitive: Primitive, avals: Sequence[ShapedArray], params: Params, active: Any
    ) -> None:
        self._backend = backend
        self._name = primitive.name
        closed = one_equation(primitive, avals, params)
        linearized = linearize_jaxpr(closed, active)
        self._linear = linearized.linear
        self.out_count = len(linearized.nonzero)
        self.nonzero = linearized.nonzero
        primal, own = _without_repeated_outputs(linearized.primal, self.out_count)
        self.forward = runner(backend, primal, self._name)
        positions = iter([len(avals) + position for position in own])
        self.sources = tuple([next(positions) if s is None else s for s in linearized.residual_sources])
        # Which results have a cotangent -> the program, and for each active operand the position of its cotangent or
        # None.
        self.backwards: dict[tuple[bool, ...], tuple[Run, tuple[Any, ...]]] = {}

    def backward(self, given: tuple[bool, ...]) -> tuple[Run, tuple[Any, ...]]:
        """The program `(*residuals, *cotangents given) -> cotangents`, and where that of each active operand is."""
        found = self.backwards.get(given)
        if found is None:
            count = len(self.sources)
            linear = [False] * count + [True] * (len(self._linear.in_avals) - count)
            transposed, nonzero = transpose_jaxpr(self._linear, linear, given)
            numbers = iter(range(len(transposed.out_avals)))
            positions = tuple([next(numbers) if has else None for has in nonzero])
            found = runner(self._backend, transposed, f"pullback_{self._name}"), positions
            self.backwards[given] = found
        return found


def _without_repeated_outputs(closed: ClosedJaxpr, count: int) -> tuple[ClosedJaxpr, list[int]]:
    """The program without the residuals that are results too; and where each residual stands among its outputs."""
    outs = closed.jaxpr.outvars
    kept, positions = list(outs[:count]), []
    # By identity: literals among the results would compare by value.
    places = {id(atom): place for place, atom in reversed(list(enumerate(kept)))}
    for atom in outs[count:]:
        if type(atom) is Literal or id(atom) not in places:
            places[id(atom)] = len(kept)
            kept.append(atom)
        positions.append(places[id(atom)])
    return ClosedJaxpr(closed.jaxpr.replace(outvars=kept), closed.consts), positions


# --- how a small program is run -------------------------------------------------------------------------------------


def runner(backend: Any, closed: ClosedJaxpr, name: str) -> Run:
    """A function from a list of operands to the results: without a program where one equation or none does."""
    jaxpr = closed.jaxpr
    if not closed.consts and len(jaxpr.eqns) <= 1:
        return _one_step(jaxpr) if jaxpr.eqns else _chosen(jaxpr)
    execute = compile_program(closed, backend, name, thin=False, reason="no gradient of it was needed yet").execute
    kind = backend.array_type

    def run(operands: Sequence[Any]) -> Sequence[Any]:
        for operand in operands:
            if type(operand) is not kind:
                operands = [array_of(backend, operand) for operand in operands]
                break
        return execute(operands)

    return run


def _places(jaxpr: Jaxpr, atoms: Sequence[Any]) -> list[Any]:
    """For each atom its position among the inputs, or the literal that it is."""
    positions = {var: position for position, var in enumerate(jaxpr.invars)}
    return [atom if type(atom) is Literal else positions[atom] for atom in atoms]


def _chosen(jaxpr: Jaxpr) -> Run:
    """A program without equations hands operands on."""
    places = _places(jaxpr, jaxpr.outvars)
    return lambda operands: [place if type(place) is Literal else operands[place] for place in places]


def _one_step(jaxpr: Jaxpr) -> Run:
    """A program of one equation applies its primitive, by the function that eager calls of it use too."""
    (eqn,) = jaxpr.eqns
    primitive, params = eqn.primitive, eqn.params
    made = {var: position for position, var in enumerate(eqn.outvars)}
    process = EVAL_TRACE.process_primitive
    places = _places(jaxpr, eqn.invars)
    if len(places) == 2 and not any([type(place) is Literal for place in places]) and _returns_all(jaxpr):
        first, second = places
        return lambda operands: (process(primitive, (operands[first], operands[second]), params),)
    if len(places) == 1 and type(places[0]) is not Literal and _returns_all(jaxpr):
        (only,) = places
        return lambda operands: (process(primitive, (operands[only],), params),)
    others = {var: position for position, var in enumerate(jaxpr.invars)}

    def run(operands: Sequence[Any]) -> Sequence[Any]:
        args = tuple([place if type(place) is Literal else operands[place] for place in places])
        out = process(primitive, args, params)
        outs = out if primitive.multiple_results else (out,)
        return [
            atom if type(atom) is Literal else outs[made[atom]] if atom in made else operands[others[atom]]
            for atom in jaxpr.outvars
        ]

    return run


def _returns_all(jaxpr: Jaxpr) -> bool:
    """Whether the program's one result is that of its one equation."""
    return not jaxpr.eqns[0].primitive.multiple_results and list(jaxpr.outvars) == list(jaxpr.eqns[0].outvars)


_literal_arrays: dict[Any, tuple[Literal, Any]] = {}


def array_of(backend: Any, operand: Any) -> np.ndarray | None:
    """An operand as an array of the backend; those made of literals are kept, for each default device."""
    if type(operand) is not Literal:
        return operand
    key = (backend.name, id(operand), thread.default_device)
    found = _literal_arrays.get(key)
    if found is None:
        if len(_literal_arrays) >= LITERAL_LIMIT:
            _literal_arrays.clear()
        found = _literal_arrays[key] = operand, backend.put(operand.ndarray, operand.aval)
    return found[1]


# --- the table -----------------------------------------------------------------------------------------------------

_pullbacks: dict[Any, Pullback] = {}


@register_cache
def _clear() -> None:
    _pullbacks.clear()
    _literal_arrays.clear()


def pullback_for(
    backend: Backend,
    primitive: Primitive,
    operands: Sequence[Value],
    params: Params,
    active: tuple[bool, ...],
    context: Any,
) -> Pullback:
    """The pullback of one signature; made the first time."""
    key = (
        primitive,
        active,
        backend.name,
        params_key(params) if params else None,
        context,
        *[operand.aval for operand in operands],
    )
    found = _pullbacks.get(key)
    if found is None:
        with holding(trace=EVAL_TRACE):
            found = Pullback(backend, primitive, [operand.aval for operand in operands], params, active)
        if len(_pullbacks) >= PULLBACK_LIMIT:
            _pullbacks.clear()
        _pullbacks[key] = found
    elif hooks.cache_hit_observers is not None:
        report_hit(primitive.name, backend)
    return found
