"""How results of differentiation's own arithmetic are sharded."""

from __future__ import annotations

from typing import Any

from tangrad._autodiff import primitives as p
from tangrad.core import RuleSet
from tangrad.extend.sharding import positionwise

sharding = RuleSet("sharding", api=1)
positionwise(sharding, p.add_any_p, p.set_weak_type_p)


@sharding.rule(p.append_dims_p, p.sum_trailing_p)
def _(operands: Any, results: Any, params: Any) -> Any:
    """Trailing dimensions come and go."""
    rank = results[0].ndim
    return ((*operands[0].axes, *[()] * rank)[:rank],)
