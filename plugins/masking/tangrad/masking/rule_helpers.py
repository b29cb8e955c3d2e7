"""How `mask` rules are written: `(args, shapes, *, sizes, **params) -> results`.

`args` are padded arrays, `shapes` their logical shapes, in which some sizes are symbolic; `params` are as the function
saw them. The results are padded arrays of whatever logical shapes the primitive infers: what lies beyond these may be
anything. `sizes` is a `Sizes`: it knows padded and logical sizes, and fills what does not count.

Nothing beyond a logical size may reach a result, nor a derivative. So a rule that brings together elements of different
positions fills its operands first with what does not matter; and one whose transpose does so (a broadcast is that of a
sum) fills its results with 0, or what comes back at positions that do not count, NaN perhaps, would be added to a
cotangent that does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad.core import Literal, Primitive, RuleSet, is_symbolic
from tangrad.lax.structure.primitives import broadcast_in_dim_p
from tangrad.masking.sizes import Sizes


def positionwise(mask: RuleSet, *primitives: Primitive) -> None:
    """Register the rule of primitives whose results depend, at each position, on their operands at that position.

    Operands without dimensions beside others are repeated first.
    """
    for primitive in primitives:
        mask.add(primitive, _positionwise(primitive))


def _positionwise(primitive: Primitive) -> Callable[..., Any]:
    def rule(args: Any, shapes: Any, *, sizes: Sizes, **params: Any) -> Any:
        shape = next((shape for shape in shapes if shape), ())
        operands = [
            arg if own or type(arg) is Literal else repeated(arg, (), shape, (), sizes)
            for arg, own in zip(args, shapes)
        ]
        return primitive.bind(*operands, **sizes.padded_params(params))

    return rule


def repeated(x: Any, own_shape: Sequence[Any], shape: Sequence[Any], dimensions: tuple[int, ...], sizes: Sizes) -> Any:
    """An array repeated to a logical shape; what does not count is 0, and adds nothing to a cotangent of `x`.

    Args:
        own_shape: the logical shape of `x`; `dimensions`: which dimensions of the result its dimensions become.
    """
    out = broadcast_in_dim_p.bind(x, shape=sizes.padded(tuple(shape)), broadcast_dimensions=dimensions)
    kept = {target for target, size in zip(dimensions, own_shape) if size == shape[target]}
    is_new = any([is_symbolic(size) and d not in kept for d, size in enumerate(shape)])
    return sizes.fill(out, shape, 0) if is_new and type(x) is not Literal else out


def whole(mask: RuleSet, *primitives: Primitive) -> None:
    """Register the rule of primitives that take padded arrays as they are, each position by itself, in any layout."""
    for primitive in primitives:
        mask.add(primitive, _whole(primitive))


def _whole(primitive: Primitive) -> Callable[..., Any]:
    return lambda args, shapes, *, sizes, **params: primitive.bind(*args, **sizes.padded_params(params))


def filled(mask: RuleSet, primitive: Primitive, value: Callable[[Any], Any]) -> None:
    """Register the rule of a primitive of one operand that brings its positions together.

    Args:
        value: `dtype -> number`: what does not count is replaced by it, as it must change nothing.
    """

    def rule(args: Any, shapes: Any, *, sizes: Sizes, **params: Any) -> Any:
        (x,), (shape,) = args, shapes
        filled_x = sizes.fill(x, shape, value(x.aval.dtype))
        return primitive.bind(filled_x, **sizes.padded_params(params))

    mask.add(primitive, rule)
