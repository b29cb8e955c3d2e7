"""What primitives cost: products, convolutions, loops, and what only moves elements. Of the others shapes say it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tangrad._lax.contractions.primitives import dot_general_p, ragged_dot_general_p
from tangrad._lax.control_flow.primitives import cond_p, platform_dependent_p, scan_p
from tangrad._lax.indexing import primitives as indexed
from tangrad._lax.linalg.primitives import cholesky_p, triangular_solve_p
from tangrad._lax.reductions import primitives as reduced
from tangrad._lax.structure import primitives as structured
from tangrad._lax.windows.primitives import conv_general_dilated_p
from tangrad.core import ClosedJaxpr, Primitive, RuleSet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from tangrad._lax.contractions.primitives import DotDimensionNumbers, RaggedDotDimensionNumbers
    from tangrad._lax.windows.dimensions import ConvDimensionNumbers
    from tangrad.core import ShapedArray
    from tangrad.experimental.roofline import RooflineResult, RooflineRuleContext

contractions = RuleSet("roofline", api=1)


@contractions.rule(dot_general_p)
def _(
    ctx: RooflineRuleContext, lhs: ShapedArray, rhs: object, *, dimension_numbers: DotDimensionNumbers, **_: object
) -> RooflineResult:
    """A multiplication and an addition for each element of the result and each of the contracted dimensions."""
    contracted = prod([lhs.shape[axis] for axis in dimension_numbers[0][0]])
    return ctx.cost(2 * ctx.avals_out[0].size * contracted, fuses=False)


@contractions.rule(ragged_dot_general_p)
def _ragged(
    ctx: RooflineRuleContext,
    lhs: ShapedArray,
    rhs: object,
    sizes: ShapedArray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    **_: object,
) -> RooflineResult:
    """Each row meets one group, so it is as one product; where the ragged dimension is contracted, they share it."""
    numbers = ragged_dot_dimension_numbers
    (lhs_contracted, _), _ = numbers.dot_dimension_numbers
    contracted = prod([lhs.shape[axis] for axis in lhs_contracted])
    shared = lhs_contracted and numbers.lhs_ragged_dimensions[0] in lhs_contracted
    elements = ctx.avals_out[0].size // (sizes.shape[-1] if shared else 1)
    return ctx.cost(2 * elements * contracted, fuses=False)


windows = RuleSet("roofline", api=1)


@windows.rule(conv_general_dilated_p)
def _convolved(
    ctx: RooflineRuleContext, lhs: object, rhs: ShapedArray, *, dimension_numbers: ConvDimensionNumbers, **_: object
) -> RooflineResult:
    """A multiplication and an addition for each element of the result and each of the kernel for one output feature."""
    kernel = rhs.size // max(rhs.shape[dimension_numbers.rhs_spec[0]], 1)
    return ctx.cost(2 * ctx.avals_out[0].size * kernel, fuses=False)


linalg = RuleSet("roofline", api=1)


@linalg.rule(cholesky_p)
def _factored(ctx: RooflineRuleContext, x: ShapedArray, **_: object) -> RooflineResult:
    return ctx.cost(x.size * x.shape[-1] // 3, fuses=False)


@linalg.rule(triangular_solve_p)
def _solved(ctx: RooflineRuleContext, a: ShapedArray, b: ShapedArray, **_: object) -> RooflineResult:
    return ctx.cost(b.size * a.shape[-1], fuses=False)


control_flow = RuleSet("roofline", api=1)


@control_flow.rule(scan_p)
def _scanned(ctx: RooflineRuleContext, *avals: object, jaxpr: ClosedJaxpr, length: int, **_: object) -> RooflineResult:
    return length * ctx.program(jaxpr)


@control_flow.rule(cond_p, platform_dependent_p)
def _chosen(ctx: RooflineRuleContext, *avals: object, branches: Sequence[ClosedJaxpr], **_: object) -> RooflineResult:
    """The branch that costs most."""
    costs = [ctx.program(branch) for branch in branches]
    return max(costs, key=lambda cost: (cost.unfused_flops, cost.unfused_hbm_bytes))


def _all_of(module: ModuleType, family: str) -> list[Primitive]:
    return [value for value in vars(module).copy().values() if isinstance(value, Primitive) and value.family == family]


structure = RuleSet("roofline", api=1)
structure.form("movement", *_all_of(structured, "structure"))

indexing = RuleSet("roofline", api=1)
indexing.form("movement", indexed.gather_p)


@indexing.rule(*[primitive for primitive in _all_of(indexed, "indexing") if primitive is not indexed.gather_p])
def _scattered(
    ctx: RooflineRuleContext, operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, **_: object
) -> RooflineResult:
    """An operation for each update, which is read and written in place."""
    moved = updates.size * operand.dtype.itemsize
    return ctx.cost(updates.size, 2 * moved + indices.size * indices.dtype.itemsize, moved)


reductions = RuleSet("roofline", api=1)
reductions.form("of_operands", *_all_of(reduced, "reductions"))
