"""The rules of autodiff's own family, for its own kinds."""

from __future__ import annotations

from typing import Any

from tangrad._autodiff.jvp_rules import linear_jvp, zero_jvp
from tangrad._autodiff.primitives import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p, zeros_p
from tangrad._autodiff.transpose_rules import is_linear, linear_transpose_rule
from tangrad.core import RuleSet

jvp = RuleSet("jvp", api=1)
linear_jvp(jvp, add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p)
zero_jvp(jvp, zeros_p)

transpose = RuleSet("transpose", api=1)


@transpose.rule(add_any_p)
def _(cotangent: Any, x: Any, y: Any) -> Any:
    return cotangent if is_linear(x) else None, cotangent if is_linear(y) else None


linear_transpose_rule(transpose, append_dims_p, lambda ct, aval, sizes: sum_trailing_p.bind(ct, count=len(sizes)))
linear_transpose_rule(
    transpose, sum_trailing_p, lambda ct, aval, count: append_dims_p.bind(ct, sizes=aval.shape[aval.ndim - count :])
)
linear_transpose_rule(transpose, set_weak_type_p, lambda ct, aval, weak_type: ct)
transpose.not_applicable("it has no arguments", zeros_p)
