"""Maximum and minimum with one number: NumPy compares element by element, but holds between two bounds by vectors.

Measured, 1 M of float32: `maximum(x, 0.5)` 0.37 ms, `x.clip(0.5, inf)` 0.11. The method costs a call in Python: it is
left for long arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_numpy.functions import ELEMENTWISE, Bind, Function
from tangrad.core.arguments import is_symbolic

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


FEWEST = 4096  # elements


class Clip(Function):
    """The elements held between two numbers of their dtype."""

    __slots__ = ("bounds", "key")
    nature = ELEMENTWISE
    writes_into = True

    def __init__(self, low: np.generic, high: np.generic) -> None:
        self.bounds = (low, high)
        self.key = ("clip", low.tobytes(), high.tobytes(), low.dtype)

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        return operator.methodcaller("clip", *self.bounds)

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        return f"{operands[0]}.clip({self._bounds(bind)})"

    def text_into(self, out: str, operands: Sequence[str], bind: Bind) -> list[str]:
        return [f"{operands[0]}.clip({self._bounds(bind)}, out={out})"]

    def may_overwrite(self, position: int) -> bool:
        return True

    def _bounds(self, bind: Bind) -> str:
        return ", ".join([bind(bound, name) for bound, name in zip(self.bounds, ("low", "high"), strict=True)])


def maximum(ctx: Lowering, x: Value, y: Value) -> Value:
    """`np.maximum` of values."""
    return _extremum(ctx, np.maximum, x, y)


def minimum(ctx: Lowering, x: Value, y: Value) -> Value:
    """`np.minimum` of values."""
    return _extremum(ctx, np.minimum, x, y)


def clamp(ctx: Lowering, low: Value, x: Value, high: Value) -> Value:
    """`minimum(maximum(x, low), high)`."""
    least, most = [_number(bound, x) for bound in (low, high)]
    if least is None or most is None or not least or not most:  # zeros have signs
        return minimum(ctx, maximum(ctx, x, low), high)
    return ctx.call(Clip(least, most), x)


def _extremum(ctx: Lowering, ufunc: np.ufunc, x: Value, y: Value) -> Value:
    for value, other in ((x, y), (y, x)):
        bound = _number(other, value)
        if bound is None:
            continue
        infinity = bound.dtype.type(np.inf)
        if ufunc is np.maximum:
            held = ctx.call(Clip(bound, infinity), value)
            return held if bound else ctx.add(held, bound)  # for -0.0 clip gives -0.0, whichever zero the bound is
        if bound:
            return ctx.call(Clip(-infinity, bound), value)
    return ctx.ufunc(ufunc, x, y)


def _number(bound: Value, x: Value) -> np.floating | None:
    """The bound of a long array of floats as a scalar of NumPy, if it is a known number."""
    stored = x.stored
    if bound.constant is None or bound.constant.size != 1 or stored.dtype.kind != "f" or stored.dtype.itemsize < 4:
        return None
    if is_symbolic(stored.size) or stored.size < FEWEST or bound.ndim > x.ndim:
        return None
    (number,) = bound.constant.ravel()
    return None if np.isnan(number) else number
