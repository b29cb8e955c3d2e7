"""The rule kind that sharded maps own."""

from __future__ import annotations

from tangrad._sharding.shard_map.replication import default_rule
from tangrad.core import RuleKind

replication = RuleKind(
    "replication",
    api=1,
    signature="(varying, params) -> varying of each result",
    doc="along which mapped axes the results differ, given along which the operands do (frozensets of names)",
    default=default_rule,
    optional=True,
)
