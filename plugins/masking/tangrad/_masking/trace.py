"""The trace of masked functions, and the rule kind that it works by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._masking.sizes import FORMS, Sizes
from tangrad.core import (
    Array,
    ClosedJaxpr,
    DerivedRule,
    Primitive,
    RuleKind,
    RuleTrace,
    RuleTracer,
    ShapedArray,
    Trace,
    Tracer,
    as_operand,
    calls_rules,
    closed_over_as_arguments,
    decomposed,
    eval_jaxpr,
    rule_table,
    run_traced,
    trace_to_jaxpr,
)
from tangrad.core.arguments import is_symbolic
from tangrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from tangrad.typing import Params, Value, Values


# ----------------------------------------------------------------------------------------------------------------------
# The trace of masked functions: its values are padded arrays, whose types have the symbolic sizes that count.


MASK = rule_table("mask")
Shape = tuple[Any, ...]


class MaskTracer(RuleTracer):
    """A padded value of the parent trace; the tracer's type has the logical shape, and is its extra."""

    __slots__ = ()

    def __init__(self, trace: MaskTrace, value: Value, aval: ShapedArray) -> None:
        self._trace = trace
        self.value = value
        self.aval = self.extra = aval

    def known(self) -> dict[str, object]:
        return {"value": self.value}

    def origin(self) -> str:
        return f"a padded value of logical shape {self.aval.shape}, of mask"


class MaskTrace(RuleTrace, kind="mask", own=MaskTracer):
    """Applies mask rules where an operand is padded, or where a parameter is a size that is no number yet."""

    __slots__ = ("sizes",)
    absent = staticmethod(lambda value: as_operand(value).aval)

    def __init__(self, parent: Trace, sizes: Sizes) -> None:
        super().__init__(parent)
        self.sizes = sizes

    def tracer(self, value: Value, extra: Any = ()) -> Value:
        """The padded value of logical shape `extra` as the function sees it; itself if all of it counts."""
        if not any([is_symbolic(size) for size in extra]):
            return value
        aval = value.aval
        return MaskTracer(self, value, ShapedArray(extra, aval.dtype, aval.weak_type, aval.named_shape))

    def split(self, value: Value) -> tuple[Value, Shape]:
        """A padded value of the parent, and its logical shape."""
        if type(value) is MaskTracer and value._trace is self:
            return value.value, value.aval.shape
        operand = self._of_parent(value)
        return operand, operand.aval.shape

    def _of_parent(self, value: Value) -> Value:
        """A value of a trace around this one; UnexpectedTracerError for any other."""
        if isinstance(value, Tracer) and (not value._trace.alive or self._is_beside(value)):
            raise UnexpectedTracerError(value)
        return as_operand(value)

    def _is_beside(self, value: Value) -> bool:
        """Whether a value is of a masked function that this one is no part of: a function has closed over it."""
        trace: object = self.parent
        while type(value) is MaskTracer and trace is not None:
            if trace is value._trace:
                return False
            trace = getattr(trace, "parent", None)
        return type(value) is MaskTracer

    def applies(self, primitive: Primitive, args: Values, params: Params) -> bool:
        """Whether a parameter is a size that is no number yet."""
        return _has_sizes(params)

    def apply(
        self, primitive: Primitive, values: list[Value], extras: Sequence[ShapedArray], params: Params
    ) -> Value | Values:
        inferred = primitive.infer(tuple(extras), params)
        padded = tuple([self._of_parent(value) for value in values])
        found = MASK[primitive](padded, tuple([aval.shape for aval in extras]), sizes=self.sizes, **params)
        outs = found if primitive.multiple_results else (found,)
        avals = inferred if primitive.multiple_results else (inferred,)
        self._check(primitive, outs, avals)
        tracers = [self.tracer(out, aval.shape) for out, aval in zip(outs, avals, strict=True)]
        return tuple(tracers) if primitive.multiple_results else tracers[0]

    @calls_rules("mask")
    def _check(self, primitive: Primitive, outs: Sequence[Value], avals: Sequence[ShapedArray]) -> None:
        """Check that the rule returned what its primitive should, padded."""
        for out, aval in zip(outs, avals, strict=True):
            expected = self.sizes.padded(aval.shape)
            if out.aval.shape != expected:
                raise TypeError(
                    f"the mask rule of {primitive.identity!r} returned {out.aval.str_short()} for a result of type "
                    f"{aval.str_short()}, expected shape {expected}"
                )


