"""Products of vectors and matrices of one dtype without options: the most frequent ones, on the shortest way."""

from __future__ import annotations

from typing import Any

from tangrad.core import FixedParams, register_cache
from tangrad.lax.contractions.primitives import DotDimensionNumbers

MATMUL = {(left, right): DotDimensionNumbers((((left - 1,), (0,)), ((), ()))) for left in (1, 2) for right in (1, 2)}
# The parameters of products of vectors and matrices without options.
_PLAIN = {
    ranks: FixedParams(dimension_numbers=numbers, precision=None, preferred_element_type=None)
    for ranks, numbers in MATMUL.items()
}


# Types of two operands -> the parameters of their product: one look-up decides.
plain_products: dict[Any, FixedParams] = {}
register_cache(plain_products.clear)
TABLE_LIMIT = 1024


def note_plain(left: Any, right: Any) -> None:
    """Remember types of operands whose product needs no more than the primitive."""
    params = _PLAIN.get((left.ndim, right.ndim))
    if params is None or left.dtype is not right.dtype or left.shape[-1] != right.shape[0]:
        return
    if len(plain_products) >= TABLE_LIMIT:
        plain_products.clear()
    plain_products[left, right] = params
