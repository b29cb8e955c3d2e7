"""From the equations of a jaxpr to values in a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._numba import control, reductions, structure
from tangrad._numba.blocks import Block
from tangrad._numba.elementwise import text_of
from tangrad._numba.loops import Value
from tangrad._numba.values import UnsupportedError, View, code_of
from tangrad.core import ClosedJaxpr, JaxprEqn, Literal, decomposition_jaxpr

RULES: dict[str, Any] = {**structure.RULES, **reductions.RULES}
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
        block.values[var] = value if block is around else control.outside(around, value)
    block.values.update(zip(jaxpr.invars[count:], inputs))
    inner = []
    for eqn in _needed(jaxpr):
        if block is not around and all([isinstance(atom, Literal) or atom in outer for atom in eqn.invars]):
            equation(around, eqn)
            for var in eqn.outvars:
                outer[var] = around.values[var]
                block.values[var] = control.outside(around, outer[var])
        else:
            inner.append(eqn)
    _run(block, inner, jaxpr.outvars)
    return [block.read(atom) for atom in jaxpr.outvars]


def _needed(jaxpr: Any) -> list[JaxprEqn]:
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


def _run(block: Block, eqns: Sequence[JaxprEqn], outvars: Sequence[Any]) -> None:
    for position, eqn in enumerate(eqns):
        if eqn.primitive.identity == "structure.dynamic_update_slice":
            later = [atom for other in eqns[position + 1 :] for atom in other.invars]
            _note_dead(block, eqn, [*eqn.invars[1:], *later, *outvars])
        equation(block, eqn)
        block.dead = frozenset()


def _note_dead(block: Block, eqn: JaxprEqn, live: Sequence[Any]) -> None:
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
        return control.nested(block, control.scan(block, evaluate, operands, params))
    if identity == "control_flow.while":
        return control.nested(block, control.while_loop(block, evaluate, operands, params))
    if identity == "control_flow.cond":
        return control.cond(block, evaluate, operands, params, out)
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
