"""What maps over meshes, and constraints of shardings, do with random keys."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._random.key_reuse.uses import SAME, KeyRule, KeyUse, of_call
from tangrad.core import ClosedJaxpr, RuleSet, ShapedArray, find_primitive

shard_map: RuleSet[KeyRule] = RuleSet("key_reuse", api=1)
sharding: RuleSet[KeyRule] = RuleSet("key_reuse", api=1)
sharding.table({find_primitive("sharding.sharding_constraint"): SAME})


@shard_map.rule(find_primitive("shard_map.shard_map"))
def _(avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr, **_: object) -> KeyUse:
    return of_call(avals, jaxpr)
