"""Branches for platforms, and where values are to be: a saved program runs on one device, with NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import RuleSet, eval_jaxpr
from tangrad.extend.lax import branch_of_platform, device_put_p, platform_dependent_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangrad.core import ClosedJaxpr
    from tangrad.typing import Value, Values

# --- Branches for platforms: of a program that NumPy runs, the one for NumPy ------------------------------------------


portable = RuleSet("portable", api=1)


@portable.rule(platform_dependent_p)
def _(*args: Value, branches: Sequence[ClosedJaxpr], platforms: Sequence[str | None]) -> Values:
    branch = branches[branch_of_platform(platforms, "numpy", "cpu")]
    return tuple(eval_jaxpr(branch.jaxpr, branch.consts, *args))


# --- Where a value is to be: a saved program runs on one device, which was not known when it was written --------------


portable.table({device_put_p: lambda x, *, target: x})
