"""Rules for whole functions of `tangrad.numpy`, where NumPy has in few calls what takes many operations one by one.

Such functions are operations outside of transformations only (`tangrad._numpy.fusing`), so that programs hold none of
them, and jaxprs are what they would be without these rules. What a rule does not cover is computed as the function is
written: the rule returns None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tangrad._backend_numpy.kernels import Kernel
from tangrad.core import RuleSet, decomposition_jaxpr

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


def whole(lower: RuleSet, function: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: register `build(ctx, **arguments)`, with values in the places of arrays, as rule of a function.

    A list of arrays is a list of values. A function of operands and of nothing else gives them by position.
    """
    primitive = function.fused.primitive

    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        def emit(ctx: Lowering, *values: Value, **params: Any) -> Value:
            options = {name: value for name, value in params.items() if name not in ("given", "settings")}
            if "given" in params:
                rest = iter(values)
                arguments = {
                    name: next(rest) if count is None else [next(rest) for _ in range(count)]
                    for name, count in params["given"]
                }
                found = build(ctx, **arguments, **options)
            else:
                found = build(ctx, *values)
            if found is not None:
                return found
            return ctx.inline(decomposition_jaxpr(primitive, ctx.in_avals, params), *values)

        lower.table({primitive: Kernel(emit)})
        return build

    return register
