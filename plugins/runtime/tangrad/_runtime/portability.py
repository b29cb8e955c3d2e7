"""A program in primitives that can run without the transformations that made it; the rule kind `portable`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._runtime.container import ArtifactError
from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    Primitive,
    RuleKind,
    RuleTrace,
    as_operand,
    calls_rules,
    dce_jaxpr,
    decomposed,
    eval_jaxpr,
    keeps_alive,
    rule_table,
    run_traced,
    trace_to_closed_jaxpr,
)
from tangrad.core.tools import with_sub_jaxprs
from tangrad.core.transformations import is_operand

if TYPE_CHECKING:
    from tangrad.core import Array, ShapedArray
    from tangrad.typing import Params, Value, Values


# ----------------------------------------------------------------------------------------------------------------------
# The rule kind of saved programs: how what belongs to a transformation is written in primitives that programs carry.


portable = RuleKind(
    "portable",
    api=1,
    signature="(*args, **params) -> results",
    doc="a primitive of a transformation in terms of those that saved programs have",
    optional=True,
)


# --- A program in primitives that can run without the transformations that made it ------------------------------------
# Calls of jitted functions, the arithmetic of differentiation and of batching, functions with rules of their own: of
# all these a program that is only to be run keeps the steps. A primitive stays if NumPy has a lowering for it;
# otherwise its rule of kind `portable`, or its decomposition, gives what stands for it.


PORTABLE = rule_table("portable")
LOWERINGS = rule_table("lower.numpy")


class PortableTrace(RuleTrace):
    """Hands on what can be saved, and puts others in the place of what cannot. Its values are the parent's."""

    __slots__ = ()

    def process_primitive(self, primitive: Primitive, args: Values, params: Params) -> Array:
        """Bind the primitive, or what stands for it, under the parent."""
        if PORTABLE.get_rule(primitive) is not None:
            return self._by_rule(primitive, args, params)
        if has_lowering(primitive):
            params = with_sub_jaxprs(params, _portable_program)
            return self.parent.process_primitive(primitive, args, params)
        if primitive.decompose is None:
            raise ArtifactError(
                f"the program uses {primitive.identity!r}, which cannot be saved: it has no lowering of kind "
                "'lower.numpy', no rule of kind 'portable', and no decomposition"
            )
        return decomposed(primitive, args, params)

    @calls_rules("portable")
    def _by_rule(self, primitive: Primitive, args: Values, params: Params) -> Any:
        out = PORTABLE[primitive](*args, **params)
        outs = out if primitive.multiple_results else (out,)
        if not isinstance(outs, (tuple, list)) or not all([is_operand(one) for one in outs]):
            expected = "a tuple of arrays" if primitive.multiple_results else "an array"
            raise TypeError(f"the portable rule of {primitive.identity!r} returned {out!r}; expected {expected}")
        found = [as_operand(one).aval for one in outs]
        inferred = primitive.infer(tuple([as_operand(arg).aval for arg in args]), params)
        wanted = list(inferred) if primitive.multiple_results else [inferred]
        if [(one.shape, one.dtype) for one in found] != [(one.shape, one.dtype) for one in wanted]:
            raise TypeError(
                f"the portable rule of {primitive.identity!r} returned {_shown(found)}; the primitive gives "
                f"{_shown(wanted)}"
            )
        return out


def _shown(avals: Sequence[ShapedArray]) -> str:
    return ", ".join([aval.str_short() for aval in avals])


def has_lowering(primitive: Primitive) -> bool:
    """Whether the NumPy backend has a rule for a primitive itself, not for what it is made of."""
    return LOWERINGS.cell(primitive).status in ("rule", "general")


def portable_program(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program in primitives that can be saved, without what is unused.

    Raises ArtifactError for what has no such form, and for effects: a file has no process to call back.
    """
    portable = _portable(closed)
    jaxpr, _ = dce_jaxpr(portable.jaxpr, [True] * len(portable.out_avals), instantiate=True)
    if keeps_alive(jaxpr.effects):
        equation = next(eqn for eqn in jaxpr.eqns if keeps_alive(eqn.effects))
        effects = ", ".join(sorted(map(repr, equation.effects)))
        raise ArtifactError(
            f"the program uses {equation.primitive.identity!r}, which has side effects ({effects}) and cannot be "
            "saved: take callbacks and prints out of it"
        )
    return ClosedJaxpr(jaxpr, portable.consts)


def _portable(closed: ClosedJaxpr) -> ClosedJaxpr:
    def run(*args: Value) -> list[Value]:
        return run_traced(lambda _: eval_jaxpr(closed.jaxpr, closed.consts, *args), PortableTrace)

    # What moves values over devices is left out, so that types which record how they are cut would be wrong.
    plain = [aval.plain for aval in closed.in_avals]
    return trace_to_closed_jaxpr(run, plain, closed.jaxpr.debug_name or "a program")


def _portable_program(program: Jaxpr | ClosedJaxpr) -> Jaxpr | ClosedJaxpr:
    if isinstance(program, ClosedJaxpr):
        return _portable(program)
    return program if program.constvars else _portable(ClosedJaxpr(program)).jaxpr
