"""The value of a size: where a masked function computes with one, it is the size that counts."""

from __future__ import annotations

from typing import Any

from tangrad._masking.sizes import number
from tangrad.core import RuleSet
from tangrad.extend.lax import convert_element_type_p
from tangrad.extend.symbolic import dimension_as_value_p

mask = RuleSet("mask", api=1)


@mask.rule(dimension_as_value_p)
def _(args: Any, shapes: Any, *, sizes: Any, dimension: Any, dtype: Any) -> Any:
    size = number(sizes.logical(dimension))
    return convert_element_type_p.bind(size, new_dtype=dtype, weak_type=True)
