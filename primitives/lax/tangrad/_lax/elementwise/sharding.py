"""How results of the elementwise primitives are sharded: as their operands are, which must agree."""

from __future__ import annotations

from typing import Any

from tangrad._lax.elementwise.primitives import bitcast_convert_type_p, elementwise
from tangrad.core import RuleSet
from tangrad.extend.sharding import positionwise

sharding = RuleSet("sharding", api=1)
positionwise(sharding, *[p for p in elementwise.primitives.values() if p is not bitcast_convert_type_p])


@sharding.rule(bitcast_convert_type_p)
def _(operands: Any, results: Any, params: Any) -> Any:
    """A last dimension of parts of numbers is whole in the memory of one device."""
    rank = results[0].ndim
    return ((*operands[0].axes, ())[:rank],)
