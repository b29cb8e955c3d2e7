"""How linear calls are differentiated, transposed and mapped, and how composites are mapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._custom_rules.composites import composite_p
from tangrad._custom_rules.linear import Later, linear_call_p, made
from tangrad.autodiff import Zero, add_tangents, instantiate, jvp_flat, symbolic_zeros
from tangrad.batching import batch_jaxpr, place_axis, to_front
from tangrad.core import ClosedJaxpr, RuleSet, eval_jaxpr

if TYPE_CHECKING:
    from tangrad.autodiff import Linear
    from tangrad.batching import AxisInfo
    from tangrad.core import Array
    from tangrad.typing import Dims, Value, Values

batch = RuleSet("batch", api=1)


@batch.rule(composite_p)
def _composite(
    args: tuple[Array, ...], dims: Dims, *, axis_info: AxisInfo, jaxpr: ClosedJaxpr, **params: object
) -> tuple[tuple[Array, ...], tuple[int | None, ...]]:
    program, out_mapped = batch_jaxpr(jaxpr, tuple([dim is not None for dim in dims]), axis_info)
    operands = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
    outs = composite_p.bind(*operands, jaxpr=program, **params)
    return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])


jvp = RuleSet("jvp", api=1)
transpose = RuleSet("transpose", api=1)


@jvp.rule(linear_call_p)
@symbolic_zeros
def _(
    primals: tuple[Value, ...],
    tangents: tuple[Value | Zero, ...],
    *,
    jaxpr: ClosedJaxpr,
    transposed: object,
    num_res: int,
) -> tuple[Values, tuple[Value | Zero, ...]]:
    params = {"jaxpr": jaxpr, "transposed": transposed, "num_res": num_res}
    outs = linear_call_p.bind(*primals, **params)
    residuals, linear = primals[:num_res], primals[num_res:]
    totals: list[Value | Zero] = [Zero.of(out) for out in outs]
    if any([type(tangent) is not Zero for tangent in tangents[num_res:]]):
        given = [instantiate(tangent) for tangent in tangents[num_res:]]
        totals = list(linear_call_p.bind(*residuals, *given, **params))
    if any([type(tangent) is not Zero for tangent in tangents[:num_res]]):
        run = lambda *values: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *values, *linear)
        _, more = jvp_flat(run, residuals, tangents[:num_res])
        totals = [add_tangents(one, other) for one, other in zip(totals, more, strict=True)]
    return outs, tuple(totals)


@transpose.rule(linear_call_p)
def _transpose(
    cotangents: Values, *args: Value | Linear, jaxpr: ClosedJaxpr, transposed: object, num_res: int
) -> tuple[Value | None, ...]:
    found = linear_call_p.bind(*args[:num_res], *cotangents, jaxpr=made(transposed), transposed=jaxpr, num_res=num_res)
    return (*[None] * num_res, *found)


@batch.rule(linear_call_p)
def _batch(
    args: Values, dims: Dims, *, axis_info: AxisInfo, jaxpr: ClosedJaxpr, transposed: object, num_res: int
) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    residuals = [to_front(arg, dim) for arg, dim in zip(args[:num_res], dims[:num_res], strict=True)]
    linear = [place_axis(arg, dim, 0, axis_info.size) for arg, dim in zip(args[num_res:], dims[num_res:], strict=True)]
    mapped = [dim is not None for dim in dims[:num_res]]
    forward, _ = batch_jaxpr(jaxpr, [*mapped, *[True] * len(linear)], axis_info, instantiate=True)
    given = [*mapped, *[True] * len(jaxpr.out_avals)]
    batched = lambda: batch_jaxpr(made(transposed), given, axis_info, instantiate=True)[0]
    backward = Later(batched) if type(transposed) is Later else batched()
    outs = linear_call_p.bind(*residuals, *linear, jaxpr=forward, transposed=backward, num_res=num_res)
    return outs, (0,) * len(outs)
