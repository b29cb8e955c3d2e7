"""The tape of an eager gradient: an entry, with its pullback, for each operation on concrete values, walked back."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._autodiff.primitives import add_any_p
from tangrad._autodiff.programs import linearize_jaxpr, transpose_jaxpr
from tangrad._autodiff.tangents import Zero
from tangrad._autodiff.tape import linearize_flat
from tangrad.core import (
    EVAL_TRACE,
    Backend,
    ClosedJaxpr,
    Jaxpr,
    Literal,
    Primitive,
    RuleTrace,
    ShapedArray,
    Trace,
    Tracer,
    as_operand,
    holding,
    run_traced,
    thread,
)
from tangrad.core.caches import params_key, register_cache
from tangrad.core.programs import compile_program, report_hit
from tangrad.core.settings import shared
from tangrad.core.tools import hooks
from tangrad.core.transformations import call_under, check_no_leak, find_backend, one_equation
from tangrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from tangrad.core import Array, Var
    from tangrad.typing import Params, PyTree, Value, Values

    Pull = Callable[[Value], list[Value | None]]  # the cotangent of a result -> those of the arguments


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
        self,
        backend: Backend,
        primitive: Primitive,
        avals: Sequence[ShapedArray],
        params: Params,
        active: tuple[bool, ...],
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
        self.backwards: dict[tuple[bool, ...], tuple[Run, tuple[int | None, ...]]] = {}

    def backward(self, given: tuple[bool, ...]) -> tuple[Run, tuple[int | None, ...]]:
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


# --- how a small program is run ---


def runner(backend: Backend, closed: ClosedJaxpr, name: str) -> Run:
    """A function from a list of operands to the results: without a program where one equation or none does."""
    jaxpr = closed.jaxpr
    if not closed.consts and len(jaxpr.eqns) <= 1:
        return _one_step(jaxpr) if jaxpr.eqns else _chosen(jaxpr)
    execute = compile_program(closed, backend, name, thin=False, reason="no gradient of it was needed yet").execute
    kind = backend.array_type

    def run(operands: Sequence[object]) -> Sequence[Array]:
        for operand in operands:
            if type(operand) is not kind:
                operands = [array_of(backend, operand) for operand in operands]
                break
        return execute(operands)

    return run


def _places(jaxpr: Jaxpr, atoms: Sequence[Var | Literal]) -> list[Any]:
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

    def run(operands: Sequence[Value]) -> Sequence[Value]:
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


_literal_arrays: dict[object, tuple[Literal, Array]] = {}


def array_of(backend: Backend, operand: Any) -> Array:
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


# --- the table ---

_pullbacks: dict[object, Pullback] = {}


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
    context: object,
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


_new = object.__new__


class GradientTracer(Tracer):
    """A concrete value that the gradient depends on. It is its own place on the tape."""

    __slots__ = ("primal",)
    primal: Any

    def concrete(self) -> Value:
        return self.primal

    def known(self) -> dict[str, object]:
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
        # Without a pullback the residuals are a linear program.
        self.entries: list[tuple[Pullback | None, Any, Sequence[Array], Sequence[Array]]] = []

    def tracer(self, primal: Value, extra: object = None) -> GradientTracer:
        tracer = _new(GradientTracer)
        tracer._trace = self
        tracer.aval = primal.aval
        tracer.primal = primal
        return tracer

    def process_primitive(self, primitive: Primitive, args: Values, params: Params) -> PyTree:
        operands: Any = []
        inputs: list[GradientTracer] = []
        active: list[bool] = []
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
        self, primitive: Primitive, operands: list[Value], params: Params, inputs: Sequence[Array], active: list[bool]
    ) -> PyTree:
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

    def value(self, out: object) -> Any:
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
        pending: dict[int, Value] = {id(output): cotangent}
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
    function: Callable[..., Sequence[Value]], primals: Sequence[Value], active: Sequence[bool] | None
) -> tuple[list[Array], Pull]:
    """Evaluate a function of flat concrete arguments; return its results and the function from the cotangent of the
    first.

    That function can be called once; it gives a cotangent, or None, for each active argument.
    """

    def run(trace: GradientTrace) -> tuple[GradientTrace, list[Array], Value, list[GradientTracer]]:
        tracers = [p if active is not None and not a else trace.tracer(p) for p, a in zip(primals, active or primals)]
        raw = function(*tracers)
        inputs = [t for t in tracers if type(t) is GradientTracer and t._trace is trace]
        return trace, [trace.value(out) for out in raw], raw[0], inputs

    trace, outs, output, inputs = run_traced(run, GradientTrace)

    def pull(cotangent: Value) -> list[Value | None]:
        return trace.backward(output, cotangent, inputs)

    return outs, _checked(pull, weakref.ref(trace)) if thread.check_tracer_leaks else pull


def _checked(pull: Pull, reference: weakref.ref[GradientTrace]) -> Pull:
    """With leak checks: the trace must be gone once its tape has been walked."""
    once = [pull]

    def checked_pull(cotangent: Value) -> list[Value | None]:
        found = once.pop()(cotangent)
        check_no_leak(reference)
        return found

    return checked_pull
