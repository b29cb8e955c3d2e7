"""The tape of an eager gradient: one entry for each operation on concrete values, walked back once.

Where a gradient is taken of concrete values, the linear program itself is not needed. So the tape holds for each
operation its residuals and a compiled pullback (`pullbacks.py`). Operations that carry programs (calls, loops) are
linearised by their rules, as everywhere, and leave a linear program (`tape.py`) as their entry.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._autodiff.primitives import add_any_p
from tangrad._autodiff.pullbacks import Pullback, pullback_for
from tangrad._autodiff.tape import linearize_flat
from tangrad._autodiff.zeros import Zero
from tangrad.core import Literal, Primitive, RuleTrace, Trace, Tracer, as_operand, run_traced, thread
from tangrad.core.settings import shared
from tangrad.core.transformations import call_under, check_no_leak, find_backend
from tangrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from tangrad.typing import Params, Value, Values


_new = object.__new__


class GradientTracer(Tracer):
    """A concrete value that the gradient depends on. It is its own place on the tape."""

    __slots__ = ("primal",)
    primal: Any

    def concrete(self) -> Value:
        return self.primal

    def known(self) -> dict[str, Any]:
        return {"primal": self.primal}

    def origin(self) -> str:
        return "a value under grad"


class GradientTrace(RuleTrace, own=GradientTracer):
    """Computes on concrete values, and remembers how to pull cotangents back.

    Attributes:
        entries: `(backward, residuals, inputs, outputs)`: `backward(residuals, cotangents of outputs)` gives those of
            inputs.
    """

    __slots__ = ("entries",)
    leaks = False

    def __init__(self, bottom: Trace) -> None:
        self.alive = True
        self.stages = False
        self.parent = bottom
        self.entries: list[tuple[Any, Any, Any, Any]] = []

    def tracer(self, primal: Value, extra: Any = None) -> GradientTracer:
        tracer = _new(GradientTracer)
        tracer._trace = self
        tracer.aval = primal.aval
        tracer.primal = primal
        return tracer

    def process_primitive(self, primitive: Primitive, args: Values, params: Params) -> Any:
        operands: Any = []
        inputs, active = [], []
        for arg in args:
            if type(arg) is GradientTracer and arg._trace is self:
                operands.append(arg.primal)
                inputs.append(arg)
                active.append(True)
            else:
                if not hasattr(type(arg), "aval"):  # it stands for an array, which may be a value of this trace
                    return self.process_primitive(primitive, tuple([as_operand(value) for value in args]), params)
                operands.append(arg)
                active.append(False)
        if not inputs:
            return self.pass_on(primitive, args, params)
        if primitive.evaluate is not None or primitive.effects is not None:
            return self._linearized(primitive, operands, params, inputs, active)
        context = shared.context, thread.overrides
        key = tuple(active)
        try:
            backend = inputs[0].primal.backend
            pullback = pullback_for(backend, primitive, operands, params, key, context)
        except AttributeError:  # an operand that is no array yet, such as a NumPy array, or a tracer that has leaked
            backend, operands = find_backend(tuple(operands))
            pullback = pullback_for(backend, primitive, operands, params, key, context)
        results = pullback.forward(operands)
        if not primitive.multiple_results:
            out = results[0]
            if type(out) is Literal:
                out = backend.put(out.ndarray, out.aval)
            if not pullback.nonzero[0]:
                return out
            tracer = _new(GradientTracer)
            tracer._trace = self
            tracer.aval = out.aval
            tracer.primal = out
            self.entries.append((pullback, _residuals(pullback, operands, results), inputs, (tracer,)))
            return tracer
        outs = [self.tracer(out) if has else out for out, has in zip(results[: pullback.out_count], pullback.nonzero)]
        traced = tuple([out for out, has in zip(outs, pullback.nonzero) if has])
        if traced:
            self.entries.append((pullback, _residuals(pullback, operands, results), inputs, traced))
        return tuple(outs)

    def _linearized(
        self, primitive: Primitive, operands: list[Value], params: Params, inputs: list[Any], active: list[bool]
    ) -> Any:
        """An operation that carries a program, by its own rules."""

        def bind(*values: Value) -> Sequence[Value]:
            out = primitive.bind(*values, **params)
            return out if primitive.multiple_results else (out,)

        results, program = call_under(self.parent, linearize_flat, bind, operands, active)
        outs = [out if type(t) is Zero else self.tracer(out) for out, t in zip(results, program.outputs)]
        traced = tuple([out for out, t in zip(outs, program.outputs) if type(t) is not Zero])
        if traced:
            program.outputs = [t for t in program.outputs if type(t) is not Zero]
            self.entries.append((None, program, inputs, traced))
        return tuple(outs) if primitive.multiple_results else outs[0]

    def value(self, out: Any) -> Any:
        """The concrete value of a result. Raises for a tracer that has leaked from elsewhere."""
        if type(out) is GradientTracer and out._trace is self:
            return out.primal
        if isinstance(out, Tracer):
            raise UnexpectedTracerError(out)
        return out

    def backward(self, output: Value, cotangent: Value, inputs: Sequence[Value]) -> list[Value | None]:
        """Walk the tape back once, letting go of each entry.

        Returns the cotangents of `inputs`, None where there is none.
        """
        pending: dict[int, Any] = {id(output): cotangent}
        entries = self.entries
        while entries:
            pullback, residuals, arguments, outs = entries.pop()
            if len(outs) == 1:
                first = pending.pop(id(outs[0]), None)
                if first is None:
                    continue
                given: tuple[bool, ...] = (True,)
                cotangents = [first]
            else:
                found = [pending.pop(id(out), None) for out in outs]
                given = tuple([ct is not None for ct in found])
                cotangents = [ct for ct in found if ct is not None]
                if not cotangents:
                    continue
            if pullback is None:
                filled = iter(cotangents)
                results: Any = residuals.backward(
                    [next(filled) if has else Zero(out.aval) for out, has in zip(outs, given)], consume=True
                )
                pairs = [(a, None if type(r) is Zero else r) for a, r in zip(arguments, results)]
            else:
                run, positions = pullback.backwards.get(given) or pullback.backward(given)
                results = run([*residuals, *cotangents])
                pairs = [(a, None if p is None else results[p]) for a, p in zip(arguments, positions)]
            for argument, result in pairs:
                if result is not None:
                    key = id(argument)
                    earlier = pending.get(key)
                    pending[key] = result if earlier is None else add_any_p.bind(earlier, result)
        return [pending.get(id(tracer)) for tracer in inputs]


def _residuals(pullback: Pullback, operands: Sequence[Value], results: Sequence[Value]) -> list[Value]:
    sources = pullback.sources
    if not sources:
        return []
    count = len(operands)
    return [operands[source] if source < count else results[source - count] for source in sources]


def eager_gradient(
    function: Callable[..., Sequence[Any]], primals: Sequence[Value], active: Sequence[bool] | None
) -> tuple[list[Any], Callable[[Any], list[Any]]]:
    """Evaluate a function of flat concrete arguments; return its results and the function from the cotangent of the
    first.

    That function can be called once; it gives a cotangent, or None, for each active argument.
    """

    def run(trace: GradientTrace) -> tuple[GradientTrace, list[Any], Any, list[Any]]:
        tracers = [p if active is not None and not a else trace.tracer(p) for p, a in zip(primals, active or primals)]
        raw = function(*tracers)
        inputs = [t for t in tracers if type(t) is GradientTracer and t._trace is trace]
        return trace, [trace.value(out) for out in raw], raw[0], inputs

    trace, outs, output, inputs = run_traced(run, GradientTrace)

    def pull(cotangent: Value) -> list[Value | None]:
        return trace.backward(output, cotangent, inputs)

    return outs, _checked(pull, weakref.ref(trace)) if thread.check_tracer_leaks else pull


def _checked(pull: Any, reference: Any) -> Callable[[Any], list[Any]]:
    """With leak checks: the trace must be gone once its tape has been walked."""
    once = [pull]

    def checked_pull(cotangent: Value) -> list[Value]:
        found = once.pop()(cotangent)
        check_no_leak(reference)
        return found

    return checked_pull
