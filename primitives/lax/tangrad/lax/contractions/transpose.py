"""How the contraction maps cotangents back: by a contraction with the other operand."""

from __future__ import annotations

from typing import Any

from tangrad.autodiff import is_linear
from tangrad.core import RuleSet
from tangrad.lax.contractions.dimensions import transposed
from tangrad.lax.contractions.primitives import dot_general_p
from tangrad.lax.elementwise.primitives import convert_element_type_p
from tangrad.lax.structure.primitives import transpose_p

transpose = RuleSet("transpose", api=1)


@transpose.rule(dot_general_p)
def _dot_general(
    ct: Any, lhs: Any, rhs: Any, *, dimension_numbers: Any, precision: Any, preferred_element_type: Any
) -> Any:
    rhs_is_linear = is_linear(rhs)
    if rhs_is_linear and is_linear(lhs):
        raise TypeError("dot_general: a product of two arguments is not linear in both, so it cannot be transposed")
    linear, other = (rhs, lhs) if rhs_is_linear else (lhs, rhs)
    numbers, ct_first, permutation = transposed(dimension_numbers, lhs.aval.ndim, rhs.aval.ndim, rhs_is_linear)
    out = dot_general_p.bind(
        *((ct, other) if ct_first else (other, ct)),
        dimension_numbers=numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    if permutation is not None:
        out = transpose_p.bind(out, permutation=permutation)
    aval = linear.aval
    if out.aval.dtype is not aval.dtype:
        out = convert_element_type_p.bind(out, new_dtype=aval.dtype, weak_type=aval.weak_type)
    return (None, out) if rhs_is_linear else (out, None)
