"""The two halves of what is linearised or taken apart: equations, and zeros in place of what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.control_flow.evaluation import run
from tangrad._lax.control_flow.programs import as_different
from tangrad.autodiff import zeros_p
from tangrad.core import (
    EVAL_TRACE,
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    ShapedArray,
    Var,
    dtypes,
    equation_effects,
    eval_jaxpr,
    literal,
    thread,
    trace_to_closed_jaxpr,
)
from tangrad.core.transformations import join_named_shapes
from tangrad.typing import Params, Value


def equation(primitive: Primitive, invars: Sequence[Var | Literal], params: Params) -> JaxprEqn:
    """An equation that applies a primitive with several results to atoms."""
    avals = tuple([atom.aval for atom in invars])
    outvars = [Var(aval) for aval in primitive.infer(avals, params)]
    return JaxprEqn(primitive, list(invars), outvars, params, equation_effects(primitive, avals, params))


def of_one_type(branches: Sequence[ClosedJaxpr], index: Sequence[Any]) -> tuple[ClosedJaxpr, ...]:
    """Branches whose results count as differing along the same mapped axes: those of any, and of what chooses.

    So what is given for a result that is the same on all devices in one branch, and not in another, is a cotangent of
    each device in both.
    """
    if thread.typed_axes is None:
        return tuple(branches)
    chosen = [value.aval for value in index]
    axes = [
        join_named_shapes([*chosen, *each]) for each in zip(*[branch.out_avals for branch in branches], strict=True)
    ]
    return tuple([as_different(branch, axes) for branch in branches])


def with_zeros(
    closed: ClosedJaxpr, has: Sequence[bool], wanted: Sequence[bool], avals: Sequence[ShapedArray]
) -> ClosedJaxpr:
    """A program that gives some outputs (`has`), with zeros for others that are wanted; `avals`: of all of them."""
    eqns, outvars = list(closed.eqns), []
    found = iter(closed.jaxpr.outvars)
    for aval, given, want in zip(avals, has, wanted, strict=True):
        if given:
            outvars.append(next(found))
        elif want:
            outvars.append(zeros_atom(aval, eqns))
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, outvars=outvars), closed.consts)


def zeros_atom(aval: ShapedArray, eqns: list[JaxprEqn]) -> Literal | Var:
    """Zeros of a type as an atom of a program whose equations are `eqns`; appends those that it takes."""
    if aval.named_shape:
        return _differing_zeros(aval, eqns)
    if not aval.shape and not isinstance(aval.dtype, dtypes.ExtendedDType) and aval.dtype is not dtypes.float0:
        return literal(0, aval.dtype, aval.weak_type)
    var = Var(aval)
    params = {"shape": aval.shape, "dtype": aval.dtype, "weak_type": aval.weak_type}
    eqns.append(JaxprEqn(zeros_p, [], [var], params))
    return var


def _differing_zeros(aval: ShapedArray, eqns: list[JaxprEqn]) -> Any:
    """The same of a type with named axes: zeros differ along none, so they are marked where types record that."""
    plain = zeros_atom(aval.update(named_shape=()), eqns)
    typed = thread.typed_axes
    if typed is None:
        return plain
    names = tuple([name for name, _ in aval.named_shape])
    marking = trace_to_closed_jaxpr(lambda value: [typed.marked(value, names)], [plain.aval], "zeros").jaxpr
    if not marking.eqns:
        return plain
    (mark,) = marking.eqns
    eqns.append(mark.replace(invars=[plain]))
    return mark.outvars[0]


def call_program(closed: ClosedJaxpr, args: Sequence[Value]) -> Sequence[Value]:
    """Run a program under the current trace; where that is the bottom, as fast as possible."""
    if thread.trace is EVAL_TRACE:
        return run(closed, args)
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)
