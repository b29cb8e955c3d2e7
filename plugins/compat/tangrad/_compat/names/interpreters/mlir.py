"""`jax.interpreters.mlir`: how primitives are compiled, said by a function.

Rules that build MLIR themselves are not taken: a rule here is `lower_fun(f)`, or one that hands operands on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._compat.primitives import LoweringContext as LoweringRuleContext
from tangrad._compat.primitives import Primitive

__all__ = ["LoweringRuleContext", "lower_fun", "register_lowering"]


def lower_fun(function: Callable[..., Any], multiple_results: bool = True) -> Callable[..., Any]:
    """The lowering of a primitive as what `function(*operands, **params)` computes."""

    def rule(context: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        out = function(*operands, **params)
        return out if multiple_results else (out,)

    return rule


def register_lowering(
    primitive: Primitive, rule: Callable[..., Any], platform: str | None = None, **options: Any
) -> Callable[..., Any]:
    """Have a primitive compiled by a rule. One for a single platform counts where there is none for all of them."""
    if not isinstance(primitive, Primitive) or not hasattr(primitive, "lowered_by"):
        raise TypeError(f"{primitive} is a primitive of Tangrad: its lowerings are rule sets (docs/plugin-guide.md)")
    primitive.lowered_by(rule, platform)
    return rule
