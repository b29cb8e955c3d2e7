"""Linearising and transposing jaxprs: what the rules of primitives that carry programs are made of, and return."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._autodiff.auxiliary import Logged, log_structure, logs_wanted
from tangrad._autodiff.cotangents import cotangent_aval, current_typed_axes
from tangrad._autodiff.reducing import reduced
from tangrad._autodiff.tangents import Zero, instantiate
from tangrad._autodiff.tape import linearize_flat, record_linear, record_unknown
from tangrad._autodiff.transpose_rules import is_linear
from tangrad.core import (
    ClosedJaxpr,
    DerivedRule,
    Jaxpr,
    Literal,
    Primitive,
    Var,
    dce_jaxpr,
    decomposed,
    eval_jaxpr,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.core.protocols import TransposeRule
    from tangrad.typing import Params, Value, Values


class Linearized:
    """What a `linearize` rule returns.

    Attributes:
        primals_out: the results of the primitive.
        residuals: what the linear part needs of the primals.
        linear_jaxpr: closed jaxpr `(*residuals, *active tangents) -> tangents of the outputs that have one`.
        nonzero: for each output, whether it has a tangent; None: all have.
    """

    __slots__ = ("linear_jaxpr", "nonzero", "primals_out", "residuals")

    def __init__(
        self, primals_out: Values, residuals: Values, linear_jaxpr: ClosedJaxpr, nonzero: object = None
    ) -> None:
        self.primals_out = primals_out
        self.residuals = residuals
        self.linear_jaxpr = linear_jaxpr
        self.nonzero = nonzero


class PartialEval:
    """What a `partial_eval` rule returns; None in its place means that every output depends on the unknowns.

    Attributes:
        known_outs: for each output, its value, or None where it is unknown.
        residuals: what the unknown part needs of the known one.
        unknown_equation: an equation (primitive and params count) that takes `(*residuals, *unknown args)` and returns
            the unknown outputs in order, or all outputs; None where all outputs are known.
        operands: the operands of that equation, where their order is another one.
    """

    __slots__ = ("known_outs", "operands", "residuals", "unknown_equation")

    def __init__(
        self, known_outs: object, residuals: object, unknown_equation: object, operands: object = None
    ) -> None:
        self.known_outs = known_outs
        self.residuals = residuals
        self.unknown_equation = unknown_equation
        self.operands = operands


_linear_programs = JaxprCache()
register_cache(_linear_programs.clear)


# Programs known to be linear in all that is unknown of them: nothing in them waits to be taken out.
_marked_linear: weakref.WeakSet[ClosedJaxpr] = weakref.WeakSet()


def mark_linear(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Remember that a program is the second, linear half of another one; returns it."""
    _marked_linear.add(closed)
    return closed


def is_marked_linear(closed: ClosedJaxpr) -> bool:
    """Whether a program was marked by `mark_linear`: rules for `partial_eval` need not look into it."""
    return closed in _marked_linear


class LinearizedJaxpr:
    """A closed jaxpr, linearised with respect to some of its inputs.

    Attributes:
        primal: closed jaxpr, `inputs -> (outputs, own residuals)`.
        linear: closed jaxpr, `(residuals, active tangents) -> tangents of the outputs that have one`.
        nonzero: for each output, whether it has a tangent.
        residual_sources: for each residual, the position of the input that it is, or None for one of `primal`'s own.
    """

    __slots__ = ("linear", "nonzero", "primal", "residual_sources")

    def __init__(
        self, primal: ClosedJaxpr, linear: ClosedJaxpr, nonzero: tuple[bool, ...], sources: tuple[int | None, ...]
    ) -> None:
        self.primal = primal
        self.linear = linear
        self.nonzero = nonzero
        self.residual_sources = sources

    def split(self, inputs: Sequence[Value], outputs: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        """The results, and the residuals in `linear`'s order, given inputs and outputs of `primal`."""
        count = len(self.nonzero)
        own = iter(outputs[count:])
        residuals = [next(own) if source is None else inputs[source] for source in self.residual_sources]
        return list(outputs[:count]), residuals


def linearize_jaxpr(closed: ClosedJaxpr, active: Sequence[bool]) -> LinearizedJaxpr:
    """Linearise a jaxpr with respect to its active inputs. Remembered as long as the jaxpr lives."""
    key = ("linearize", tuple(active), current_typed_axes())
    return _linear_programs.get(closed, key, lambda: _linearize_jaxpr(closed, tuple(active)))


def _linearize_jaxpr(closed: ClosedJaxpr, active: tuple[bool, ...]) -> LinearizedJaxpr:
    found: list[Any] = []
    jaxpr = closed.jaxpr
    if len(jaxpr.eqns) > 1:  # residuals of what is dead would be kept for nothing
        jaxpr, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)

    def run(*inputs: Array) -> list[Value]:
        outs, program = linearize_flat(lambda *a: eval_jaxpr(jaxpr, closed.consts, *a), inputs, active, reduced.axes)
        linear, residuals = program.to_jaxpr()
        # A loop of which one result is not used may have residuals for that one alone.
        keep = [False] * len(residuals) + [True] * sum(active)
        linear, used = dce_jaxpr(linear, [True] * len(linear.outvars), keep)
        residuals = [residual for residual, is_used in zip(residuals, used) if is_used]
        positions = {id(value): position for position, value in enumerate(inputs)}
        sources = tuple([positions.get(id(residual)) for residual in residuals])
        nonzero = tuple([type(out) is not Zero for out in program.outputs])
        found.extend([mark_linear(ClosedJaxpr(linear)), nonzero, sources])
        return outs + [r for r, source in zip(residuals, sources, strict=True) if source is None]

    primal = trace_to_closed_jaxpr(run, closed.in_avals, closed.jaxpr.debug_name)
    linear, nonzero, sources = found
    return LinearizedJaxpr(primal, linear, nonzero, sources)


