"""Staging: running a function on tracers that record equations, to get a jaxpr."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from tangrad._core.composition.hooks import HookContext, hooks
from tangrad._core.diagnostics.errors import UnexpectedTracerError
from tangrad._core.diagnostics.source_info import SourceInfo, current_source
from tangrad._core.diagnostics.tracebacks import calls_rules
from tangrad._core.dtypes import objects
from tangrad._core.kernel.array import Array, Literal
from tangrad._core.kernel.aval import ShapedArray, get_aval, is_array_value
from tangrad._core.kernel.backend import as_operand
from tangrad._core.kernel.jaxpr import (
    NO_EFFECTS,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Var,
    closed_over_as_arguments,
    equation_effects,
)
from tangrad._core.kernel.jaxpr_check import check_jaxpr, listed
from tangrad._core.kernel.keys import Params
from tangrad._core.kernel.primitive import Primitive
from tangrad._core.kernel.trace import Trace, Tracer, check_no_leak
from tangrad._core.settings.config import thread


class StagingTracer(Tracer):
    """A value of a program under construction: it has a type and a variable."""

    __slots__ = ("variable",)
    _trace: StagingTrace
    variable: Var  # not `var`: arrays have a method of that name

    def origin(self) -> str:
        return f"a value of the program traced from {self._trace.name}"

    @property
    def source_info(self) -> SourceInfo | None:
        """Where the value was made, for error messages: looked for only then. None for an argument of the program."""
        for eqn in self._trace.eqns:
            if self.variable in eqn.outvars:
                return eqn.source_info
        return None


_new_tracer = _new_var = object.__new__
_BIND = 3  # frames between `current_source` and who bound the primitive: itself, `process_primitive`, `bind`


COMPARED = 1 << 12  # bytes up to which constants are compared


class StagingTrace(Trace):
    """Records each primitive as an equation.

    Attributes:
        name: of the function that is traced, for messages.
        eqns: the equations so far.
        constants: the values from outside that the program reads, by the variables that stand for them.
    """

    __slots__ = ("_by_aval", "_constant_vars", "_originals", "constants", "eqns", "invars", "name", "parent")

    def __init__(self, name: str = "a function") -> None:
        self.alive = self.stages = True
        self.name = name
        self.parent = thread.trace
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.constants: dict[Var, Array] = {}
        self._constant_vars: dict[int, Var] = {}
        self._by_aval: dict[ShapedArray, list[Var]] = {}
        self._originals: list[object] = []

    def new_input(self, aval: ShapedArray) -> StagingTracer:
        """A tracer for one more argument of the program."""
        tracer = self.tracer(aval)
        self.invars.append(tracer.variable)
        return tracer

    def tracer(self, aval: ShapedArray) -> StagingTracer:
        tracer = _new_tracer(StagingTracer)
        tracer._trace = self
        tracer.aval = aval
        tracer.variable = Var(aval)
        return tracer

    def atom(self, value: Any) -> Any:
        """The variable or literal that stands for a value in this program."""
        kind = type(value)
        if kind is StagingTracer and value._trace is self:
            return value.variable
        if kind is Literal:
            return value
        if isinstance(value, Tracer) and not value._trace.alive:
            raise getattr(value, "leak_error", UnexpectedTracerError)(value)
        var = self._constant_vars.get(id(value))
        if var is not None:
            return var
        operand = as_operand(value)
        if operand is not value and isinstance(operand, (Literal, Tracer)):
            return self.atom(operand)
        var = self._equal_constant(operand)
        if var is None:
            var = Var(operand.aval)
            self.constants[var] = operand
            self._by_aval.setdefault(operand.aval, []).append(var)
        self._constant_vars[id(value)] = var
        # The table goes by identity: the original must live as long, or its id could come to mean another value.
        self._originals.append(value)
        return var

    def _equal_constant(self, operand: Array | Literal) -> Var | None:
        """The variable of a constant with the same contents: NumPy's arrays become new ones each time they are read.

        Large ones are distinguished by identity alone: comparing weights of one shape would take longer than it saves.
        """
        if isinstance(operand, Tracer) or type(operand.aval.size) is not int or operand.nbytes > COMPARED:
            return None
        if operand.aval not in self._by_aval or isinstance(operand.aval.dtype, objects.ExtendedDType):
            return None
        contents = operand.to_numpy().tobytes()
        for var in self._by_aval[operand.aval]:
            other = self.constants[var]
            if not isinstance(other, Tracer) and other.to_numpy().tobytes() == contents:
                return var
        return None

    def process_primitive(self, primitive: Any, args: tuple[Any, ...], params: Params) -> Any:
        if not self.alive:
            raise UnexpectedTracerError(args[0] if args else None)
        atoms, types = [], []
        for arg in args:
            if type(arg) is StagingTracer and arg._trace is self:
                atoms.append(arg.variable)
                types.append(arg.aval)
            else:
                atom = self.atom(arg)
                atoms.append(atom)
                types.append(atom.aval)
        avals = tuple(types)
        # A known type and a known source are read directly: each call saved is a twentieth of an equation.
        out = None if params else primitive.memo.get(avals)
        if out is None:
            out = primitive.infer(avals, params)
        # Most primitives have no effects and carry no programs.
        if primitive.effects is None and not primitive.carries_programs:
            effects = NO_EFFECTS
        else:
            effects = equation_effects(primitive, avals, params)
        if primitive.multiple_results:
            outs = tuple([self.tracer(aval) for aval in out])
            outvars = [o.variable for o in outs]
            self.eqns.append(JaxprEqn(primitive, atoms, outvars, params, effects, current_source(_BIND)))
            return outs
        tracer = _new_tracer(StagingTracer)
        tracer._trace = self
        tracer.aval = out
        var = tracer.variable = _new_var(Var)
        var.aval = out
        source = thread.source
        if source is None or source[2] is not thread.name_stack:
            source = current_source(_BIND)
        self.eqns.append(JaxprEqn(primitive, atoms, (var,), params, effects, source))
        return tracer

    def to_jaxpr(self, outputs: Sequence[object], debug_name: str = "") -> tuple[Jaxpr, list[Array]]:
        """The program with these outputs, and the values of its constants (which may be tracers of outer traces)."""
        outvars, consts = [self.atom(out) for out in outputs], self.constants
        return Jaxpr([*consts], self.invars, outvars, self.eqns, debug_name=debug_name), [*consts.values()]


def trace_to_jaxpr(
    function: Callable[..., Sequence[object]], in_avals: Sequence[Any], name: str = "a function"
) -> tuple[Jaxpr, list[Array]]:
    """Run `function`, of flat arguments and results, on tracers, and return its jaxpr and the values of its constants.

    Constants may be tracers of outer traces; a caller that keeps the jaxpr must make arguments of them.
    Raises TypeError for a result that is not an array.
    """
    started = perf_counter()
    trace, previous = StagingTrace(name), thread.trace
    thread.trace = trace  # not by `run_traced`: its frames are passed by each walk to the user's line
    try:
        outputs = function(*[trace.new_input(aval) for aval in in_avals])
        _check_outputs(outputs, name)
        jaxpr, consts = trace.to_jaxpr(outputs, name)
    finally:
        thread.trace, trace.alive = previous, False
    if thread.check_tracer_leaks:
        reference = weakref.ref(trace)
        del trace, outputs
        check_no_leak(reference)
    if thread.check_jaxprs:
        check_jaxpr(jaxpr)
    if hooks.observes("tangrad_traced"):  # observers get no tracers, which they could keep
        has_tracers = any([isinstance(const, Tracer) for const in consts])
        seen = ClosedJaxpr(closed_over_as_arguments(jaxpr)) if has_tracers else ClosedJaxpr(jaxpr, consts)
        hooks.traced(HookContext(name), seen, perf_counter() - started)
    return jaxpr, consts


def _check_outputs(outputs: Sequence[object], name: str) -> None:
    for position, out in enumerate(outputs):
        if not hasattr(type(out), "aval") and not is_array_value(out):  # no call for an array
            raise TypeError(
                f"{name} returned, as output {position}, {out!r} of type {type(out).__name__}; "
                "expected arrays or numbers"
            )


def trace_to_closed_jaxpr(
    function: Callable[..., Sequence[object]], in_avals: Sequence[Any], name: str = "a function"
) -> ClosedJaxpr:
    """As `trace_to_jaxpr`, as a closed jaxpr."""
    return ClosedJaxpr(*trace_to_jaxpr(function, in_avals, name))


def decomposition_jaxpr(primitive: Primitive, in_avals: Sequence[ShapedArray], params: Params) -> ClosedJaxpr:
    """The decomposition of a primitive as a jaxpr, for lowering and for rules that work on jaxprs.

    Raises TypeError for one whose results are not of the types that the primitive's own inference gives.
    """

    def run(*args: object) -> Sequence[object]:
        out = decomposed(primitive, args, params)
        return tuple(out) if primitive.multiple_results else (out,)

    return trace_to_closed_jaxpr(run, in_avals, primitive.identity)


@calls_rules("decompose")
def decomposed(primitive: Any, args: Sequence[object], params: Params) -> Any:
    """What the decomposition of a primitive makes of operands.

    Raises TypeError for one whose results are not of the types that the primitive's own inference gives.
    """
    out = primitive.decompose(*args, **params)
    outs = out if primitive.multiple_results else (out,)
    _check_decomposition(primitive, [get_aval(arg) for arg in args], params, outs)
    return out


@calls_rules("decompose")
def _check_decomposition(
    primitive: Primitive, in_avals: Sequence[ShapedArray], params: dict[str, object], results: Any
) -> None:
    """Raise TypeError where the results of a decomposition are not of the types that the primitive infers."""
    try:
        found = [get_aval(result) for result in results]
    except TypeError as error:
        what = "a tuple of arrays" if primitive.multiple_results else "an array"
        returned = results if primitive.multiple_results else results[0]
        raise TypeError(
            f"the decomposition of primitive {primitive.identity!r} must return {what}, got {returned!r}"
        ) from error
    inferred = primitive.infer(tuple(in_avals), params)
    expected = list(inferred) if primitive.multiple_results else [inferred]
    if [_kind(aval) for aval in found] != [_kind(aval) for aval in expected]:
        raise TypeError(
            f"the decomposition of primitive {primitive.identity!r} gives {listed(found)} for operands "
            f"{listed(in_avals)}, but its abstract evaluation gives {listed(expected)}"
        )


def _kind(aval: ShapedArray) -> tuple[object, object]:
    return aval.shape, getattr(aval, "dtype", None)
