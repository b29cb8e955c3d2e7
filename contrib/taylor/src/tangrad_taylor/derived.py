"""Rules for primitives that have none: by their jvp rule, or by their decomposition.

Of y = f(x) the jvp rule is y' = J(x) x'. Run on series of one order less, x and x', it gives the series of y', hence
that of y. The run may need the series of order K - 1 of f itself, which takes a run of order K - 2, and so on: K runs
for order K, where nesting `jvp` takes 2ᴷ.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tangrad.autodiff import Zero
from tangrad.core import DerivedRule, decomposed, rule_table, run_traced
from tangrad.errors import MissingRuleError
from tangrad_taylor.arithmetic import array, is_constant, scaled
from tangrad_taylor.trace import TaylorTrace, is_inexact, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from tangrad.core import Primitive
    from tangrad.typing import Params, Value
    from tangrad_taylor.arithmetic import Series, Terms

    Rule: TypeAlias = Callable[..., Series | list[Series]]

JVP = rule_table("jvp")


def derived(primitive: Primitive) -> Rule:
    """A rule by the jvp rule if there is one, which is better than the decomposition; else by that."""
    by_rule = primitive.decompose is None or JVP.cell(primitive).status == "rule"
    return by_jvp(primitive) if by_rule else by_decomposition(primitive)


def by_decomposition(primitive: Primitive) -> Rule:
    """The rule of a primitive that runs its decomposition on series."""

    def rule(series: Sequence[Series], **params: object) -> Series | list[Series]:
        def function(*args: Value) -> tuple[Value, ...]:
            return _as_tuple(primitive, decomposed(primitive, args, params))

        with DerivedRule(primitive, "taylor"):
            outs = run(function, series, len(series[0]) - 1)
        return outs if primitive.multiple_results else outs[0]

    return rule


def by_jvp(primitive: Primitive) -> Rule:
    """The rule of a primitive that runs its jvp rule on series of one order less."""

    def rule(series: Sequence[Series], **params: object) -> Series | list[Series]:
        outs = _as_tuple(primitive, primitive.bind(*[one[0] for one in series], **params))
        grown = _grown(primitive, series, params, outs)
        return grown if primitive.multiple_results else grown[0]

    return rule


def _as_tuple(primitive: Primitive, out: Any) -> tuple[Any, ...]:
    return tuple(out) if primitive.multiple_results else (out,)


def _grown(primitive: Primitive, series: Sequence[Series], params: Params, outs: Sequence[Value]) -> list[Series]:
    """The series of the results, of which the first coefficients are known."""
    order = len(series[0]) - 1
    if is_constant(*series) or not any([is_inexact(out) for out in outs]):
        return [(out, *[None] * order) for out in outs]
    jvp = JVP.get_rule(primitive)
    if jvp is None:
        raise MissingRuleError(
            f"jet: primitive {primitive.identity!r} has no rule of kind 'taylor', and none can be derived: it has "
            "neither a rule of kind 'jvp' nor a decomposition",
            primitive.identity,
            "taylor",
        )

    # What the rule has beside tangents is its answer, of which it may need no more than the value.
    shorter = [_shorter(one) for one in series]
    lower = cache(lambda: _grown(primitive, shorter, params, outs))

    def rest(place: int) -> Terms:
        return lower()[place][1:]

    def traced(trace: TaylorTrace) -> list[Terms]:
        primals = tuple([trace.value(*one) for one in shorter])
        tangents = tuple([_derivative(trace, one) for one in series])
        answers = tuple([trace.later(out, partial(rest, place)) for place, out in enumerate(outs)])
        trace.answer = primitive, primals, params, answers if primitive.multiple_results else answers[0]
        try:
            _, found = jvp(primals, tangents, **params)
            return [_series(trace, slope) for slope in _as_tuple(primitive, found)]
        finally:
            trace.answer = None

    slopes = run_traced(traced, TaylorTrace, order - 1)
    return [(out, *[scaled(1 / k, term) for k, term in enumerate(one, 1)]) for out, one in zip(outs, slopes)]


def _shorter(series: Series) -> Series:
    first, *rest = series
    return first, *rest[:-1]


def _derivative(trace: TaylorTrace, series: Series) -> Value | Zero:
    """x' as a value; a symbolic zero of what is constant."""
    if is_constant(series):
        return Zero.of(series[0])
    first, *rest = [scaled(k, term) for k, term in enumerate(series[1:], 1)]
    return trace.value(array(first, series[0]), *rest)


def _series(trace: TaylorTrace, slope: Value | Zero) -> Terms:
    return [None] * (trace.order + 1) if type(slope) is Zero else trace.series(slope)
