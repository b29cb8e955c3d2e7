"""How collectives become StableHLO: between the devices that a sharded map is over, in groups of partitions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_xla.extrema import MAXIMUM, MINIMUM, keeping_nan
from tangrad._backend_xla.helpers import Body, fill_body, index_of_partition, reduce, reshape, same_type
from tangrad._backend_xla.manual import ManualAxes, MappedAxes
from tangrad.core import RuleSet, ShapedArray, decomposition_jaxpr
from tangrad.extend import collectives as p
from tangrad.extend.collectives import as_tuple, names_among, positions_among, refuse_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangrad._backend_xla.helpers import Rule
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrAttribute, IrType, IrValue
    from tangrad.typing import DType


lower = RuleSet("lower.xla", api=1)


def _alone(ctx: FunctionContext, operands: Sequence[IrValue]) -> IrValue:
    """A collective whose names are all gone, or whose axes have one device each."""
    primitive, params = ctx.eqn.primitive, ctx.eqn.params
    return ctx.inline(decomposition_jaxpr(primitive, ctx.in_avals, params), operands)[0]


def _manual(ctx: FunctionContext, names: Iterable[Hashable]) -> MappedAxes:
    """The mapped axes around the operation. Raises NameError where a name is none of them."""
    manual = ctx.module.manual
    for name in names:
        if manual is None or name not in manual.names:
            refuse_names(ctx.eqn.primitive.name, (name,))
    assert manual is not None  # names are never empty
    return manual


def _attributes(ctx: FunctionContext, groups: np.ndarray, by_global_ids: bool = False) -> dict[str, IrAttribute]:
    """Who takes part; `by_global_ids`: for operations with an attribute that groups of partitions are meant."""
    found = {"replica_groups": ctx.vocabulary.elements(groups)}
    if ctx.module.manual is not None and ctx.module.manual.has_channels:
        found["channel_handle"] = ctx.vocabulary.parsed(
            f"#stablehlo.channel_handle<handle = {ctx.module.next_channel()}, type = 1>"
        )
        if by_global_ids:
            found["use_global_device_ids"] = ctx.vocabulary.unit
    return found


# --- reductions -----------------------------------------------------------------------------------------------------


def _sum(ctx: FunctionContext, x: IrValue, y: IrValue, aval: ShapedArray) -> IrValue:
    return same_type(ctx, "stablehlo.add", x, y)


def _body(combine: Callable[..., IrValue], dtype: DType) -> Body:
    aval = ShapedArray((), dtype)
    return lambda ctx, x, y: (combine(ctx, x, y, aval),)


def _reduction(combine: Callable[..., IrValue], start: Callable[..., object]) -> Rule:
    def rule(
        ctx: FunctionContext,
        x: IrValue,
        *,
        axes: tuple[int, ...],
        axis_index_groups: tuple[tuple[int, ...], ...] | None,
    ) -> IrValue:
        names, positions = names_among(axes), positions_among(axes)
        if not names:
            return _alone(ctx, (x,))
        manual = _manual(ctx, names)
        body, out = _body(combine, ctx.out_aval.dtype), ctx.out_aval
        if positions:
            first = ctx.constant(np.asarray(start(out.dtype), out.dtype))
            (x,) = reduce(ctx, body, [x], [first], tuple(sorted(positions)), [out])
        attributes = _attributes(ctx, manual.groups(names, axis_index_groups), by_global_ids=True)
        operation = ctx.ops("stablehlo.all_reduce", [ctx.out_type], (x,), attributes, regions=1)
        fill_body(ctx, operation, body, [out.dtype])
        return operation.results[0]

    return rule


def _zero(dtype: np.dtype) -> int:
    return 0


def _lowest(dtype: np.dtype) -> float:
    if dtype == np.bool_:
        return False
    return -np.inf if np.issubdtype(dtype, np.inexact) else np.iinfo(dtype).min


def _highest(dtype: np.dtype) -> object:
    if dtype == np.bool_:
        return True
    return np.inf if np.issubdtype(dtype, np.inexact) else np.iinfo(dtype).max


_sums = _reduction(_sum, _zero)
lower.table(
    {
        p.psum_p: _sums,
        p.pmax_p: keeping_nan(_reduction(MAXIMUM.plain, _lowest), _sums, always=True),
        p.pmin_p: keeping_nan(_reduction(MINIMUM.plain, _highest), _sums, always=True),
    }
)


# --- gathering, scattering, exchanging ------------------------------------------------------------------------------


@lower.rule(p.all_gather_p)
def _all_gather(
    ctx: FunctionContext,
    x: IrValue,
    *,
    axis_name: Hashable,
    all_gather_dimension: int,
    axis_index_groups: tuple[tuple[int, ...], ...] | None,
    axis_size: int,
    tiled: bool,
) -> IrValue:
    names = as_tuple(axis_name)
    if not names:
        return _alone(ctx, (x,))
    (aval,) = ctx.in_avals
    dimension = all_gather_dimension
    if not tiled:
        x = reshape(ctx, x, aval.update(shape=(*aval.shape[:dimension], 1, *aval.shape[dimension:])))
    return _gathered(ctx, x, dimension, _manual(ctx, names).groups(names, axis_index_groups), ctx.out_type)


def _gathered(ctx: FunctionContext, x: IrValue, dimension: int, groups: np.ndarray, out_type: IrType) -> IrValue:
    attributes = _attributes(ctx, groups, by_global_ids=True)
    attributes["all_gather_dim"] = ctx.vocabulary.integer(dimension)
    return ctx.op("stablehlo.all_gather", out_type, (x,), attributes)


@lower.rule(p.reduce_scatter_p)
def _reduce_scatter(
    ctx: FunctionContext,
    x: IrValue,
    *,
    axis_name: Hashable,
    scatter_dimension: int,
    axis_index_groups: tuple[tuple[int, ...], ...] | None,
    axis_size: int,
    tiled: bool,
) -> IrValue:
    names = as_tuple(axis_name)
    if not names:
        return _alone(ctx, (x,))
    out, dimension = ctx.out_aval, scatter_dimension
    aval = out if tiled else out.update(shape=(*out.shape[:dimension], 1, *out.shape[dimension:]))
    attributes = _attributes(ctx, _manual(ctx, names).groups(names, axis_index_groups), by_global_ids=True)
    attributes["scatter_dimension"] = ctx.vocabulary.integer(dimension)
    operation = ctx.ops("stablehlo.reduce_scatter", [ctx.types[aval]], (x,), attributes, regions=1)
    fill_body(ctx, operation, _body(_sum, out.dtype), [out.dtype])
    return operation.results[0] if tiled else reshape(ctx, operation.results[0], out)


@lower.rule(p.all_to_all_p)
def _all_to_all(
    ctx: FunctionContext,
    x: IrValue,
    *,
    axis_name: Hashable,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: tuple[tuple[int, ...], ...] | None,
    axis_size: int,
) -> IrValue:
    names = as_tuple(axis_name)
    if not names:
        return _alone(ctx, (x,))
    groups = _manual(ctx, names).groups(names, axis_index_groups)
    attributes = _attributes(ctx, groups)
    attributes["split_dimension"] = ctx.vocabulary.integer(split_axis)
    attributes["concat_dimension"] = ctx.vocabulary.integer(concat_axis)
    attributes["split_count"] = ctx.vocabulary.integer(groups.shape[1])
    return ctx.ops("stablehlo.all_to_all", [ctx.out_type], (x,), attributes).results[0]


@lower.rule(p.ppermute_p)
def _ppermute(ctx: FunctionContext, x: IrValue, *, axis_name: Hashable, perm: tuple[tuple[int, int], ...]) -> IrValue:
    names = as_tuple(axis_name)
    if not names:
        return _alone(ctx, (x,))
    rows = _manual(ctx, names).groups(names)
    pairs = np.array([[row[source], row[to]] for row in rows for source, to in perm], np.int64).reshape(-1, 2)
    attributes = _attributes(ctx, rows)
    del attributes["replica_groups"]
    attributes["source_target_pairs"] = ctx.vocabulary.elements(pairs)
    return ctx.op("stablehlo.collective_permute", ctx.out_type, (x,), attributes)


@lower.rule(p.pbroadcast_p)
def _pbroadcast(ctx: FunctionContext, x: IrValue, *, axis_name: Hashable, source: int) -> IrValue:
    """All gather and take the one: XLA's own broadcast between devices is not there on the CPU."""
    names = as_tuple(axis_name)
    if not names:
        return _alone(ctx, (x,))
    groups = _manual(ctx, names).groups(names)
    out = ctx.out_aval
    one = out.update(shape=(1, *out.shape))
    stack = out.update(shape=(groups.shape[1], *out.shape))
    gathered = _gathered(ctx, reshape(ctx, x, one), 0, groups, ctx.types[stack])
    words = ctx.vocabulary
    sliced = ctx.op(
        "stablehlo.slice",
        ctx.types[one],
        (gathered,),
        {
            "start_indices": words.integers((source, *[0] * out.ndim)),
            "limit_indices": words.integers((source + 1, *out.shape)),
            "strides": words.integers((1,) * (out.ndim + 1)),
        },
    )
    return reshape(ctx, sliced, out)


@lower.rule(p.axis_index_p)
def _axis_index(ctx: FunctionContext, *, axis_name: Hashable) -> IrValue:
    names = as_tuple(axis_name)
    if not names:
        return _alone(ctx, ())
    manual = _manual(ctx, names)
    others = manual.others()
    if not others:
        return index_of_partition(ctx, manual, names)
    # Where the compiler partitions along other axes partitions have no numbers, but in a part that is mapped over all.
    assert isinstance(manual, ManualAxes) and ctx.module.meshes is not None
    whole = [(manual.whole, ctx.out_aval)]
    region = ctx.module.meshes.manual_computation(ctx, (), [], whole, manual.whole, others)
    inner, _ = ctx.region(region, 0, [])
    inner.give([index_of_partition(inner, manual, names)], "sdy.return")
    return region.results[0]