def _has_sizes(value: object) -> bool:
    """Whether there is a symbolic size among parameters, or in a type of a program among them."""
    if isinstance(value, dict):
        return any([_has_sizes(item) for item in value.values()])
    if isinstance(value, tuple):
        return any([_has_sizes(item) for item in value])
    if isinstance(value, ClosedJaxpr):
        return any([_has_sizes(eqn.params) for eqn in value.eqns])
    return is_symbolic(value)


def masked_flat(
    function: Callable[..., Sequence[Value]], values: Sequence[Value], shapes: Sequence[Shape], sizes: Sizes
) -> tuple[list[Value], list[Shape]]:
    """Run a function of flat values on padded ones. Returns its padded results and their logical shapes.

    Args:
        function: what is to be masked; it sees arrays of the logical shapes.
        values: padded arrays, of the current trace.
        shapes: their logical shapes.
        sizes: the padded and the logical sizes of the variables in them.
    """

    def run(trace: MaskTrace) -> list[tuple[Value, Shape]]:
        args = [trace.tracer(value, shape) for value, shape in zip(values, shapes, strict=True)]
        return [trace.split(out) for out in function(*args)]

    outs = run_traced(run, MaskTrace, sizes)
    return [value for value, _ in outs], [shape for _, shape in outs]


def mask_jaxpr(
    closed: ClosedJaxpr, shapes: Sequence[Shape], avals: Sequence[ShapedArray], sizes: Sizes
) -> tuple[ClosedJaxpr, list[Value], list[Shape]]:
    """A program over padded operands.

    Args:
        closed: a program whose types have symbolic sizes.
        shapes: the logical shapes of its operands.
        avals: the types of the padded operands.
        sizes: the sizes; those that are traced become operands.

    Returns:
        the program, whose first operands are those; their values; and the logical shapes of its results.
    """
    found: list[Shape] = []

    def run(*values: Array) -> list[Value]:
        outs, out_shapes = masked_flat(
            lambda *args: eval_jaxpr(closed.jaxpr, closed.consts, *args), values, shapes, sizes
        )
        found[:] = out_shapes
        return outs

    jaxpr, consts = trace_to_jaxpr(run, avals, closed.jaxpr.debug_name or "a masked program")
    return ClosedJaxpr(closed_over_as_arguments(jaxpr)), list(consts), found


def mask_by_decomposition(primitive: Primitive) -> Callable[..., Value | Values]:
    """A mask rule made of a primitive's decomposition."""

    def rule(args: Sequence[Value], shapes: Sequence[Shape], *, sizes: Sizes, **params: object) -> Value | Values:
        def run(*values: object) -> Values:
            out = decomposed(primitive, values, params)
            return tuple(out) if primitive.multiple_results else (out,)

        with DerivedRule(primitive, "mask"):
            outs, _ = masked_flat(run, args, shapes, sizes)
        return tuple(outs) if primitive.multiple_results else outs[0]

    return rule


def mask_call(primitive: Primitive) -> Callable[..., Value | Values]:
    """The rule of a call of the program `jaxpr`: its steps, here."""

    def rule(
        args: Sequence[Value], shapes: Sequence[Shape], *, sizes: Sizes, jaxpr: ClosedJaxpr, **params: object
    ) -> Values:
        outs, _ = masked_flat(lambda *values: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *values), args, shapes, sizes)
        return tuple(outs)

    return rule


# --- The rule kind that masking owns ----------------------------------------------------------------------------------


mask = RuleKind(
    "mask",
    api=1,
    signature="(args, shapes, *, sizes, **params) -> results",
    doc="a primitive applied to padded arrays, of which a part counts",
    derive=mask_by_decomposition,
    forms={**FORMS, "call": mask_call},
)
