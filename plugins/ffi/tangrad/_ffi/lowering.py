"""Lowering rules for the primitives of others: a registered handler computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._ffi.calls import ffi_call_p
from tangrad._ffi.frames import normalized
from tangrad._ffi.host import Instance
from tangrad.core import api_boundary, trace_to_closed_jaxpr
from tangrad.core.caches import RecentlyUsed

if TYPE_CHECKING:
    from tangrad.core import ShapedArray

Rule = Callable[..., Any]


def _call_params(
    target: str, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], attributes: Any
) -> dict[str, object]:
    return {
        "target": target,
        "result_avals": tuple([aval.strip_weak_type() for aval in out_avals]),
        "attributes": normalized(attributes),
        "aliases": (),
        "input_layouts": tuple([tuple(range(aval.ndim)) for aval in in_avals]),
        "output_layouts": tuple([tuple(range(aval.ndim)) for aval in out_avals]),
        "vmap_method": None,
        "has_side_effect": False,
        "api_version": 4,
        "backend_config": None,
    }


@api_boundary
def ffi_lowering(target_name: str, attributes: Callable[..., object] | None = None) -> Rule:
    """A rule of the kind `lower.xla`, or `lower.xla.cpu`, `lower.xla.cuda`, ...: a handler computes the primitive.

    Args:
        target_name: the name of the target, registered for the platform.
        attributes: `attributes(**params)`, a dictionary, makes the attributes of the primitive's parameters. None: the
            parameters are the attributes.

    >>> import tangrad
    >>> rule = tangrad.ffi.ffi_lowering("rms", lambda *, eps: {"eps": eps})
    >>> callable(rule)
    True
    """

    def rule(ctx: Any, *operands: object, **params: object) -> Any:
        given = params if attributes is None else attributes(**params)
        call = _call_params(target_name, ctx.in_avals, ctx.out_avals, given)
        program = trace_to_closed_jaxpr(lambda *args: list(ffi_call_p.bind(*args, **call)), ctx.in_avals)
        outs = ctx.inline(program, operands)
        return tuple(outs) if ctx.eqn.primitive.multiple_results else outs[0]

    return rule


@api_boundary
def host_lowering(target_name: str, attributes: Callable[..., Any] | None = None) -> Rule:
    """A rule of the kind `lower.numpy`: the handler that is registered for "cpu" computes the primitive.

    Args:
        target_name, attributes: as of `ffi_lowering`.

    >>> import tangrad
    >>> callable(tangrad.ffi.host_lowering("rms", lambda *, eps: {"eps": eps}))
    True
    """
    instances = RecentlyUsed(256)

    def rule(ctx: Any, *arrays: object, **params: object) -> Any:
        given = params if attributes is None else attributes(**params)
        call = _call_params(target_name, ctx.in_avals, ctx.out_avals, given)
        key = (call["attributes"], tuple(ctx.in_avals), call["result_avals"])
        instance = instances.find(key)
        if instance is None:
            instance = Instance(call, ctx.in_avals)
            instances.add(key, instance)
        outs = instance(*arrays)
        return outs if ctx.primitive.multiple_results else outs[0]

    return rule
