"""What `symmetric_product` takes."""

from __future__ import annotations

from typing import Any

from tangrad._lax.checks import FLOATING, check_dtype, check_same_dtype
from tangrad._lax.linalg.checks import check_ranks, check_square


def check_symmetric_product(name: str, a: Any, c: Any) -> None:
    """Raise unless the operands are of one real dtype and fit."""
    for operand, argument in ((a, "a_matrix"), (c, "c_matrix")):
        check_dtype(name, operand, (FLOATING,), argument)
    check_same_dtype(name, (a, c))
    check_ranks(name, (("a_matrix", a, 2), ("c_matrix", c, 2)))
    check_square(name, c, "c_matrix")
    if a.shape[-2] != c.shape[-1]:
        raise ValueError(f"{name}: a_matrix must have as many rows as c_matrix, got shapes {a.shape} and {c.shape}")
