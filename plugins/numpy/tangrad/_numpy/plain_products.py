"""Products of vectors and matrices of one dtype without options: the most frequent ones, on the shortest way."""

from __future__ import annotations

from typing import Any

from tangrad.core import EVAL_TRACE, Array, ShapedArray, thread
from tangrad.core.caches import DirectCalls, FixedParams, register_cache
from tangrad.extend.lax import DotDimensionNumbers, dot_general_p

MATMUL = {(left, right): DotDimensionNumbers((((left - 1,), (0,)), ((), ()))) for left in (1, 2) for right in (1, 2)}
# The parameters of products of vectors and matrices without options.
_PLAIN = {
    ranks: FixedParams(dimension_numbers=numbers, precision=None, preferred_element_type=None)
    for ranks, numbers in MATMUL.items()
}


# Types of two operands -> the parameters of their product: one look-up decides.
plain_products: dict[object, FixedParams] = {}
register_cache(plain_products.clear)
TABLE_LIMIT = 1024


def note_plain(left: ShapedArray, right: ShapedArray) -> None:
    """Remember types of operands whose product needs no more than the primitive."""
    params = _PLAIN.get((left.ndim, right.ndim))
    if params is None or left.dtype is not right.dtype or left.shape[-1] != right.shape[0]:
        return
    if len(plain_products) >= TABLE_LIMIT:
        plain_products.clear()
    plain_products[left, right] = params


_calls = DirectCalls()


def plain_product(a: Any, b: Any) -> Array | None:
    """The product of operands whose types were noted; None where it needs more than the primitive."""
    try:
        key = a.aval, b.aval
        params = plain_products[key]
    except (AttributeError, KeyError):
        return None
    if thread.default_matmul_precision is not None:
        return None
    trace = thread.trace
    if trace is not EVAL_TRACE:
        if not (hasattr(type(a), "aval") and hasattr(type(b), "aval")):  # one only stands for an array
            return None
        return trace.process_primitive(dot_general_p, (a, b), params)
    call = _calls.get(key)
    return _calls.apply(key, dot_general_p, (a, b), params) if call is None else call(a, b)
