"""The rule kind that sharded maps own."""

from __future__ import annotations

from tangrad.core import RuleKind
from tangrad.shard_mapping.replication import default_rule

replication = RuleKind(
    "replication",
    api=1,
    signature="(varying, params) -> varying of each result",
    doc="along which mapped axes the results differ, given along which the operands do (frozensets of names)",
    default=default_rule,
    optional=True,
)
