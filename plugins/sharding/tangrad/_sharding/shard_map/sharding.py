"""How results of sharded maps are sharded: as `out_specs` say."""

from __future__ import annotations

from typing import Any

from tangrad._sharding.shard_map.primitives import shard_map_p
from tangrad.core import RuleSet

sharding = RuleSet("sharding", api=1)


@sharding.rule(shard_map_p)
def _(operands: Any, results: Any, params: Any) -> Any:
    return results
