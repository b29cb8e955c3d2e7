"""Direct calls: what a public function comes down to where nothing is traced, found once for each signature.

The kernel keeps what computes each operation, by backend, primitive, parameters and types. To make that key, and to
find out what the types of the operands say before, takes as long as NumPy's addition of a few numbers. So public
functions keep the same functions of arrays under keys of their own, which they have at hand.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tangrad.core import EVAL_TRACE, Array, Primitive, Tracer, thread
from tangrad.core.transformations import kept_elsewhere

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

    def apply(self, key: Any, primitive: Primitive, args: tuple[Any, ...], params: Any = None) -> Any:
        """Apply a primitive under the current trace; at the bottom, keep under `key` the function that does it."""
        trace, params = thread.trace, {} if params is None else params
        out = trace.process_primitive(primitive, args, params)
        if trace is EVAL_TRACE and primitive.evaluate is None and primitive.effects is None:
            array = next((arg for arg in args if isinstance(arg, Array) and not isinstance(arg, Tracer)), None)
            call = None if array is None else array.backend.direct(primitive, args, params)
            if call is not None:
                self.keep(key, call)
        return out

    def keep(self, key: Any, call: Callable[..., Any]) -> None:
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
