"""The rules that those of kernels take the place of, and hand to what no kernel takes."""

from __future__ import annotations

from typing import Any

from tangrad.core import Primitive, rule_table


def replaced(kind: str, primitive: Primitive) -> Any:
    """The rule that there would be for a primitive without this distribution."""
    for plugin in rule_table(kind).cell(primitive).overridden:
        return plugin.load().rules[primitive]
    return rule_table(kind.rpartition(".")[0])[primitive]
