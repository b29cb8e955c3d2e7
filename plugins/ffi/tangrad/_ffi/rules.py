"""The rules of foreign functions: mapped once for all rows or once for each; nothing is known of their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from tangrad._ffi.calls import ffi_call_p
from tangrad.batching import move_axis, operand_of_call
from tangrad.core import Array, RuleSet
from tangrad.extend.lax import scan

if TYPE_CHECKING:
    from tangrad.core.protocols import AxisInfo
    from tangrad.typing import Dims, Params, Value, Values


batch = RuleSet("batch", api=1)


@batch.rule(ffi_call_p)
def _(
    args: Values, dims: Dims, *, axis_info: AxisInfo, vmap_method: str, **params: object
) -> tuple[tuple[Value, ...], tuple[int, ...]]:
    size = axis_info.size
    if vmap_method is None:
        raise NotImplementedError(
            f"the foreign function {params['target']!r} is mapped by vmap, and does not say how: pass ffi_call "
            "vmap_method='sequential' (call it for each row), 'expand_dims' or 'broadcast_all' (call it once, with "
            "arguments that have one more axis in front, of size 1 for what is not mapped, or of the batch's size)"
        )
    if vmap_method.startswith("sequential"):
        outs = _for_each_row(args, dims, size, vmap_method, params)
    else:
        outs = _at_once(args, dims, size, vmap_method, params)
    return outs, (0,) * len(outs)


def _at_once(args: Values, dims: Dims, size: int, vmap_method: str, params: Params) -> Values:
    operands = [operand_of_call(arg, dim, size, vmap_method) for arg, dim in zip(args, dims, strict=True)]
    layouts = [
        layout if len(layout) == operand.aval.ndim else _with_batch(layout)
        for operand, layout in zip(operands, params["input_layouts"], strict=True)
    ]
    result_avals = params["result_avals"]
    # The memory of what is not mapped does not hold the results of all rows.
    aliases = [
        pair for pair in params["aliases"] if operands[pair[0]].aval.shape == (size, *result_avals[pair[1]].shape)
    ]
    params = params | {
        "result_avals": tuple([aval.update(shape=(size, *aval.shape)) for aval in result_avals]),
        "input_layouts": tuple(layouts),
        "output_layouts": tuple([_with_batch(layout) for layout in params["output_layouts"]]),
        "aliases": tuple(aliases),
    }
    return ffi_call_p.bind(*operands, vmap_method=vmap_method, **params)


def _with_batch(layout: tuple[int, ...]) -> tuple[int, ...]:
    return (0, *[dimension + 1 for dimension in layout])


def _for_each_row(args: Values, dims: Dims, size: int, vmap_method: str, params: Params) -> Values:
    mapped = [move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True) if dim is not None]

    def call(_: object, rows: Values) -> tuple[tuple[()], tuple[Array, ...]]:
        found = iter(rows)
        operands = [arg if dim is None else next(found) for arg, dim in zip(args, dims, strict=True)]
        return (), tuple(ffi_call_p.bind(*operands, vmap_method=vmap_method, **params))

    unroll = max(size, 1) if vmap_method == "sequential_unrolled" else 1
    return scan(call, (), mapped, length=size, unroll=unroll)[1]


mask = RuleSet("mask", api=1)
mask.not_applicable("a foreign function would see the padding, and take it for what counts", ffi_call_p)

jvp = RuleSet("jvp", api=1)
transpose = RuleSet("transpose", api=1)


@jvp.rule(ffi_call_p)
def _(primals: object, tangents: object, *, target: str, **params: object) -> NoReturn:
    raise ValueError(
        f"the foreign function {target!r} cannot be differentiated: nothing is known of what it computes. Wrap the "
        "call in a function with a rule of its own (tangrad.custom_jvp, or custom_vjp for gradients only), whose rule "
        "may call foreign functions too; or stop the derivative at its arguments: tangrad.lax.stop_gradient(x)"
    )


@transpose.rule(ffi_call_p)
def _not_linear(cotangents: object, *args: object, target: str, **params: object) -> NoReturn:
    raise ValueError(
        f"the foreign function {target!r} cannot be transposed: nothing is known of what it computes. Where it stands "
        "for a linear function, say how that is transposed: tangrad.custom_transpose, linear_call, or custom_vjp"
    )
