"""The trace whose values are truncated power series.

A series is a tuple of as many coefficients as the order and one more: x₀, x₁, ..., those of x₀ + x₁ t + x₂ t² + ...,
all of one type. None is a coefficient known to be 0, so that no arithmetic is spent on it; x₀ is never None.
"""

from __future__ import annotations

from typing import Any

import numpy

from tangrad import lax
from tangrad.core import (
    Trace,
    Tracer,
    as_operand,
    calls_rules,
    current_source,
    current_trace,
    dtypes,
    holding,
    rule_table,
    set_current_trace,
    thread,
)
from tangrad.core.transformations import check_no_leak, close_trace

TAYLOR = rule_table("taylor")


def is_inexact(value: Any) -> bool:
    """Whether values of this dtype have derivatives."""
    return bool(dtypes.issubdtype(value.aval.dtype, numpy.inexact))


class Polynomial(Tracer):
    """A value with its series; of a derived rule's own answer that is computed when it is needed."""

    __slots__ = ("coefficients", "primal")

    def __init__(self, trace: Any, primal: Any, coefficients: Any) -> None:
        self._trace, self.aval, self.primal, self.coefficients = trace, primal.aval, primal, coefficients

    def concrete(self) -> Any:
        """What is behind the first coefficient, so that programs may branch on it outside of `jit`."""
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def known(self) -> dict[str, Any]:
        """For `repr`: the series, as far as it was computed."""
        later = callable(self.coefficients) or self.coefficients is None
        return {"primal": self.primal} if later else {"primal": self.primal, "coefficients": self.coefficients[1:]}

    def origin(self) -> str:
        """For error messages."""
        return "a value under jet"


class TaylorTrace(Trace):
    """Applies rules of kind `taylor` where an operand has a series that is not constant.

    Attributes:
        order: of the series.
        answer: None, or (primitive, operands, params, its results), which are known already.
    """

    __slots__ = ("answer", "order", "parent")

    def __init__(self, parent: Any, order: int) -> None:
        super().__init__(parent)
        self.parent, self.order, self.answer = parent, order, None

    def series(self, value: Any) -> Any:
        """The series of a value."""
        if not self.owns(value):
            return (as_operand(value), *[None] * self.order)
        if callable(value.coefficients):
            value.coefficients = value.coefficients()
        return value.coefficients

    def owns(self, value: Any) -> bool:
        """Whether a value has a series in this trace."""
        return isinstance(value, Polynomial) and value._trace is self

    def value(self, primal: Any, *rest: Any) -> Any:
        """The value with this series; the value itself where the rest is 0."""
        if not is_inexact(primal) or all(term is None for term in rest):
            return primal
        shape = primal.aval.shape  # of scalars beside arrays coefficients are scalars
        rest = tuple([x if x is None or x.aval.shape == shape else lax.broadcast(x, shape) for x in rest])
        return Polynomial(self, primal, (primal, *rest))

    def later(self, primal: Any, rest: Any) -> Any:
        """The value with a series whose rest a function gives."""
        if not self.order or not is_inexact(primal):
            return primal
        return Polynomial(self, primal, lambda: (primal, *rest()))

    def process_primitive(self, primitive: Any, args: Any, params: Any) -> Any:
        """Apply a primitive to values, some of which may have a series."""
        if self.answer is not None:
            known, operands, known_params, results = self.answer
            if primitive is known and params == known_params and all([a is b for a, b in zip(args, operands)]):
                return results
        source = thread.source
        if source is None and self.stages:  # the user's line, for all that the rule will do
            source = current_source(2)
        with holding(source=source), set_current_trace(self.parent):
            if not any([self.owns(arg) for arg in args]):
                return primitive.bind(*args, **params)
            return self._by_rule(primitive, [self.series(arg) for arg in args], params)

    @calls_rules("taylor")
    def _by_rule(self, primitive: Any, series: list[Any], params: Any) -> Any:
        out = TAYLOR[primitive](series, **params)
        outs = out if primitive.multiple_results else (out,)
        if not isinstance(outs, (tuple, list)) or not all([self._is_series(one) for one in outs]):
            expected = f"{self.order + 1} coefficients, arrays or None for 0, the first of them an array"
            several = ", for each result" if primitive.multiple_results else ""
            raise TypeError(f"the taylor rule of {primitive.identity!r} returned {out!r}; expected {expected}{several}")
        return tuple([self.value(*one) for one in outs]) if primitive.multiple_results else self.value(*out)

    def _is_series(self, terms: Any) -> bool:
        if not isinstance(terms, (tuple, list)) or len(terms) != self.order + 1 or not hasattr(type(terms[0]), "aval"):
            return False
        return not is_inexact(terms[0]) or all([term is None or hasattr(type(term), "aval") for term in terms])


def run(function: Any, series: Any, order: int) -> list[Any]:
    """The series of the flat results of a function of flat arguments that have these series."""
    trace = TaylorTrace(current_trace(), order)
    try:
        with set_current_trace(trace):
            outs = function(*[trace.value(*one) for one in series])
        found = [trace.series(out) for out in outs]
    finally:
        reference = close_trace(trace)
    if thread.check_tracer_leaks:
        del trace, outs
        check_no_leak(reference)
    return found
