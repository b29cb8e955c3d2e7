"""Maxima and minima: of elements, and as bodies of reductions; of complex numbers, and with NaN on CPUs.

On CPUs XLA leaves reductions to a library (YNNPACK, jaxlib 0.10 and 0.12), and maxima of elements with the sums that
read them: its `maximum` and `minimum` drop NaN, as XLA's own do not. `clamp` between an operand and an infinity is the
same to XLA, which does not hand it on. A reduction over several devices must be by `maximum`, or XLA does not know how
to combine what devices have: NaN are found there by sums beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangrad._backend_xla.helpers import compare, full, scalar, select
from tangrad.core import ClosedJaxpr, Primitive, ShapedArray, dtypes, trace_to_closed_jaxpr
from tangrad.extend.lax import greatest, least, max_p, min_p

if TYPE_CHECKING:
    from tangrad._backend_xla.helpers import Rule
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import DType, Value


class Extremum(NamedTuple):
    """The operation, the comparison by which the first of two is taken, and what is beyond every number."""

    name: str
    direction: str
    beyond: Callable[[np.dtype], Any]

    def of(self, ctx: FunctionContext, x: IrValue, y: IrValue, aval: ShapedArray) -> IrValue:
        """The greater, or smaller, of each two elements of two values of type `aval`."""
        # Numbers that stand alone are those that a reduction combines.
        is_over_devices = ctx.module.meshes is not None and not aval.shape
        if is_over_devices or not loses_nan(ctx, aval):
            return self.plain(ctx, x, y, aval)
        bound = scalar(ctx, self.beyond(aval.dtype), aval.dtype)
        operands = (y, x, bound) if self is MAXIMUM else (bound, x, y)
        return ctx.op("stablehlo.clamp", ctx.types[aval], operands)

    def plain(self, ctx: FunctionContext, x: IrValue, y: IrValue, aval: ShapedArray) -> IrValue:
        """The same by XLA's own operation, which may lose NaN; complex numbers by their real parts first."""
        if dtypes.issubdtype(aval.dtype, np.complexfloating):
            return self._of_complex(ctx, x, y, aval)
        return ctx.op(self.name, ctx.types[aval], (x, y))

    def combine(self, ctx: FunctionContext, x: IrValue, y: IrValue, dtype: DType) -> Sequence[IrValue]:
        """The body of a reduction."""
        return (self.of(ctx, x, y, ShapedArray((), dtype)),)

    def _of_complex(self, ctx: FunctionContext, x: IrValue, y: IrValue, aval: ShapedArray) -> IrValue:
        part = aval.update(dtype=dtypes.to_floating_dtype(aval.dtype))
        kind, truth = ctx.types[part], aval.update(dtype=dtypes.as_dtype(bool))
        (x_real, x_imag), (y_real, y_imag) = [
            [ctx.op(name, kind, (z,)) for name in ("stablehlo.real", "stablehlo.imag")] for z in (x, y)
        ]
        tied = compare(ctx, "EQ", x_real, y_real, part)
        by_imag = compare(ctx, self.direction, x_imag, y_imag, part)
        by_real = compare(ctx, self.direction, x_real, y_real, part)
        return select(ctx, select(ctx, tied, by_imag, by_real, truth), x, y, aval)


MAXIMUM = Extremum("stablehlo.maximum", "GT", greatest)
MINIMUM = Extremum("stablehlo.minimum", "LT", least)


def loses_nan(ctx: FunctionContext, aval: ShapedArray) -> bool:
    """Return whether XLA's own extrema of such elements lose NaN."""
    return "cpu" in ctx.module.platforms and dtypes.issubdtype(aval.dtype, np.floating)


def keeping_nan(rule: Rule, total: Rule, *, always: bool = False) -> Rule:
    """A rule of extrema by `maximum` or `minimum`, NaN where some are, which `total` finds: the rule of the same sums.

    In programs for one device the first rule keeps them by itself, and `total` is not asked, unless `always`.
    """

    def kept(ctx: FunctionContext, *operands: IrValue, **params: Any) -> IrValue:
        found, out = rule(ctx, *operands, **params), ctx.out_aval
        if not (loses_nan(ctx, out) and (always or ctx.module.meshes is not None)):
            return found
        sums = total(ctx, *[_nan_of(ctx, x, aval) for x, aval in zip(operands, ctx.in_avals)], **params)
        return select(ctx, compare(ctx, "NE", sums, sums, out), sums, found, out)

    return kept


def _nan_of(ctx: FunctionContext, x: IrValue, aval: ShapedArray) -> IrValue:
    """Of floats the NaN, among zeros; others, such as indices, as they are."""
    if not dtypes.issubdtype(aval.dtype, np.floating):
        return x
    return select(ctx, compare(ctx, "NE", x, x, aval), x, full(ctx, 0, aval), aval)


def by_name(
    ctx: FunctionContext,
    values: Sequence[IrValue],
    closed: ClosedJaxpr,
    reductions: Mapping[Primitive, Primitive],
    **params: Any,
) -> tuple[IrValue, ...] | None:
    """A reduction by the program `closed` as one by the primitive for its extremum, where NaN would be lost; else None.

    `values` are the operand and the number to begin with; `reductions`: `max` or `min` -> the primitive.
    """
    extremum = _extremum_of(closed)
    if extremum is None or ctx.module.meshes is None or not loses_nan(ctx, ctx.out_avals[0]):
        return None

    def program(x: Value, start: Value) -> Sequence[Value]:
        return (extremum.bind(reductions[extremum].bind(x, **params), start),)

    avals = [aval.strip_weak_type() for aval in ctx.in_avals]
    return tuple(ctx.inline(trace_to_closed_jaxpr(program, avals, extremum.name), values))


def _extremum_of(closed: ClosedJaxpr) -> Primitive | None:
    """`max` or `min` where a program of two numbers is just that, else None."""
    body = closed.jaxpr
    if len(body.invars) != 2 or len(body.eqns) != 1 or body.eqns[0].primitive not in (max_p, min_p):
        return None
    (x, y), (equation,) = body.invars, body.eqns
    is_of_both = list(equation.invars) in ([x, y], [y, x]) and list(body.outvars) == list(equation.outvars)
    return equation.primitive if is_of_both else None
