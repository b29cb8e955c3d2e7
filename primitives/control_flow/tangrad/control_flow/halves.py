"""The two halves of what is linearised or taken apart: equations, and zeros in place of what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad.autodiff.primitives import zeros_p
from tangrad.control_flow.evaluation import run
from tangrad.core import EVAL_TRACE, ClosedJaxpr, JaxprEqn, Var, dtypes, equation_effects, eval_jaxpr, literal, thread


def equation(primitive: Any, invars: Sequence[Any], params: dict[str, Any]) -> JaxprEqn:
    """An equation that applies a primitive with several results to atoms."""
    avals = tuple([atom.aval for atom in invars])
    outvars = [Var(aval) for aval in primitive.infer(avals, params)]
    return JaxprEqn(primitive, list(invars), outvars, params, equation_effects(primitive, avals, params))


def with_zeros(closed: ClosedJaxpr, has: Sequence[bool], wanted: Sequence[bool], avals: Sequence[Any]) -> ClosedJaxpr:
    """A program that gives some outputs (`has`), with zeros for others that are wanted; `avals`: of all of them."""
    eqns, outvars = list(closed.eqns), []
    found = iter(closed.jaxpr.outvars)
    for aval, given, want in zip(avals, has, wanted, strict=True):
        if given:
            outvars.append(next(found))
        elif want:
            outvars.append(zeros_atom(aval, eqns))
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, outvars=outvars), closed.consts)


def zeros_atom(aval: Any, eqns: list[JaxprEqn]) -> Any:
    """Zeros of a type as an atom of a program whose equations are `eqns`; appends one if it takes one."""
    if not aval.shape and not isinstance(aval.dtype, dtypes.ExtendedDType) and aval.dtype is not dtypes.float0:
        return literal(0, aval.dtype, aval.weak_type)
    var = Var(aval)
    params = {"shape": aval.shape, "dtype": aval.dtype, "weak_type": aval.weak_type}
    eqns.append(JaxprEqn(zeros_p, [], [var], params))
    return var


def call_program(closed: ClosedJaxpr, args: Sequence[Any]) -> Sequence[Any]:
    """Run a program under the current trace; where that is the bottom, as fast as possible."""
    if thread.trace is EVAL_TRACE:
        return run(closed, args)
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)
