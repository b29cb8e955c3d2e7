"""Sums of sparse arrays."""

from __future__ import annotations

from typing import Any

from tangrad._sparse.rule_helpers import total
from tangrad.core import RuleSet
from tangrad.extend.lax import reduce_sum_p

sparse: RuleSet[Any] = RuleSet("sparse", api=1)


@sparse.rule(reduce_sum_p)
def _(x: Any, *, axes: Any) -> Any:
    return total(x, axes)
