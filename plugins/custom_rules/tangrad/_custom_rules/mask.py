"""How calls with rules of their own act on padded arrays: the function is masked, and so are its rules."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.primitives import axes_of, custom_jvp_call_p, custom_lin_p, custom_vjp_call_p, run
from tangrad.autodiff import Logged, Zero
from tangrad.core import ClosedJaxpr, RuleSet, current_trace
from tangrad.extend.masking import Sizes, mask_jaxpr, masked_flat

if TYPE_CHECKING:
    from tangrad._custom_rules.calls import FlatCall
    from tangrad._custom_rules.primitives import Axes, BwdFunction, FwdFunction, JVPFunction, Tangents
    from tangrad.core import Array, Trace
    from tangrad.typing import Value, Values

mask = RuleSet("mask", api=1)

Shapes = Sequence[Any]


class _Masked:
    """A function or a rule, of padded arrays of these logical shapes.

    Attributes:
        trace: a weak reference to the trace of the call, whose values the sizes may be.
    """

    __slots__ = ("function", "shapes", "sizes", "trace")
    function: object
    holds_program = True

    def __init__(self, function: object, shapes: Shapes, sizes: Sizes, trace: weakref.ref[Trace]) -> None:
        self.function = function
        self.shapes = tuple(shapes)
        self.sizes = sizes
        self.trace = trace

    def __repr__(self) -> str:
        return repr(self.function)

    @property
    def axes(self) -> Axes:
        """The mapped axes that the function may use."""
        return axes_of(self.function)

    def masked(
        self, function: Callable[..., Sequence[Value]], values: Sequence[Value], shapes: Shapes
    ) -> tuple[list[Value], Shapes]:
        """Run a function of flat values; what does not count in its results is 0."""
        outs, out_shapes = masked_flat(function, values, shapes, self.sizes)
        return [self.sizes.fill(out, shape, 0) for out, shape in zip(outs, out_shapes, strict=True)], out_shapes

    def zero(self, zero: Zero, shape: object) -> Zero:
        """A symbolic zero of a padded array as the function or the rule sees it."""
        return Zero(zero.aval.update(shape=shape))

    def filled(self, tangents: Tangents, shapes: Sequence[object], given: Sequence[Value]) -> list[Value | Zero]:
        """Tangents as the function or the rule sees them: zeros stay symbolic, the others are `given` in order."""
        rest = iter(given)
        return [
            self.zero(tangent, shape) if type(tangent) is Zero else next(rest)
            for tangent, shape in zip(tangents, shapes, strict=True)
        ]

    def padded(self, zero: Zero) -> Zero:
        """The other way round."""
        return Zero(zero.aval.update(shape=self.sizes.padded(zero.aval.shape)))


class _MaskedFunction(_Masked):
    __slots__ = ()

    def __call__(self, *values: Value) -> list[Value]:
        return self.masked(lambda *args: run(self.function, args), values, self.shapes)[0]


class _MaskedJVP(_Masked):
    __slots__ = ()
    function: JVPFunction

    def __call__(self, primals: Sequence[Value], tangents: Tangents) -> tuple[list[Value], list[Value | Zero]]:
        count = len(primals)
        found: list[Value | Zero] = []
        nonzero = [type(tangent) is not Zero for tangent in tangents]

        def call(*values: Value) -> list[Value]:
            outs, out_tangents = self.function(values[:count], self.filled(tangents, self.shapes, values[count:]))
            found.extend(out_tangents)
            return [*outs, *[tangent for tangent in out_tangents if type(tangent) is not Zero]]

        shapes = [*self.shapes, *[shape for shape, has in zip(self.shapes, nonzero, strict=True) if has]]
        values = [*primals, *[tangent for tangent in tangents if type(tangent) is not Zero]]
        results, _ = self.masked(call, values, shapes)
        rest = iter(results[len(found) :])
        return results[: len(found)], [self.padded(one) if type(one) is Zero else next(rest) for one in found]


class _MaskedFwd(_Masked):
    __slots__ = ()
    function: FwdFunction

    def __call__(self, primals: Sequence[Value], active: Sequence[bool]) -> tuple[list[Value], list[Value], _MaskedBwd]:
        found: list[Any] = []

        def call(*values: Value) -> list[Value]:
            outs, residuals, bwd = self.function(values, active)
            found.extend([len(outs), bwd])
            return [*outs, *residuals]

        values, shapes = self.masked(call, primals, self.shapes)
        count, bwd = found
        masked = _MaskedBwd(bwd, shapes[count:], self.sizes, self.trace, shapes[:count])
        return values[:count], values[count:], masked


class _MaskedBwd(_Masked):
    """`shapes` are those of the residuals, `out_shapes` those of the cotangents that it is given."""

    __slots__ = ("out_shapes",)
    function: BwdFunction

    def __init__(
        self, function: object, shapes: Shapes, sizes: Sizes, trace: weakref.ref[Trace], out_shapes: Shapes
    ) -> None:
        super().__init__(function, shapes, sizes, trace)
        self.out_shapes = out_shapes

    def __call__(self, residuals: Sequence[Value], cotangents: Tangents) -> list[Value | Zero]:
        count = len(residuals)
        found: list[Value | Zero] = []
        nonzero = [type(cotangent) is not Zero for cotangent in cotangents]

        def call(*values: Value) -> list[Value]:
            found.extend(self.function(values[:count], self.filled(cotangents, self.out_shapes, values[count:])))
            return [value for value in found if type(value) is not Zero]

        shapes = [*self.shapes, *[shape for shape, has in zip(self.out_shapes, nonzero, strict=True) if has]]
        # A cotangent is the derivative by what counts: what is given for the rest adds to nothing.
        values = [
            *residuals,
            *[
                self.sizes.fill(cotangent, shape, 0)
                for cotangent, shape in zip(cotangents, self.out_shapes, strict=True)
                if type(cotangent) is not Zero
            ],
        ]
        rule = Logged(call)
        rest = iter(self.masked(rule, values, shapes)[0])
        if rule.structure is not None:
            raise NotImplementedError("a backward rule logs something under mask, where sizes are logical ones")
        return [self.padded(one) if type(one) is Zero else next(rest) for one in found]


def _program(
    jaxpr: FlatCall, args: Values, shapes: Shapes, sizes: Sizes, trace: weakref.ref[Trace]
) -> tuple[ClosedJaxpr | _MaskedFunction, list[Value]]:
    """The masked function in the form that it has, and the operands that it takes before the others."""
    if type(jaxpr) is not ClosedJaxpr:
        return _MaskedFunction(jaxpr, shapes, sizes, trace), []
    program, consts, _ = mask_jaxpr(jaxpr, shapes, [arg.aval for arg in args], sizes)
    return program, consts


@mask.rule(custom_jvp_call_p)
def _(
    args: tuple[Value, ...], shapes: Shapes, *, sizes: Sizes, jaxpr: FlatCall, rule: object, num_consts: int, name: str
) -> tuple[Array, ...]:
    trace = weakref.ref(current_trace())
    program, consts = _program(jaxpr, args, shapes, sizes, trace)
    masked = _MaskedJVP(rule, shapes[num_consts:], sizes, trace)
    count = len(consts) + num_consts
    return custom_jvp_call_p.bind(*consts, *args, jaxpr=program, rule=masked, num_consts=count, name=name)


@mask.rule(custom_vjp_call_p)
def _(
    args: tuple[Value, ...], shapes: Shapes, *, sizes: Sizes, jaxpr: FlatCall, fwd: object, num_consts: int, name: str
) -> tuple[Array, ...]:
    trace = weakref.ref(current_trace())
    program, consts = _program(jaxpr, args, shapes, sizes, trace)
    masked = _MaskedFwd(fwd, shapes[num_consts:], sizes, trace)
    count = len(consts) + num_consts
    return custom_vjp_call_p.bind(*consts, *args, jaxpr=program, fwd=masked, num_consts=count, name=name)


mask.not_applicable("the derivative of a masked function is taken outside of mask, or within it", custom_lin_p)
