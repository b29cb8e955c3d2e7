"""Forward mode: a trace whose values are pairs of a primal and a tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._autodiff.cotangents import as_different_as, current_typed_axes
from tangrad._autodiff.tangents import Zero, instantiate
from tangrad.core import (
    ClosedJaxpr,
    DerivedRule,
    Primitive,
    RuleTrace,
    RuleTracer,
    Tracer,
    decomposed,
    eval_jaxpr,
    rule_table,
    run_traced,
    thread,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.core.protocols import JvpRule
    from tangrad.typing import Params, PyTree, Value, Values


JVP = rule_table("jvp")

_new = object.__new__
_zero_of = Zero.of


class JVPTracer(RuleTracer):
    """A primal with its tangent, both values of the parent trace."""

    __slots__ = ()
    primal = RuleTracer.value
    tangent = RuleTracer.extra

    def concrete(self) -> Value | None:
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def known(self) -> dict[str, object]:
        return {"primal": self.primal, "tangent": self.tangent}

    def origin(self) -> str:
        return "a value under jvp"


class JVPTrace(RuleTrace, kind="jvp", own=JVPTracer):
    """Applies jvp rules where an argument has a tangent."""

    __slots__ = ()
    absent = staticmethod(Zero.of)

    @property
    def main(self) -> JVPTrace:
        """What distinguishes the tracers of one transformation from those of another: the trace itself."""
        return self

    def pair(self, value: Value) -> tuple[Array, Any]:
        """Primal and tangent of a value; those of other traces have a zero tangent."""
        primal, tangent = self.split(value)
        return primal, _zero_of(primal) if tangent is None else tangent

    def apply(self, primitive: Primitive, primals: list[Value], tangents: list[object], params: Params) -> PyTree:
        out, tangent_out = JVP[primitive](tuple(primals), tuple(tangents), **params)
        if primitive.multiple_results:
            pairs = zip(out, tangent_out, strict=True)
            return tuple([o if type(t) is Zero else self.tracer(o, t) for o, t in pairs])
        if type(tangent_out) is Zero:
            return out
        tracer = _new(JVPTracer)  # as `tracer` does, a call less
        tracer._trace = self
        tracer.aval = out.aval
        tracer.value = out
        tracer.extra = tangent_out
        return tracer


def jvp_flat(
    function: Callable[..., Sequence[Value]], primals: Sequence[Value], tangents: Sequence[Value | Zero]
) -> tuple[list[Array], list[Any]]:
    """Run a function of flat arguments and results on pairs; tangents may be symbolic zeros, in and out."""

    def run(trace: JVPTrace) -> list[tuple[Array, Value | Zero]]:
        args = [p if type(t) is Zero else trace.tracer(p, t) for p, t in zip(primals, tangents, strict=True)]
        return [trace.pair(out) for out in function(*args)]

    pairs = run_traced(run, JVPTrace)
    return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]


# --- on jaxprs ---

_jvp_programs = JaxprCache()
register_cache(_jvp_programs.clear)


def jvp_jaxpr(
    closed: ClosedJaxpr, nonzero: Sequence[bool], instantiate_outputs: bool | Sequence[bool] = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """The jaxpr that computes primals and tangents of `closed`.

    Args:
        nonzero: for each input, whether it has a tangent.
        instantiate_outputs: outputs whose tangent is wanted even where it is zero.

    Returns:
        the jaxpr, `(primals, nonzero tangents) -> (primals out, nonzero tangents out)`, and which outputs have a
        tangent.
    """
    wanted = (
        (instantiate_outputs,) * len(closed.out_avals)
        if isinstance(instantiate_outputs, bool)
        else tuple(instantiate_outputs)
    )
    key = (tuple(nonzero), wanted, current_typed_axes())
    return _jvp_programs.get(closed, key, lambda: _jvp_jaxpr(closed, *key[:2]))


def _jvp_jaxpr(
    closed: ClosedJaxpr, nonzero: tuple[bool, ...], wanted: tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool]]:
    nonzero_out: list[bool] = []

    def run(*args: Array) -> list[Value]:
        primals, given = args[: len(nonzero)], iter(args[len(nonzero) :])
        tangents = [next(given) if has else Zero.of(p) for p, has in zip(primals, nonzero, strict=True)]
        outs, tangents_out = jvp_flat(lambda *a: eval_jaxpr(closed.jaxpr, closed.consts, *a), primals, tangents)
        tangents_out = [instantiate(t) if w else t for t, w in zip(tangents_out, wanted, strict=True)]
        if thread.typed_axes is not None:
            tangents_out = [as_different_as(t, out) for t, out in zip(tangents_out, outs, strict=True)]
        nonzero_out.extend([type(t) is not Zero for t in tangents_out])
        return outs + [t for t in tangents_out if type(t) is not Zero]

    tangent_avals = [aval for aval, has in zip(closed.in_avals, nonzero, strict=True) if has]
    out = trace_to_closed_jaxpr(
        run, [*closed.in_avals, *tangent_avals], f"jvp of {closed.jaxpr.debug_name or 'a program'}"
    )
    return out, nonzero_out


def jvp_by_decomposition(primitive: Primitive) -> JvpRule:
    """A jvp rule made of a primitive's decomposition."""

    def rule(primals: Sequence[Value], tangents: Sequence[Value | Zero], **params: object) -> tuple[Any, Any]:
        def run(*args: object) -> Values:
            out = decomposed(primitive, args, params)
            return tuple(out) if primitive.multiple_results else (out,)

        with DerivedRule(primitive, "jvp"):
            outs, tangents_out = jvp_flat(run, primals, tangents)
        if primitive.multiple_results:
            return tuple(outs), tuple(tangents_out)
        return outs[0], tangents_out[0]

    vars(rule)["symbolic_zeros"] = True
    return rule
