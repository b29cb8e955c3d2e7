"""The rules of callbacks, but for those of tangents (`jvp`) and of mapped axes (`batch`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from tangrad._debug.primitives import debug_callback_p, debug_print_p, io_callback_p, pure_callback_p
from tangrad.core import RuleSet

if TYPE_CHECKING:
    from tangrad._debug.calls import HostCall
    from tangrad.core import ShapedArray
    from tangrad.typing import Params

mask = RuleSet("mask", api=1)
mask.not_applicable(
    "a Python function would see the padding, and take it for what counts",
    pure_callback_p,
    io_callback_p,
    debug_callback_p,
    debug_print_p,
)

sharding = RuleSet("sharding", api=1)


@sharding.rule(pure_callback_p, io_callback_p)
def _(operands: object, results: tuple[ShapedArray, ...], params: Params) -> tuple[object, ...]:
    """A Python function sees whole operands, and returns whole arrays."""
    return tuple([((),) * len(result.shape) for result in results])


# Read backwards, those for debugging give nothing back; the others are linear in nothing.
transpose = RuleSet("transpose", api=1)


@transpose.rule(debug_callback_p, debug_print_p)
def _(cotangents: object, *args: object, **params: object) -> tuple[None, ...]:
    return (None,) * len(args)


@transpose.rule(pure_callback_p, io_callback_p)
def _not_linear(cotangents: object, *args: object, callback: HostCall, **params: object) -> NoReturn:
    raise ValueError(
        f"{callback.described()} cannot be transposed: nothing is known of what it computes. Where it stands for a "
        "linear function, say how that is transposed: tangrad.custom_transpose, linear_call, or custom_vjp"
    )
