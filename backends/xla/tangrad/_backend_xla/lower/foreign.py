"""How foreign functions become StableHLO: custom calls of the targets that are registered for the platform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._backend_xla import jaxlib_calls
from tangrad._backend_xla.helpers import by_platform, custom_call
from tangrad.core import RuleSet
from tangrad.errors import BackendError
from tangrad.extend.ffi import Dictionary, Elements, Scalar, ffi_call_p, find, missing, types

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrAttribute, IrValue, Vocabulary


lower = RuleSet("lower.xla", api=1)


def supply(target: str, platform: str) -> bool:
    """Let programs call a registered function; whether there is one of this name."""
    if platform == "cpu":
        for name, registration in types(platform).items():
            jaxlib_calls.register_custom_type(name, dict(registration))
    found = find(target, platform)
    if found is None:
        return False
    stages = dict(found.capsules)
    function = stages["execute"] if len(stages) == 1 else stages
    jaxlib_calls.register_custom_call(target, function, platform, found.api_version, found.traits)
    return True


jaxlib_calls.suppliers.append(supply)


@lower.rule(ffi_call_p)
@by_platform
def _(
    ctx: FunctionContext,
    *operands: IrValue,
    target: str,
    attributes: Any,
    aliases: Any,
    input_layouts: Any,
    output_layouts: Any,
    has_side_effect: bool,
    api_version: int,
    backend_config: str | None,
    **_: object,
) -> tuple[IrValue, ...]:
    platform = ctx.module.platform
    if not supply(target, platform) and not jaxlib_calls.has_custom_call(target, platform):
        raise BackendError(missing(target, platform))
    more = {} if api_version == 4 else {"backend_config": ctx.vocabulary.string(backend_config or "")}
    results = custom_call(
        ctx,
        target,
        ctx.out_avals,
        operands,
        backend_config={name: _attribute(ctx.vocabulary, value) for name, value in attributes.items},
        has_side_effect=has_side_effect,
        aliases={result: operand for operand, result in aliases},
        operand_layouts=[layout[::-1] for layout in input_layouts],
        result_layouts=[layout[::-1] for layout in output_layouts],
        api_version=api_version,
        more=more,
    )
    return tuple(results)


def _attribute(words: Vocabulary, value: Any) -> IrAttribute:
    if isinstance(value, Scalar):
        return words.attribute(value.value)
    if isinstance(value, Elements):
        return words.elements(value.value)
    if isinstance(value, Dictionary):
        return words.ir.DictAttr.get({name: _attribute(words, one) for name, one in value.items}, words.context)
    return words.string(value)
