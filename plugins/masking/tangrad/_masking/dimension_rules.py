"""The value of a size: where a masked function computes with one, it is the size that counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._masking.sizes import Sizes, number
from tangrad.core import RuleSet
from tangrad.extend.lax import convert_element_type_p
from tangrad.extend.symbolic import dimension_as_value_p

if TYPE_CHECKING:
    from tangrad.core.arguments import SymbolicDimension
    from tangrad.typing import DType, Value

mask = RuleSet("mask", api=1)


@mask.rule(dimension_as_value_p)
def _(args: object, shapes: object, *, sizes: Sizes, dimension: SymbolicDimension, dtype: DType) -> Value:
    size = number(sizes.logical(dimension))
    return convert_element_type_p.bind(size, new_dtype=dtype, weak_type=True)
