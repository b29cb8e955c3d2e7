"""Tangents and cotangents: those that are zero by structure, their types, and how jvp rules are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from tangrad._autodiff.primitives import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p, zeros_p
from tangrad.core import Array, Primitive, RuleSet, ShapedArray, as_operand, calls_rules, dtypes, get_aval, literal

if TYPE_CHECKING:
    from tangrad.typing import Dimensions, DType, Value, Values


M = TypeVar("M")  # what is made of an aval


@final  # so that `type(x) is Zero` narrows both ways
class Zero:
    """A tangent or cotangent known to be zero: no arithmetic is spent on it."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"

    @staticmethod
    def of(value: Any) -> Zero:
        """The zero tangent of a value."""
        return _zero_tangents[value.aval if hasattr(type(value), "aval") else get_aval(value)]

    from_primal_value = of  # as jax calls it

    def repeated(self, size: object, position: int) -> Zero:
        """The zero with a new axis at `position`: what `vmap` makes of one among its results."""
        shape = self.aval.shape
        return Zero(self.aval.update(shape=(*shape[:position], size, *shape[position:])))


class Linear:
    """Stands for an argument that a linear function is transposed with respect to. Only its type is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> Dimensions:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    def __repr__(self) -> str:
        return f"Linear({self.aval.str_short()})"


class _ByAval(dict[ShapedArray, M]):
    """What is made of an aval, once; bounded."""

    def __init__(self, make: Callable[[ShapedArray], M]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, aval: ShapedArray) -> M:
        if len(self) >= BY_AVAL_LIMIT:
            self.clear()
        made = self[aval] = self.make(aval)
        return made


BY_AVAL_LIMIT = 2048
_zero_tangents = _ByAval(lambda aval: Zero(tangent_aval(aval)))
# The number one of an aval's dtype: the cotangent that a gradient starts from.
ones_scalars = _ByAval(lambda aval: literal(1, aval.dtype, aval.weak_type))
# The placeholder for a linear argument of a transpose rule.
linear_placeholders = _ByAval(Linear)


def has_tangent(dtype: DType) -> bool:
    """Whether values of this dtype have tangents: floating-point and complex numbers do."""
    try:
        return _has_tangent[dtype]
    except KeyError:
        found = _has_tangent[dtype] = bool(dtypes.issubdtype(dtype, np.inexact))
        return found


_has_tangent: dict[Any, bool] = {}  # bounded by the number of dtypes


def tangent_aval(aval: ShapedArray) -> ShapedArray:
    """The type of the tangents of values of type `aval`: float0 for integers, booleans and keys."""
    return aval if has_tangent(aval.dtype) else aval.to_tangent_aval()


def instantiate(tangent: Value | Zero) -> Value:
    """The tangent itself, or an array of zeros in place of a symbolic `Zero`."""
    return zeros(tangent.aval) if type(tangent) is Zero else tangent


def zeros(aval: Any) -> Value:
    """An array of zeros of type `aval`, with a sharding only where that determines how parts are combined."""
    if aval.infer_types is not None and aval.is_combined:
        return aval.constrain(zeros(aval.plain))
    if not aval.shape and aval.dtype is not dtypes.float0:
        return literal(0, aval.dtype, aval.weak_type)
    return zeros_p.bind(shape=aval.shape, dtype=aval.dtype, weak_type=aval.weak_type)


@calls_rules("transpose")
def check_cotangent(primitive: Primitive, cotangent: Value, aval: ShapedArray) -> None:
    """Raise TypeError or ValueError where a transpose rule returned no cotangent of an argument of that type."""
    rule = f"the transpose rule of {primitive.identity!r}"
    try:
        found = cotangent.aval if hasattr(type(cotangent), "aval") else get_aval(cotangent)
    except TypeError:
        kind = type(cotangent).__name__
        raise TypeError(f"{rule} returned {cotangent!r} of type {kind}; expected an array, or None") from None
    if found.shape != aval.shape:
        raise ValueError(f"{rule} returned a cotangent of shape {found.shape} for an argument of shape {aval.shape}")
    if found.dtype != aval.dtype:
        raise TypeError(
            f"{rule} returned a cotangent of type {found.str_short()} for an argument of type {aval.str_short()}"
        )


def add_tangents(one: Value | Zero, other: Any) -> Value:
    """The sum of two tangents, either of which may be symbolically zero."""
    if type(one) is Zero:
        return other
    if type(other) is Zero:
        return one
    return add_any_p.bind(one, other)


def broadcast_tangent(tangent: Value, shape: Dimensions) -> Value:
    """A scalar tangent at the shape of the arrays that the scalar stood beside."""
    return append_dims_p.bind(tangent, sizes=tuple(shape)) if not tangent.aval.shape and shape else tangent


def unbroadcast(cotangent: Value, aval: ShapedArray) -> Value:
    """The cotangent of an operand of type `aval`: summed where a scalar stood beside arrays."""
    if aval.shape or not cotangent.aval.shape:
        return cotangent
    return sum_trailing_p.bind(cotangent, count=len(cotangent.aval.shape))


def with_weak_type_of(cotangent: Value, aval: ShapedArray) -> Value:
    """A cotangent with the weak-type flag of what it is a cotangent of."""
    if cotangent.aval.weak_type == aval.weak_type or cotangent.aval.dtype is not aval.dtype:
        return cotangent
    return set_weak_type_p.bind(cotangent, weak_type=aval.weak_type)


# --- how jvp rules are written: one line in a table for the usual kinds of primitives ---

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
    def rule(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> tuple[Array, ...]:
        answer = primitive.bind(*primals, **params)
        return answer, primitive.bind(*[instantiate(tangent) for tangent in tangents], **params)

    return symbolic_zeros(rule)


def multilinear_jvp(jvp: RuleSet, primitive: Primitive, positions: tuple[int, ...]) -> None:
    """Register the rule of a primitive that is linear in each argument at `positions` separately."""
    jvp.add(primitive, multilinear(primitive, positions))


def multilinear(primitive: Primitive, positions: tuple[int, ...]) -> Rule:
    def rule(primals: Any, tangents: Any, **params: object) -> Any:
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


# --- rules as traces call them ---


@calls_rules("jvp", inner="adapted")
def adapt_jvp_rule(primitive: Primitive, rule: Callable[..., object]) -> Callable[..., Any]:
    """A jvp rule as traces call it: with symbolic zeros, and certain to return a pair, of one type.

    Rules that take symbolic zeros, as all that the helpers make do, are called as they are.
    """
    if getattr(rule, "symbolic_zeros", False):
        return rule

    def adapted(primals: Values, tangents: Values, **params: object) -> object:
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
