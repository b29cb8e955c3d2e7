"""Python functions that programs call: how such a call is put into a program, and what runs when XLA makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad import default_device
from tangrad._backend_xla import failures, jaxlib_calls
from tangrad._backend_xla.array import XlaArray
from tangrad._backend_xla.helpers import by_platform, custom_call, index_of_partition
from tangrad._backend_xla.jaxlib_api import physical_aval
from tangrad._backend_xla.manual import ManualAxes
from tangrad.core import AbstractValue, RuleSet, ShapedArray
from tangrad.core.backends import AbstractToken
from tangrad.extend.debug import HostProgram, debug_callback_p, debug_print_p, io_callback_p, pure_callback_p

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from tangrad._backend_xla.clients import XlaDevice
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.core import Effect


HostFunction = Callable[..., Sequence[object]]
TOKEN = AbstractToken()


def emit_host_call(
    ctx: Any,
    function: HostFunction,
    operands: Sequence[IrValue],
    in_avals: Sequence[Any],
    out_avals: Sequence[Any],
    *,
    effect: Effect | None = None,
    has_side_effect: bool = False,
) -> list[ir.Value]:
    """Call a Python function from the program; the values of its results.

    Args:
        function: takes NumPy arrays, good during the call only, and returns NumPy arrays of exactly the types
            `out_avals`.
        effect: an ordered effect that the call has: it waits for the effect's token, and leaves a new one.
        has_side_effect: whether it must happen even if its results are unused.
    """
    number = ctx.module.add_host_callback(_guarded(function, ctx.module.platform, effect is not None))
    if effect is not None:
        operands, in_avals, out_avals = [ctx.tokens[effect], *operands], [TOKEN, *in_avals], [TOKEN, *out_avals]
    meshes = ctx.module.meshes
    # Of the devices of a program the first one calls, unless each runs a part that is written for one.
    by_one = meshes is not None and ctx.module.manual is None
    results = custom_call(
        ctx,
        jaxlib_calls.host_call_target(ctx.module.platform),
        out_avals,
        operands,
        backend_config={"index": np.uint64(number)},
        has_side_effect=has_side_effect or effect is not None,
        operand_layouts=[_row_major(aval) for aval in in_avals],
        result_layouts=[_row_major(aval) for aval in out_avals],
        more={"sdy.sharding": meshes.on_first_device(len(out_avals))} if by_one else None,
    )
    if effect is not None:
        ctx.tokens[effect] = results.pop(0)
        out_avals = out_avals[1:]
    if by_one:
        results = [_broadcast_to_all(ctx, value, aval) for value, aval in zip(results, out_avals, strict=True)]
    return results


def _broadcast_to_all(ctx: Any, value: IrValue, aval: ShapedArray) -> IrValue:
    """What the first device was given, on every device: the others have memory for it, and nothing in it."""
    attribute = ctx.module.meshes.on_every_device(physical_aval(aval).ndim)
    return ctx.op("sdy.sharding_constraint", ctx.types[aval], (value,), {"sharding": attribute})


def _row_major(aval: AbstractValue) -> Sequence[int]:
    return () if isinstance(aval, AbstractToken) else range(len(physical_aval(aval).shape))[::-1]


def _guarded(function: HostFunction, platform: str, has_token: bool) -> Callable[..., tuple[object, ...]]:
    """The function as XLA calls it: with the token passed through, and what it raises kept."""

    def call(*arrays: object) -> tuple[object, ...]:
        token, contents = (arrays[:1], arrays[1:]) if has_token else ((), arrays)
        try:
            if platform == "cpu":
                return (*token, *function(*contents))
            # What the user's function makes belongs on the host: the device is waiting for it.
            with default_device(host_device()):
                return (*token, *function(*contents))
        except BaseException as error:
            raise failures.keep(error) from None

    return call


def host_device() -> XlaDevice:
    """The first of the backend's devices that are the host's processors."""
    return XlaArray.backend.devices("cpu")[0]


def host_array(contents: np.ndarray, aval: ShapedArray) -> XlaArray:
    """An array on the host with a copy of what XLA shows to a callback."""
    backend = XlaArray.backend
    device = None if backend.platform == "cpu" else host_device()
    return backend.put(contents, aval.strip_weak_type(), device)


lower = RuleSet("lower.xla", api=1)


@lower.rule(pure_callback_p, io_callback_p, debug_callback_p, debug_print_p)
@by_platform
def _(
    ctx: FunctionContext, *operands: IrValue, callback: Any, ordered: bool = False, **_: object
) -> tuple[IrValue, ...]:
    in_avals, out_avals, effects = ctx.in_avals, ctx.out_avals, ctx.eqn.effects
    effect = next(effect for effect in effects if effect.ordered) if ordered else None
    program = HostProgram(callback, in_avals, out_avals, host_array)

    def call(where: FunctionContext, values: Sequence[IrValue]) -> list[IrValue]:
        return emit_host_call(where, program, values, in_avals, out_avals, effect=effect, has_side_effect=bool(effects))

    manual: Any = ctx.module.manual
    if manual is None or not manual.others():
        return tuple(call(ctx, operands))
    if effects and out_avals:
        raise NotImplementedError(
            f"{callback.described()}: within a shard_map over {manual.names} alone the compiler partitions along "
            f"{manual.others()}, and a call for its effects whose results are used has no device of its own"
        )
    return _in_part(ctx, call, operands, manual, bool(effects))


def _in_part(
    ctx: FunctionContext,
    call: Callable[..., list[IrValue]],
    operands: Sequence[IrValue],
    manual: ManualAxes,
    once: bool,
) -> tuple[IrValue, ...]:
    """A call where the compiler partitions along some axes: in a part mapped over these, too, with whole operands.

    Results must be the same on all devices. `once`: of the devices along these axes the first one alone calls.
    """
    others, whole = manual.others(), manual.whole
    inputs, outputs = [[(whole, aval) for aval in avals] for avals in (ctx.in_avals, ctx.out_avals)]
    assert ctx.module.meshes is not None
    operation = ctx.module.meshes.manual_computation(ctx, operands, inputs, outputs, whole, others)
    inner, arguments = ctx.region(operation, 0, [ctx.types[aval] for aval in ctx.in_avals])
    if not once:
        inner.give(call(inner, arguments), "sdy.return")
        return tuple(operation.results)
    case = inner.ops("stablehlo.case", [], (index_of_partition(inner, manual, others),), None, 2)
    for branch in range(2):  # an index beyond the branches means the last one
        place, _ = inner.region(case, branch, (), captures=True)
        if branch == 0:
            call(place, arguments)
        place.give([])
    inner.give([], "sdy.return")
    return ()
