"""Loops of StableHLO, for lowerings that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad.core import ShapedArray


State = list[Any]


def loop(
    ctx: FunctionContext,
    effects: Sequence[Any],
    state: Sequence[ir.Value],
    avals: Sequence[ShapedArray],
    condition: Callable[[Any, State], Any],
    body: Callable[[Any, State], Sequence[Any]],
) -> State:
    """A `while` whose state is the tokens of `effects` and values of types `avals`; the last values."""
    count = len(effects)
    types = [*[ctx.vocabulary.token] * count, *[ctx.types[aval] for aval in avals]]
    tokens = [ctx.tokens[effect] for effect in effects]
    loop = ctx.ops("stablehlo.while", types, [*tokens, *state], None, 2)
    test, arguments = ctx.region(loop, 0, types, captures=True)
    test.tokens.update(zip(effects, arguments, strict=False))
    test.give([condition(test, arguments[count:])])
    inner, arguments = ctx.region(loop, 1, types, captures=True)
    inner.tokens.update(zip(effects, arguments, strict=False))
    results = body(inner, arguments[count:])
    inner.give([*[inner.tokens[effect] for effect in effects], *results])
    outs = list(loop.results)
    ctx.tokens.update(zip(effects, outs, strict=False))
    return outs[count:]
