"""The value of a size: where a masked function computes with one, it is the size that counts."""

from __future__ import annotations

from typing import Any

from tangrad._lax.elementwise.primitives import convert_element_type_p
from tangrad._masking.sizes import number
from tangrad._symbolic.primitives import dimension_as_value_p
from tangrad.core import RuleSet

mask = RuleSet("mask", api=1)


@mask.rule(dimension_as_value_p)
def _(args: Any, shapes: Any, *, sizes: Any, dimension: Any, dtype: Any) -> Any:
    size = number(sizes.logical(dimension))
    return convert_element_type_p.bind(size, new_dtype=dtype, weak_type=True)
