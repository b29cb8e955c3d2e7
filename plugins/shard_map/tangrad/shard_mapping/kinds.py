"""Sharded maps as a plugin, and the rule kind that they own."""

from __future__ import annotations

from tangrad.core import RuleKind, Transformation
from tangrad.shard_mapping.replication import default_rule

replication = RuleKind(
    "replication",
    api=1,
    signature="(varying, params) -> varying of each result",
    doc="along which mapped axes the results differ, given along which the operands do (frozensets of names)",
    default=default_rule,
    optional=True,
)
shard_map = Transformation(
    "shard_map", api=1, kinds=(replication,), doc="functions of parts of arrays, mapped over the devices of a mesh"
)
