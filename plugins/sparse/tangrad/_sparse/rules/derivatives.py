"""What derivatives are made of, with sparse operands: sums of tangents, sums over dimensions, repeats."""

from __future__ import annotations

from typing import Any

from tangrad._sparse.rule_helpers import total
from tangrad.autodiff import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p
from tangrad.core import RuleSet

sparse: RuleSet[Any] = RuleSet("sparse", api=1)


@sparse.rule(add_any_p)
def _(x: Any, y: Any) -> Any:
    return x + y


@sparse.rule(sum_trailing_p)
def _(x: Any, *, count: int) -> Any:
    return total(x, range(x.ndim - count, x.ndim))


@sparse.rule(append_dims_p)
def _(x: Any, *, sizes: Any) -> Any:
    return x.to_bcoo().broadcast_in_dim((*x.shape, *sizes), tuple(range(x.ndim)))


@sparse.rule(set_weak_type_p)
def _(x: Any, *, weak_type: bool) -> Any:
    return x
