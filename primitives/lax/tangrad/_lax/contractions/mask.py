"""Products of padded arrays: what does not count is 0, in the operands, and in the result for its cotangent's sake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._lax.contractions.primitives import dot_general_p, ragged_dot_general_p, ragged_result_shape, result_shape
from tangrad.core import RuleSet
from tangrad.extend.masking import Sizes
from tangrad.typing import Dimensions, Value

if TYPE_CHECKING:
    from tangrad._lax.contractions.primitives import DotDimensionNumbers, RaggedDotDimensionNumbers

mask = RuleSet("mask", api=1)


@mask.rule(dot_general_p)
def _(
    args: Sequence[Value],
    shapes: Sequence[Dimensions],
    *,
    sizes: Sizes,
    dimension_numbers: DotDimensionNumbers,
    **params: object,
) -> Value:
    lhs, rhs = [sizes.fill(x, shape, 0) for x, shape in zip(args, shapes)]
    out = dot_general_p.bind(lhs, rhs, dimension_numbers=dimension_numbers, **params)
    return sizes.fill(out, result_shape(shapes[0], shapes[1], dimension_numbers), 0)


@mask.rule(ragged_dot_general_p)
def _(
    args: Sequence[Value],
    shapes: Sequence[Dimensions],
    *,
    sizes: Sizes,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    **params: Any,
) -> Value:
    # Groups that do not count have no rows.
    operands = [sizes.fill(x, shape, 0) for x, shape in zip(args, shapes)]
    numbers = ragged_dot_dimension_numbers
    out = ragged_dot_general_p.bind(*operands, ragged_dot_dimension_numbers=numbers, **params)
    lhs, rhs, group_sizes = shapes
    return sizes.fill(out, ragged_result_shape(lhs, rhs, group_sizes, numbers), 0)
