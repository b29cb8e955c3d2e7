"""The rules that those of kernels take the place of, and hand to what no kernel takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tangrad._kernels.library import library
from tangrad.core import Primitive, RuleSet, rule_table


def replacing(kind: str, rules: Mapping[Primitive, Any]) -> RuleSet[Any]:
    """The rules of a family in the place of those that there are: none where there is no library."""
    made: RuleSet[Any] = RuleSet(kind, api=1, override=True)
    if library() is not None:
        made.table(rules)
    return made


def replaced(kind: str, primitive: Primitive) -> Any:
    """The rule that there would be for a primitive without this distribution."""
    for plugin in rule_table(kind).cell(primitive).overridden:
        return plugin.load().rules[primitive]
    return rule_table(kind.rpartition(".")[0])[primitive]
