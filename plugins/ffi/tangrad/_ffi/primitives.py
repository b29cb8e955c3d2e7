"""The primitive that calls a registered handler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import Effect, PrimitiveSet, ShapedArray

if TYPE_CHECKING:
    from tangrad._ffi.attributes import Dictionary
    from tangrad.typing import Params

foreign = PrimitiveSet("foreign", api=1)


class FfiEffect(Effect):
    """A call of a handler that does more than compute its results. Any two are the same effect."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return "FFI"


_EFFECTS = (frozenset[Effect](), frozenset[Effect]([FfiEffect()]))


def _effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Effect]:
    return _EFFECTS[params["has_side_effect"]]


@foreign.primitive(name="ffi_call", multiple_results=True, weak_type="own", effects=_effects)
def ffi_call_p(
    *avals: ShapedArray,
    target: str,
    result_avals: tuple[ShapedArray, ...],
    attributes: Dictionary,
    aliases: tuple[tuple[int, int], ...],
    input_layouts: tuple[tuple[int, ...], ...],
    output_layouts: tuple[tuple[int, ...], ...],
    vmap_method: str | None,
    has_side_effect: bool,
    api_version: int,
    backend_config: str | None,
) -> tuple[ShapedArray, ...]:
    """The results of a compiled function, called by the name of its target.

    `aliases` are pairs of an operand and the result that takes over its memory; layouts list the dimensions from the
    slowest varying to the fastest.
    """
    return result_avals
