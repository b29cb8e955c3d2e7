"""How the contraction acts on mapped axes: by another contraction, with no axis moved."""

from __future__ import annotations

from typing import Any

from tangrad.core import RuleSet
from tangrad.lax.contractions.dimensions import batched
from tangrad.lax.contractions.primitives import dot_general_p

batch = RuleSet("batch", api=1)


@batch.rule(dot_general_p)
def _dot_general(
    args: Any, dims: Any, *, axis_info: Any, dimension_numbers: Any, precision: Any, preferred_element_type: Any
) -> Any:
    lhs, rhs = args
    numbers, dim = batched(dimension_numbers, lhs.aval.ndim, rhs.aval.ndim, *dims)
    out = dot_general_p.bind(
        lhs, rhs, dimension_numbers=numbers, precision=precision, preferred_element_type=preferred_element_type
    )
    return out, dim
