"""Mapped callbacks: called for each row, or, if they are declared to take batches, once.

Rows are gone through on the host (`HostProgram`): the program has one call however large the batch is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._debug.primitives import debug_callback_p, debug_print_p, io_callback_p, pure_callback_p
from tangrad.batching import operand_of_call
from tangrad.core import Primitive, RuleSet, ShapedArray

if TYPE_CHECKING:
    from tangrad._debug.calls import HostCall
    from tangrad.core import Array
    from tangrad.core.protocols import AxisInfo, BatchRule
    from tangrad.typing import Dims, Values

batch = RuleSet("batch", api=1)


def _batched(result_avals: tuple[ShapedArray, ...], size: object) -> tuple[ShapedArray, ...]:
    return tuple([aval.update(shape=(size, *aval.shape)) for aval in result_avals])


@batch.rule(pure_callback_p)
def _(
    args: Values,
    dims: Dims,
    *,
    axis_info: AxisInfo,
    callback: HostCall,
    result_avals: tuple[ShapedArray, ...],
    vmap_method: str,
) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    size = axis_info.size
    if vmap_method is None:
        raise NotImplementedError(
            f"{callback.described()} is mapped by vmap, and does not say how: pass vmap_method='sequential' (call it "
            "for each row), 'expand_dims' or 'broadcast_all' (call it once, with arguments that have one more axis in "
            "front, of size 1 for what is not mapped, or of the batch's size)"
        )
    if vmap_method in ("sequential", "sequential_unrolled"):
        callback = callback.mapped(dims, size)
    else:
        args = tuple([operand_of_call(arg, dim, size, vmap_method) for arg, dim in zip(args, dims, strict=True)])
    avals = _batched(result_avals, size)
    outs = pure_callback_p.bind(*args, callback=callback, result_avals=avals, vmap_method=vmap_method)
    return outs, (0,) * len(outs)


@batch.rule(io_callback_p)
def _io(
    args: tuple[Array, ...],
    dims: Dims,
    *,
    axis_info: AxisInfo,
    callback: HostCall,
    result_avals: tuple[ShapedArray, ...],
    ordered: bool,
) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    if ordered:
        raise ValueError(
            f"{callback.described()} is ordered, and cannot be mapped by vmap: the rows of a batch have no order. "
            "Leave out ordered=True, or map with tangrad.lax.map, which goes through the rows one after the other"
        )
    avals = _batched(result_avals, axis_info.size)
    mapped = callback.mapped(dims, axis_info.size)
    outs = io_callback_p.bind(*args, callback=mapped, result_avals=avals, ordered=False)
    return outs, (0,) * len(outs)


def _for_each_row(primitive: Primitive) -> BatchRule:
    def rule(
        args: Values, dims: Dims, *, axis_info: AxisInfo, callback: HostCall, **params: object
    ) -> tuple[object, object]:
        primitive.bind(*args, callback=callback.mapped(dims, axis_info.size), **params)
        return (), ()

    return rule


batch.table({primitive: _for_each_row(primitive) for primitive in (debug_callback_p, debug_print_p)})
