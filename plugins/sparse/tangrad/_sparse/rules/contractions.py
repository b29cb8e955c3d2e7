"""Products of sparse arrays."""

from __future__ import annotations

from typing import Any

from tangrad._sparse.products import product_of
from tangrad.core import RuleSet
from tangrad.extend.lax import dot_general_p

sparse: RuleSet[Any] = RuleSet("sparse", api=1)


@sparse.rule(dot_general_p)
def _(lhs: Any, rhs: Any, *, dimension_numbers: Any, precision: Any, preferred_element_type: Any) -> Any:
    return product_of(lhs, rhs, dimension_numbers, preferred_element_type)
