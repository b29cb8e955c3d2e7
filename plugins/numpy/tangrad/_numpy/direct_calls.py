"""Direct calls: what a public function comes down to where nothing is traced."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tangrad.core import EVAL_TRACE, Array, Primitive, ShapedArray, Tracer, thread
from tangrad.core.caches import FixedParams, register_cache
from tangrad.core.transformations import kept_elsewhere
from tangrad.extend.lax import DotDimensionNumbers, dot_general_p

# ----------------------------------------------------------------------------------------------------------------------
# Direct calls: what a public function comes down to where nothing is traced, found once for each signature.
# The kernel keeps what computes each operation, by backend, primitive, parameters and types. To make that key, and to
# find out what the types of the operands say before, takes as long as NumPy's addition of a few numbers. So public
# functions keep the same functions of arrays under keys of their own, which they have at hand.


LIMIT = 4096


class DirectCalls(dict[Any, Callable[..., Any]]):
    """Keys of a public function's own making -> functions of arrays that compute a primitive.

    A key must say which primitive with which parameters it is, the avals of all operands, and which are literals. Who
    looks into the table has seen that the current trace is `EVAL_TRACE`. A function that is in it may be called with
    any operands that the key describes: what it cannot compute directly (tracers, deleted arrays, arrays of other
    backends and devices) it hands to `evaluate`.

    >>> import tangrad
    >>> from tangrad._lax.elementwise.primitives import sin_p
    >>> from tangrad._numpy.direct_calls import DirectCalls
    >>> calls, x = DirectCalls(), tangrad.numpy.zeros(2)
    >>> calls.get(x.aval, lambda x: calls.apply(x.aval, sin_p, (x,)))(x)  # from the second time on, found under the key
    Array([0., 0.], dtype=float32)
    """

    __slots__ = ("__weakref__",)

    def __init__(self) -> None:
        super().__init__()
        _tables.add(self)

    __hash__ = object.__hash__  # type: ignore[assignment]  # one of a set of tables, whatever is in it

    def apply(self, key: object, primitive: Primitive, args: tuple[object, ...], params: object = None) -> Any:
        """Apply a primitive under the current trace; at the bottom, keep under `key` the function that does it."""
        trace, params = thread.trace, {} if params is None else params
        out = trace.process_primitive(primitive, args, params)
        if trace is EVAL_TRACE and primitive.evaluate is None and primitive.effects is None:
            array = next((arg for arg in args if isinstance(arg, Array) and not isinstance(arg, Tracer)), None)
            call = None if array is None else array.backend.direct(primitive, args, params)
            if call is not None:
                self.keep(key, call)
        return out

    def keep(self, key: object, call: Callable[..., Any]) -> None:
        """Have `call` under `key`, as long as operations are not looked at one by one."""
        if len(self) >= LIMIT:
            self.clear()
        self[key] = call
        if EVAL_TRACE.watched:  # looked at last: it may have changed meanwhile
            self.clear()


_tables: weakref.WeakSet[DirectCalls] = weakref.WeakSet()


def _forget() -> None:
    for table in tuple(_tables):
        table.clear()


kept_elsewhere.append(_forget)


# ----------------------------------------------------------------------------------------------------------------------
# Products of vectors and matrices of one dtype without options: the most frequent ones, on the shortest way.


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
