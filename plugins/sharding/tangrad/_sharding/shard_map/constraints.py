"""What a function of parts may say about shardings of its values: nothing along the axes that it is mapped over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._sharding.primitives import sharding_constraint_p
from tangrad._sharding.shard_map.specs import mentioned
from tangrad.core import ClosedJaxpr, Jaxpr
from tangrad.core.tools import sub_jaxprs
from tangrad.sharding import NamedSharding


def check_constraints(jaxpr: Jaxpr | ClosedJaxpr, manual_axes: Sequence[Any], name: str) -> None:
    """Raise ValueError for a value that is constrained along an axis of which each device has its own part already."""
    for eqn in jaxpr.eqns:
        sharding = eqn.params.get("sharding") if eqn.primitive is sharding_constraint_p else None
        if isinstance(sharding, NamedSharding):
            mapped = [axis for axis in mentioned(sharding) if axis in manual_axes]
            if mapped:
                raise ValueError(
                    f"with_sharding_constraint in {name}: {sharding.spec} names the axis {mapped[0]!r}, over which "
                    f"shard_map maps the function: along it each device has its own part, and nothing is left to "
                    f"cut. Name axes that are left to the compiler: shard_map(axis_names=...) says which are not"
                )
        for inner in sub_jaxprs(eqn.params):
            check_constraints(inner, manual_axes, name)
