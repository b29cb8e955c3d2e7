"""Sparse arrays element by element: what is 0 at 0 applies to the values that are kept."""

from __future__ import annotations

from typing import Any

from tangrad._sparse.base import JAXSparse
from tangrad._sparse.rule_helpers import of_each_element, of_values
from tangrad.core import Primitive, RuleSet
from tangrad.extend import lax as p

sparse: RuleSet[Any] = RuleSet("sparse", api=1)

of_values(sparse, p.neg_p, p.real_p, p.imag_p, p.conj_p)
of_each_element(
    sparse,
    *(p.sign_p, p.abs_p, p.floor_p, p.ceil_p, p.round_p, p.reduce_precision_p, p.convert_element_type_p),
    *(p.sqrt_p, p.cbrt_p, p.square_p, p.expm1_p, p.log1p_p),
    *(p.sin_p, p.tan_p, p.asin_p, p.atan_p, p.sinh_p, p.tanh_p, p.asinh_p, p.atanh_p),
)


@sparse.rule(p.integer_pow_p)
def _(x: Any, *, y: int) -> Any:
    if y <= 0:
        raise NotImplementedError(f"sparsify: a sparse array to the power {y}, in which 0 would be 1 or infinite")
    values = x if y == 1 else x.with_unique_indices()
    return values.like(p.integer_pow_p.bind(values.data, y=y))


@sparse.rule(p.add_p)
def _(x: Any, y: Any) -> Any:
    return x + y


@sparse.rule(p.sub_p)
def _(x: Any, y: Any) -> Any:
    return x - y


@sparse.rule(p.mul_p)
def _(x: Any, y: Any) -> Any:
    return x * y


@sparse.rule(p.div_p)
def _(x: Any, y: Any) -> Any:
    if isinstance(y, JAXSparse):
        raise NotImplementedError("sparsify: division by a sparse array, whose zeros would give NaN or infinity")
    return x / y


def _dense_result(*primitives: Primitive) -> None:
    sparse.not_applicable("it is not 0 where its operand is: apply it to `sparse.todense(x)`", *primitives)


_dense_result(
    *(p.exp_p, p.exp2_p, p.log_p, p.logistic_p, p.rsqrt_p, p.cos_p, p.acos_p, p.cosh_p, p.acosh_p, p.not_p),
    *(p.eq_p, p.ne_p, p.lt_p, p.le_p, p.gt_p, p.ge_p, p.is_finite_p),
)
