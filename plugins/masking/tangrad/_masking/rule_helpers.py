"""How `mask` rules are written: `(args, shapes, *, sizes, **params) -> results`.

`args` are padded arrays, `shapes` their logical shapes, in which some sizes are symbolic; `params` are as the function
saw them. The results are padded arrays of whatever logical shapes the primitive infers: what is beyond these may be
anything. `sizes` is a `Sizes`: it knows padded and logical sizes, and fills what does not count.

Nothing beyond a logical size may reach a result, nor a derivative. So a rule that brings together elements of different
positions fills its operands first with what does not matter; and one whose transpose does so (a broadcast is that of a
sum) fills its results with 0, or what comes back at positions that do not count, NaN perhaps, would be added to a
cotangent that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._masking.sizes import Sizes
from tangrad.core import Literal, Primitive, RuleSet
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import broadcast_in_dim_p

if TYPE_CHECKING:
    from tangrad.typing import Value, Values


def positionwise(mask: RuleSet, *primitives: Primitive) -> None:
    """Register the rule of primitives whose results depend, at each position, on their operands at that position.

    Operands without dimensions beside others are repeated first.
    """
    for primitive in primitives:
        mask.add(primitive, positionwise_rule(primitive))


def positionwise_rule(primitive: Primitive) -> Callable[..., Any]:
    def rule(args: Values, shapes: Any, *, sizes: Sizes, **params: Any) -> Value:
        shape = next((shape for shape in shapes if shape), ())
        operands = [
            arg if own or type(arg) is Literal else repeated(arg, (), shape, (), sizes)
            for arg, own in zip(args, shapes)
        ]
        return primitive.bind(*operands, **sizes.padded_params(params))

    return rule


def repeated(
    x: Value, own_shape: Sequence[Any], shape: Sequence[Any], dimensions: tuple[int, ...], sizes: Sizes
) -> Value:
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
        mask.add(primitive, whole_rule(primitive))


def whole_rule(primitive: Primitive) -> Callable[..., Any]:
    return lambda args, shapes, *, sizes, **params: primitive.bind(*args, **sizes.padded_params(params))


def filled(mask: RuleSet, primitive: Primitive, value: Callable[[Any], Any]) -> None:
    """Register the rule of a primitive of one operand that brings its positions together.

    Args:
        value: `dtype -> number`: what does not count is replaced by it, as it must change nothing.
    """
    mask.add(primitive, filled_rule(primitive, value))


def filled_rule(primitive: Primitive, value: Callable[[Any], Any]) -> Callable[..., Any]:
    def rule(args: Values, shapes: Any, *, sizes: Sizes, **params: Any) -> Value:
        (x,), (shape,) = args, shapes
        filled_x = sizes.fill(x, shape, value(x.aval.dtype))
        return primitive.bind(filled_x, **sizes.padded_params(params))

    return rule


def stacked(mask: RuleSet, ranks: Mapping[Primitive, int | Sequence[int]]) -> None:
    """Register the rule of primitives of matrices and the like, whose leading dimensions may be padded, and no others.

    Args:
        ranks: for each primitive the number of last dimensions that belong together; one for each operand, or for all.
    """
    for primitive, rank in ranks.items():
        mask.add(primitive, stacked_rule(primitive, rank))


def stacked_rule(primitive: Primitive, ranks: int | Sequence[int]) -> Callable[..., Any]:
    def rule(args: Any, shapes: Any, *, sizes: Sizes, **params: Any) -> Any:
        counts = [ranks] * len(args) if isinstance(ranks, int) else ranks
        for shape, count in zip(shapes, counts):
            check_whole(primitive, shape, range(len(shape) - count, len(shape)))
        avals = tuple([arg.aval.update(shape=shape) for arg, shape in zip(args, shapes)])
        inferred = primitive.infer(avals, params)
        operands = [sizes.fill(arg, shape, 0) for arg, shape in zip(args, shapes)]
        out = primitive.bind(*operands, **sizes.padded_params(params))
        if not primitive.multiple_results:
            return sizes.fill(out, inferred.shape, 0)
        return tuple([sizes.fill(one, aval.shape, 0) for one, aval in zip(out, inferred, strict=True)])

    return rule


def check_whole(primitive: Primitive, shape: Sequence[Any], dimensions: Iterable[int]) -> None:
    """Raise NotImplementedError for a primitive that cannot be applied over masked sizes, where there are some."""
    if any([is_symbolic(shape[d]) for d in dimensions]):
        raise NotImplementedError(
            f"mask: {primitive.identity!r} over a dimension whose size is masked, of shape {tuple(shape)}; only other "
            "dimensions of it may be padded"
        )


# The forms by their names, which need no import: `mask.form("whole", sort_p)`.
FORMS: dict[str, Callable[..., Any]] = {
    "positionwise": positionwise_rule,
    "whole": whole_rule,
    "filled": filled_rule,
    "stacked": stacked_rule,
}
