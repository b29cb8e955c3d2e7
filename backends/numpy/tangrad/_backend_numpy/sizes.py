"""Programs of symbolic sizes: what is made for each size, and what serves all.

The text of such a program begins with its variables, `size_n = a0.shape[0]`, and computes with them. What NumPy does
whatever the sizes are (elementwise functions, new shapes) is written out. Other lowerings choose by size what to call;
of those the function of one equation is made at the first call with some sizes, and found by them from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.functions import VIEW, Bind, Function
from tangrad._backend_numpy.size_text import shape_text, size_names, size_text
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, Primitive, ShapedArray, Var
from tangrad.core.arguments import SymbolicDimension, is_symbolic
from tangrad.core.caches import RecentlyUsed

if TYPE_CHECKING:
    from tangrad._backend_numpy.functions import Results
    from tangrad.core import Effect
    from tangrad.typing import Dimensions, Params


MOST_SIZES = 256  # for which the function of an equation is kept


# --- views ---


class SizedBroadcast(Function):
    """An array repeated to a shape that is known at the call."""

    __slots__ = ("key", "shape")
    nature = VIEW

    def __init__(self, shape: Dimensions) -> None:
        self.shape = shape
        self.key = ("broadcast", shape)

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        return f"{bind(np.broadcast_to, 'broadcast_to')}({operands[0]}, {shape_text(self.shape)})"


class SizeValue(Function):
    """A size as an array without dimensions."""

    __slots__ = ("dtype", "key", "size")

    def __init__(self, size: SymbolicDimension, dtype: np.dtype) -> None:
        self.size, self.dtype = size, dtype
        self.key = ("size", size, dtype)

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        return f"{bind(np.asarray, 'asarray')}({size_text(self.size)}, {bind(self.dtype, self.dtype.name)})"


# --- what is made for each size ---


class AtSizes(Function):
    """An equation whose function is chosen by sizes: `dot_general(size_n, a0, a1)`."""

    __slots__ = ("equation",)

    def __init__(self, equation: EquationAtSizes) -> None:
        self.equation = equation

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        sizes = [size_names[name] for name in self.equation.names]
        return f"{bind(self.equation, self.equation.__name__)}({', '.join([*sizes, *operands])})"


class EquationAtSizes:
    """An equation of symbolic sizes as a function of the sizes, in the order of `names`, and its operands."""

    __slots__ = ("__name__", "_closed", "_dimension", "_functions", "_make", "_several", "names")

    def __init__(
        self, closed: ClosedJaxpr, make: Callable[[ClosedJaxpr], Callable[..., tuple[np.ndarray, ...]]]
    ) -> None:
        (equation,) = closed.eqns
        self.__name__ = equation.primitive.name
        found = list(_dimensions(closed))
        self.names = tuple(sorted({name for size in found for name in size.variables()}))
        self._dimension: Any = found[0] if found else None
        self._closed = closed
        self._make = make
        self._several = equation.primitive.multiple_results
        self._functions = RecentlyUsed(MOST_SIZES)

    def __call__(self, *values: Any) -> Results:
        sizes = values[: len(self.names)]
        function = self._functions.recent.get(sizes) or self._function(sizes)
        results = function(*values[len(self.names) :])
        return results if self._several else results[0]

    def _function(self, sizes: tuple[int, ...]) -> Callable[..., tuple[np.ndarray, ...]]:
        found = self._functions.find(sizes)
        if found is None:
            found = self._make(self._dimension.filled_in(self._closed, dict(zip(self.names, sizes))))
            self._functions.add(sizes, found)
        return found


def _dimensions(value: object) -> Iterator[Any]:
    """The symbolic dimensions in the parameters and types of a program."""
    if is_symbolic(value):
        yield value
        return
    parts: Iterable[Any] = ()
    if isinstance(value, (tuple, list)):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, ShapedArray):
        parts = value.shape
    elif isinstance(value, ClosedJaxpr):
        parts = (value.jaxpr,)
    elif isinstance(value, Jaxpr):
        avals = [var.aval for eqn in value.eqns for var in eqn.outvars]
        parts = (*value.in_avals, *avals, *[eqn.params for eqn in value.eqns])
    for part in parts:
        yield from _dimensions(part)


def equation_at_sizes(
    primitive: Primitive,
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    params: Params,
    effects: frozenset[Effect],
    make: Callable[[ClosedJaxpr], Callable[..., tuple[np.ndarray, ...]]],
) -> AtSizes | None:
    """The function of an equation that is chosen at the call; None where no size of it is symbolic."""
    invars, outvars = [Var(aval) for aval in in_avals], [Var(aval) for aval in out_avals]
    closed = ClosedJaxpr(Jaxpr([], invars, outvars, [JaxprEqn(primitive, invars, outvars, params, effects)]))
    equation = EquationAtSizes(closed, make)
    return AtSizes(equation) if equation.names else None
