"""What collectives cost: the bytes that each device sends along the axes of a mesh, by the types of its part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._collectives.axes import names_among
from tangrad._collectives.primitives import (
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    pbroadcast_p,
    pinvary_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_back_p,
    psum_p,
    psum_to_p,
    pvary_p,
    reduce_scatter_p,
)
from tangrad.core import RuleSet

if TYPE_CHECKING:
    from tangrad._collectives.axes import Axes
    from tangrad.core import ShapedArray
    from tangrad.experimental.roofline import RooflineRuleContext

roofline = RuleSet("roofline", api=1)
roofline.form("nothing", axis_index_p, pinvary_p, pvary_p, psum_back_p, psum_to_p)


def _sent(ctx: RooflineRuleContext, axes: Axes, count: int, flops: int) -> object:
    return ctx.cost(flops, fuses=False, sent=dict.fromkeys(names_among(axes), count))


@roofline.rule(psum_p, pmax_p, pmin_p)
def _(ctx: RooflineRuleContext, x: ShapedArray, *, axes: Axes, **_: object) -> object:
    return _sent(ctx, axes, x.size * x.dtype.itemsize, x.size)


@roofline.rule(all_gather_p)
def _gathered(ctx: RooflineRuleContext, x: ShapedArray, *, axis_name: Axes, **_: object) -> object:
    (out,) = ctx.avals_out
    return _sent(ctx, axis_name, out.size * out.dtype.itemsize, 0)


@roofline.rule(all_to_all_p, pbroadcast_p, ppermute_p)
def _exchanged(ctx: RooflineRuleContext, x: ShapedArray, *, axis_name: Axes, **_: object) -> object:
    return _sent(ctx, axis_name, x.size * x.dtype.itemsize, 0)


@roofline.rule(reduce_scatter_p)
def _scattered(ctx: RooflineRuleContext, x: ShapedArray, *, axis_name: Axes, **_: object) -> object:
    return _sent(ctx, axis_name, x.size * x.dtype.itemsize, x.size)