class PartialEvalJaxpr:
    """A closed jaxpr in two: what can be computed of the known inputs, and the rest.

    Attributes:
        known: closed jaxpr, `known inputs -> (known outputs, own residuals)`.
        unknown: closed jaxpr, `(residuals, unknown inputs) -> unknown outputs`.
        out_known: for each output, whether it is known.
        residual_sources: for each residual, the position among the known inputs, or None for one of `known`'s own.
    """

    __slots__ = ("known", "out_known", "residual_sources", "unknown")

    def __init__(
        self, known: ClosedJaxpr, unknown: ClosedJaxpr, out_known: tuple[bool, ...], sources: tuple[int | None, ...]
    ) -> None:
        self.known = known
        self.unknown = unknown
        self.out_known = out_known
        self.residual_sources = sources

    def split(self, inputs: Sequence[object], outputs: Sequence[object]) -> tuple[list[Any], list[Any]]:
        """Results (None where unknown) and residuals, in `unknown`'s order; of what `known` takes and gives."""
        own = iter(outputs[sum(self.out_known) :])
        residuals = [next(own) if source is None else inputs[source] for source in self.residual_sources]
        found = iter(outputs)
        return [next(found) if is_known else None for is_known in self.out_known], residuals


def partial_eval_jaxpr(
    closed: ClosedJaxpr, known: Sequence[bool], unknown_outputs: bool | Sequence[bool] = False
) -> PartialEvalJaxpr:
    """Take a jaxpr apart into what can be computed of its known inputs and the rest.

    Args:
        known: for each input, whether it is known.
        unknown_outputs: outputs to be treated as unknown even where they are not.
    """
    wanted = (unknown_outputs,) * len(closed.out_avals) if isinstance(unknown_outputs, bool) else tuple(unknown_outputs)
    key = ("partial_eval", tuple(known), wanted)
    return _linear_programs.get(closed, key, lambda: _partial_eval_jaxpr(closed, *key[1:]))


def _partial_eval_jaxpr(closed: ClosedJaxpr, known: tuple[bool, ...], wanted: tuple[bool, ...]) -> PartialEvalJaxpr:
    found: list[Any] = []
    unknown_avals = [aval for aval, is_known in zip(closed.in_avals, known, strict=True) if not is_known]
    known_avals = [aval for aval, is_known in zip(closed.in_avals, known, strict=True) if is_known]

    def run(*inputs: Array) -> list[Value]:
        def function(*unknowns: Value) -> list[Value]:
            given, rest = iter(inputs), iter(unknowns)
            return eval_jaxpr(closed.jaxpr, closed.consts, *[next(given if is_known else rest) for is_known in known])

        program, outs = record_unknown(function, unknown_avals)
        out_known = tuple([type(o) is Zero and not w for o, w in zip(program.outputs, wanted, strict=True)])
        moved = [out for out, o, w in zip(outs, program.outputs, wanted, strict=True) if type(o) is Zero and w]
        unknown, residuals = program.to_jaxpr()
        unknown, residuals = _with_outputs(unknown, residuals, program.outputs, moved, wanted)
        positions = {id(value): position for position, value in enumerate(inputs)}
        sources = tuple([positions.get(id(residual)) for residual in residuals])
        found.extend([ClosedJaxpr(unknown), out_known, sources])
        results = [out for out, is_known in zip(outs, out_known, strict=True) if is_known]
        return results + [r for r, source in zip(residuals, sources, strict=True) if source is None]

    first = trace_to_closed_jaxpr(run, known_avals, closed.jaxpr.debug_name)
    unknown, out_known, sources = found
    return PartialEvalJaxpr(first, unknown, out_known, sources)


