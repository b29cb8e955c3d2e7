"""How the elementwise primitives that are linear map cotangents back."""

from __future__ import annotations

from tangrad._lax.checks import COMPLEX, is_kind
from tangrad._lax.elementwise import primitives as p
from tangrad.autodiff import Linear, is_linear, linear_transpose_rule, unbroadcast
from tangrad.core import RuleSet, ShapedArray, literal
from tangrad.typing import Value

transpose = RuleSet("transpose", api=1)


def _zero(like: Value) -> Value:
    return literal(0, like.aval.dtype, True)


def _back(ct: Value, aval: ShapedArray) -> Value:
    """`unbroadcast`, which is asked only where there is something to sum."""
    return ct if ct.aval.shape == aval.shape else unbroadcast(ct, aval)


# --- one operand ---------------------------------------------------------------------------------------------------

linear_transpose_rule(transpose, p.neg_p, lambda ct, x: p.neg_p.bind(ct))
linear_transpose_rule(transpose, p.real_p, lambda ct, x: p.complex_p.bind(ct, _zero(ct)))
linear_transpose_rule(transpose, p.imag_p, lambda ct, x: p.complex_p.bind(_zero(ct), p.neg_p.bind(ct)))
linear_transpose_rule(
    transpose, p.conj_p, lambda ct, x: p.conj_p.bind(ct) if is_kind(x.dtype, (COMPLEX,)) else p.real_p.bind(ct)
)
linear_transpose_rule(
    transpose,
    p.convert_element_type_p,
    lambda ct, x, **_: p.convert_element_type_p.bind(ct, new_dtype=x.dtype, weak_type=x.weak_type),
)
linear_transpose_rule(transpose, p.reduce_precision_p, lambda ct, x, **params: p.reduce_precision_p.bind(ct, **params))

# --- two operands --------------------------------------------------------------------------------------------------


@transpose.rule(p.add_p)
def _add(ct: Value, x: Value | Linear, y: Value | Linear) -> tuple[Value | None, ...]:
    return unbroadcast(ct, x.aval) if is_linear(x) else None, unbroadcast(ct, y.aval) if is_linear(y) else None


@transpose.rule(p.sub_p)
def _sub(ct: Value, x: Value | Linear, y: Value | Linear) -> tuple[Value | None, ...]:
    return (
        unbroadcast(ct, x.aval) if is_linear(x) else None,
        p.neg_p.bind(unbroadcast(ct, y.aval)) if is_linear(y) else None,
    )


@transpose.rule(p.mul_p)
def _mul(ct: Value, x: Value | Linear, y: Value | Linear) -> tuple[Value | None, ...]:
    if type(x) is Linear:
        if type(y) is Linear:
            raise TypeError("mul: a product of two arguments is not linear in both, so it cannot be transposed")
        return _back(p.mul_p.bind(ct, y), x.aval), None
    return None, _back(p.mul_p.bind(x, ct), y.aval)


@transpose.rule(p.div_p)
def _div(ct: Value, x: Value | Linear, y: Value | Linear) -> tuple[Value | None, ...]:
    if is_linear(y):
        raise TypeError("div: a quotient is not linear in its denominator, so it cannot be transposed by it")
    return unbroadcast(p.div_p.bind(ct, y), x.aval), None


@transpose.rule(p.complex_p)
def _complex(ct: Value, x: Value | Linear, y: Value | Linear) -> tuple[Value | None, ...]:
    return (
        unbroadcast(p.real_p.bind(ct), x.aval) if is_linear(x) else None,
        unbroadcast(p.neg_p.bind(p.imag_p.bind(ct)), y.aval) if is_linear(y) else None,
    )


# --- selection -----------------------------------------------------------------------------------------------------


@transpose.rule(p.select_n_p)
def _select_n(ct: Value, which: Value | Linear, *cases: Value | Linear) -> tuple[Value | None, ...]:
    zero = _zero(ct)

    def part(position: int, case: Value | Linear) -> Value | None:
        if not is_linear(case):
            return None
        chosen = [ct if i == position else zero for i in range(len(cases))]
        if len(cases) == 1:
            return unbroadcast(ct, case.aval)
        return unbroadcast(p.select_n_p.bind(which, *chosen), case.aval)

    return (None, *[part(position, case) for position, case in enumerate(cases)])


transpose.not_applicable(
    "it is not linear", *[each for each in p.elementwise.primitives.values() if each not in transpose.rules]
)
