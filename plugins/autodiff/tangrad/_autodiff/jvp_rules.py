"""How jvp rules are written: one line in a table for the usual kinds of primitives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._autodiff.zeros import Zero, add_tangents, broadcast_tangent, instantiate
from tangrad.core import Primitive, RuleSet, as_operand, calls_rules, dtypes

if TYPE_CHECKING:
    from tangrad.typing import Value, Values

Rule = Callable[..., Any]


def symbolic_zeros(rule: Rule) -> Rule:
    """Decorator: hand the rule symbolic `Zero` tangents as they are, instead of arrays of zeros."""
    vars(rule)["symbolic_zeros"] = True
    return rule


def elementwise_jvp(jvp: RuleSet, primitive: Primitive, *derivatives: Rule | None) -> None:
    """Register a rule made of one derivative per argument.

    Each derivative is `(tangent, answer, *primals, **params) -> contribution`, linear in `tangent`; None means that the
    result does not depend smoothly on that argument. Contributions are added; those of scalars beside arrays take the
    answer's shape.
    """
    jvp.add(primitive, elementwise(primitive, *derivatives))


def elementwise(primitive: Primitive, *derivatives: Rule | None) -> Rule:
    if len(derivatives) == 1 and derivatives[0] is not None:
        return _unary(primitive, derivatives[0])
    return _elementwise(primitive, derivatives)


def _unary(primitive: Primitive, derivative: Rule) -> Rule:
    def rule(primals: Values, tangents: Values, **params: object) -> Values:
        # Only called with a tangent that is not zero: there is no other argument.
        answer = primitive.bind(*primals, **params)
        return answer, derivative(tangents[0], answer, *primals, **params)

    return symbolic_zeros(rule)


def _elementwise(primitive: Primitive, derivatives: tuple[Rule | None, ...]) -> Rule:
    def rule(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> Any:
        answer = primitive.bind(*primals, **params)
        total = None
        shape = answer.aval.shape
        for tangent, derivative in zip(tangents, derivatives, strict=True):
            if type(tangent) is Zero or derivative is None:
                continue
            term = derivative(tangent, answer, *primals, **params)
            if type(term) is Zero:
                continue
            if term.aval.shape != shape:
                term = broadcast_tangent(term, shape)
            total = term if total is None else add_tangents(total, term)
        return answer, Zero.of(answer) if total is None else total

    return symbolic_zeros(rule)


def linear_jvp(jvp: RuleSet, *primitives: Primitive) -> None:
    """Register the rule of primitives linear in all arguments jointly: the primitive applied to the tangents."""
    for primitive in primitives:
        jvp.add(primitive, linear(primitive))


def linear(primitive: Primitive) -> Rule:
    def rule(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> Any:
        answer = primitive.bind(*primals, **params)
        return answer, primitive.bind(*[instantiate(tangent) for tangent in tangents], **params)

    return symbolic_zeros(rule)


def multilinear_jvp(jvp: RuleSet, primitive: Primitive, positions: tuple[int, ...]) -> None:
    """Register the rule of a primitive that is linear in each argument at `positions` separately."""
    jvp.add(primitive, multilinear(primitive, positions))


def multilinear(primitive: Primitive, positions: tuple[int, ...]) -> Rule:
    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        answer = primitive.bind(*primals, **params)
        total: Any = None
        for position in positions:
            tangent = tangents[position]
            if type(tangent) is not Zero:
                args = (*primals[:position], tangent, *primals[position + 1 :])
                term = primitive.bind(*args, **params)
                total = term if total is None else add_tangents(total, term)
        return answer, Zero.of(answer) if total is None else total

    return symbolic_zeros(rule)


def zero_jvp(jvp: RuleSet, *primitives: Primitive) -> None:
    """Register primitives whose results carry no tangent: piecewise constant ones, comparisons."""
    for primitive in primitives:
        jvp.add(primitive, zero(primitive))


def zero(primitive: Primitive) -> Rule:
    def rule(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> Any:
        answer = primitive.bind(*primals, **params)
        if primitive.multiple_results:
            return answer, tuple([Zero.of(out) for out in answer])
        return answer, Zero.of(answer)

    return symbolic_zeros(rule)


def primals(primitive: Primitive) -> Rule:
    """The rule of primitives without results, such as checks: they see the primals."""

    def rule(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> Any:
        primitive.bind(*primals, **params)
        return (), ()

    return symbolic_zeros(rule)


# The forms by their names, which need no import: `jvp.form("linear", sum_p)`.
JVP_FORMS: dict[str, Callable[..., Rule]] = {
    "elementwise": elementwise,
    "linear": linear,
    "multilinear": multilinear,
    "primals": primals,
    "zero": zero,
}


# --- rules as traces call them --------------------------------------------------------------------------------------


@calls_rules("jvp", inner="adapted")
def adapt_jvp_rule(primitive: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A jvp rule as traces call it: with symbolic zeros, and certain to return a pair, of one type.

    Rules that take symbolic zeros, as all that the helpers make do, are called as they are.
    """
    if getattr(rule, "symbolic_zeros", False):
        return rule

    def adapted(primals: Values, tangents: Values, **params: object) -> Any:
        out = rule(primals, tuple([instantiate(tangent) for tangent in tangents]), **params)
        if type(out) is not tuple or len(out) != 2:
            raise TypeError(
                f"the jvp rule of {primitive.identity!r} must return (primals_out, tangents_out), got {out!r}"
            )
        primals_out, tangents_out = out
        if not primitive.multiple_results:
            return _pair(primitive, primals_out, tangents_out)
        if len(primals_out) != len(tangents_out):
            raise TypeError(
                f"the jvp rule of {primitive.identity!r} returned {len(primals_out)} primals and {len(tangents_out)} "
                "tangents; each result has one"
            )
        pairs = [_pair(primitive, p, t) for p, t in zip(primals_out, tangents_out)]
        return tuple([p for p, _ in pairs]), tuple([t for _, t in pairs])

    return adapted


@calls_rules("jvp")
def _pair(primitive: Primitive, primal: Value, tangent: Value | Zero) -> tuple[Any, Any]:
    """A primal and its tangent from a rule: operands of one shape, and of one dtype where it has tangents."""
    primal = _operand(primitive, "primal", primal)
    if type(tangent) is Zero:
        return primal, tangent
    tangent = _operand(primitive, "tangent", tangent)
    one, other = primal.aval, tangent.aval
    if one is not other:
        if one.shape != other.shape:
            raise ValueError(
                f"the jvp rule of {primitive.identity!r} returned a tangent of shape {other.shape} for a primal of "
                f"shape {one.shape}"
            )
        if one.dtype != other.dtype and dtypes.issubdtype(one.dtype, np.inexact):
            raise TypeError(
                f"the jvp rule of {primitive.identity!r} returned a tangent of type {other.str_short()} for a primal "
                f"of type {one.str_short()}"
            )
    return primal, tangent


@calls_rules("jvp")
def _operand(primitive: Primitive, what: str, value: Value) -> Value:
    if hasattr(type(value), "aval"):
        return value
    try:
        return as_operand(value)
    except TypeError:
        raise TypeError(
            f"the jvp rule of {primitive.identity!r} returned, as {what}, {value!r} of type {type(value).__name__}; "
            "expected an array"
        ) from None