def _with_outputs(
    jaxpr: Jaxpr,
    residuals: list[Value],
    outputs: Sequence[Value | Zero],
    moved: Sequence[Array],
    wanted: Sequence[bool],
) -> tuple[Jaxpr, list[Value]]:
    """The unknown part with outputs that are known as residuals that it hands on."""
    if not moved:
        return jaxpr, residuals
    variables = {id(value): var for value, var in zip(residuals, jaxpr.invars)}
    new_vars, residuals = [], list(residuals)
    for value in moved:
        if type(value) is not Literal and id(value) not in variables:
            var = variables[id(value)] = Var(value.aval)
            new_vars.append(var)
            residuals.append(value)
    atoms = iter([value if type(value) is Literal else variables[id(value)] for value in moved])
    own = iter(jaxpr.outvars)
    outvars = [
        next(own) if type(out) is not Zero else next(atoms)
        for out, want in zip(outputs, wanted, strict=True)
        if type(out) is not Zero or want
    ]
    count = len(residuals) - len(new_vars)
    invars = [*jaxpr.invars[:count], *new_vars, *jaxpr.invars[count:]]
    return jaxpr.replace(invars=invars, outvars=outvars), residuals


def transpose_jaxpr(
    closed: ClosedJaxpr, linear: Sequence[bool], has_cotangent: Sequence[bool], with_logs: bool = False
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Transpose a jaxpr with respect to its linear inputs.

    Args:
        linear: for each input, whether the jaxpr is linear in it (in all of them jointly).
        has_cotangent: for each output, whether a cotangent is given.
        with_logs: whether the caller hands on what backward rules log: `log_structure` of the program is that of its
            last results, which `logged` takes.

    Returns:
        closed jaxpr, `(other inputs, cotangents given) -> cotangents of linear inputs that are not zero`, and which are
        not.

    Raises NotImplementedError where something is logged, and the caller does not hand it on.
    """
    key = ("transpose", tuple(linear), tuple(has_cotangent), current_typed_axes(), logs_wanted())
    program, nonzero = _linear_programs.get(closed, key, lambda: _transpose_jaxpr(closed, *key[1:3]))
    if not with_logs and log_structure(program) is not None:
        raise NotImplementedError(
            "a backward rule logs something, where it is not handed on: logs come out of nested jit, checkpoint, scan "
            "and vmap, and not of conditionals, shard_map and xmap. Call what vjp returned without with_logs"
        )
    return program, nonzero


def _transpose_jaxpr(
    closed: ClosedJaxpr, linear: tuple[bool, ...], has_cotangent: tuple[bool, ...]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    other_avals = [aval for aval, unknown in zip(closed.in_avals, linear, strict=True) if not unknown]
    linear_avals = [aval for aval, unknown in zip(closed.in_avals, linear, strict=True) if unknown]
    cotangent_avals = [cotangent_aval(aval) for aval, has in zip(closed.out_avals, has_cotangent, strict=True) if has]
    nonzero: list[bool] = []

    def run(*args: Array) -> list[Value]:
        others, given = args[: len(other_avals)], iter(args[len(other_avals) :])

        def function(*unknowns: Value) -> list[Value]:
            known, unknown = iter(others), iter(unknowns)
            inputs = [next(unknown if wanted else known) for wanted in linear]
            return eval_jaxpr(closed.jaxpr, closed.consts, *inputs)

        program = record_linear(function, linear_avals)
        cotangents = [
            next(given) if has else Zero(aval) for aval, has in zip(closed.out_avals, has_cotangent, strict=True)
        ]
        results = program.backward(cotangents)
        nonzero.extend([type(result) is not Zero for result in results])
        return [result for result in results if type(result) is not Zero]

    function = Logged(run)
    name = f"transpose of {closed.jaxpr.debug_name}"
    transposed = trace_to_closed_jaxpr(function, [*other_avals, *cotangent_avals], name)
    return function.logs_of(transposed), tuple(nonzero)


def transpose_by_decomposition(primitive: Primitive) -> TransposeRule:
    """A transpose rule made of a primitive's decomposition, which must be linear in the linear arguments."""

    def rule(cotangents: object, *args: object, **params: object) -> tuple[Value | Zero | None, ...]:
        with DerivedRule(primitive, "transpose"):
            return _transposed_call(primitive, cotangents, args, params)

    return rule


def _transposed_call(
    primitive: Primitive, cotangents: Any, args: tuple[Any, ...], params: Params
) -> tuple[Value | Zero | None, ...]:
    def function(*unknowns: Value) -> tuple[Value, ...]:
        given = iter(unknowns)
        out = decomposed(primitive, [next(given) if is_linear(arg) else arg for arg in args], params)
        return tuple(out) if primitive.multiple_results else (out,)

    program = record_linear(function, [arg.aval for arg in args if is_linear(arg)])
    results = iter(program.backward(cotangents if primitive.multiple_results else (cotangents,)))
    return tuple([instantiate(next(results)) if is_linear(arg) else None for arg in args])
