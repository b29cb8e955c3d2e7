"""How results of the family are sharded: as their parameters say."""

from __future__ import annotations

from typing import Any

from tangrad._sharding.primitives import auto_axes_p, sharding_constraint_p
from tangrad.core import RuleSet

sharding = RuleSet("sharding", api=1)


@sharding.rule(sharding_constraint_p)
def _(operands: Any, results: Any, params: Any) -> Any:
    return results


@sharding.rule(auto_axes_p)
def _(operands: Any, results: Any, params: Any) -> Any:
    forgotten = params["axes"]
    return (
        tuple([
            tuple([axis for axis in cut if forgotten is not None and axis not in forgotten])
            for cut in operands[0].axes
        ]),
    )  # fmt: skip
