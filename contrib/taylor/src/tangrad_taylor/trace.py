"""The trace whose values are truncated power series.

A series is a tuple of as many coefficients as the order and one more: x₀, x₁, ..., those of x₀ + x₁ t + x₂ t² + ...,
all of one type. None is a coefficient known to be 0, so that no arithmetic is spent on it; x₀ is never None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from tangrad import lax
from tangrad.core import RuleTrace, RuleTracer, Tracer, as_operand, dtypes, rule_table, run_traced
from tangrad.core.transformations import call_under

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from tangrad.core import Primitive, Trace
    from tangrad.typing import Params, Value
    from tangrad_taylor.arithmetic import Series, Term, Terms

    Operands: TypeAlias = tuple[Value, ...]
    Answer: TypeAlias = tuple[Primitive, Operands, Params, Value | Operands]

TAYLOR = rule_table("taylor")


def is_inexact(value: Value) -> bool:
    """Whether values of this dtype have derivatives."""
    return bool(dtypes.issubdtype(value.aval.dtype, numpy.inexact))


class Polynomial(RuleTracer):
    """A value with its series; of a derived rule's own answer that is computed when it is needed, by a function."""

    __slots__ = ()

    def concrete(self) -> Value | None:
        """What is behind the first coefficient, so that programs may branch on it outside of `jit`."""
        value: Value = self.value
        return value.concrete() if isinstance(value, Tracer) else value

    def known(self) -> dict[str, object]:
        """For `repr`: the series, as far as it is there."""
        return {"primal": self.value} | ({} if callable(self.extra) else {"coefficients": self.extra[1:]})

    def origin(self) -> str:
        """For error messages."""
        return "a value under jet"


class TaylorTrace(RuleTrace, kind="taylor", own=Polynomial):
    """Applies rules of kind `taylor` where an operand has a series that is not constant.

    Attributes:
        order: of the series.
        answer: None, or (primitive, operands, params, its results), which are known already.
    """

    __slots__ = ("answer", "order")
    answer: Answer | None

    def __init__(self, parent: Trace, order: int) -> None:
        super().__init__(parent)
        self.order, self.answer = order, None

    def series(self, value: Value) -> Series:
        """The series of a value; what gives it is called under the trace below."""
        primal, extra = self.split(value)
        terms: Series | Callable[[], Series] | None = extra
        if terms is None:
            return (as_operand(primal), *[None] * self.order)
        return call_under(self.parent, terms) if callable(terms) else terms

    def value(self, primal: Value, *rest: Term) -> Value:
        """The value with this series; the value itself where the rest is 0."""
        if not is_inexact(primal) or all(term is None for term in rest):
            return primal
        shape = primal.aval.shape  # of scalars beside arrays coefficients are scalars
        rest = tuple([x if x is None or x.aval.shape == shape else lax.broadcast(x, shape) for x in rest])
        tracer: Value = self.tracer(primal, (primal, *rest))
        return tracer

    def later(self, primal: Value, rest: Callable[[], Terms]) -> Value:
        """The value with a series whose rest a function gives."""
        if not self.order or not is_inexact(primal):
            return primal
        tracer: Value = self.tracer(primal, lambda: (primal, *rest()))
        return tracer

    def process_primitive(self, primitive: Primitive, args: Operands, params: Params) -> Value | Operands:
        """Apply a primitive to values, some of which may have a series."""
        if self.answer is not None:
            known, operands, known_params, results = self.answer
            if primitive is known and params == known_params and all([a is b for a, b in zip(args, operands)]):
                return results
        out: Value | Operands = super().process_primitive(primitive, args, params)
        return out

    def apply(
        self,
        primitive: Primitive,
        values: list[Value],
        extras: list[Series | Callable[[], Series] | None],
        params: Params,
    ) -> Value | Operands:
        """Call the rule with the series of all operands."""
        constant = [None] * self.order
        terms = [extra() if callable(extra) else extra for extra in extras]
        series = [(value, *constant) if one is None else one for value, one in zip(values, terms)]
        out = TAYLOR[primitive](series, **params)
        outs = out if primitive.multiple_results else (out,)
        if not isinstance(outs, (tuple, list)) or not all([self._is_series(one) for one in outs]):
            expected = f"{self.order + 1} coefficients, arrays or None for 0, the first of them an array"
            several = ", for each result" if primitive.multiple_results else ""
            raise TypeError(f"the taylor rule of {primitive.identity!r} returned {out!r}; expected {expected}{several}")
        return tuple([self.value(*one) for one in outs]) if primitive.multiple_results else self.value(*out)

    def _is_series(self, terms: object) -> bool:
        if not isinstance(terms, (tuple, list)) or len(terms) != self.order + 1 or not hasattr(type(terms[0]), "aval"):
            return False
        return not is_inexact(terms[0]) or all([term is None or hasattr(type(term), "aval") for term in terms])


def run(function: Callable[..., Iterable[Value]], series: Sequence[Series], order: int) -> list[Series]:
    """The series of the flat results of a function of flat arguments that have these series."""

    def traced(trace: TaylorTrace) -> list[Series]:
        return [trace.series(out) for out in function(*[trace.value(*one) for one in series])]

    return run_traced(traced, TaylorTrace, order)
