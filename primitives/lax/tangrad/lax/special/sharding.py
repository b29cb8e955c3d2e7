"""How results of the special functions lie: as their operands do, which must agree."""

from __future__ import annotations

from tangrad.core import RuleSet
from tangrad.lax.special.primitives import special
from tangrad.shardings.propagation import positionwise

sharding = RuleSet("sharding", api=1)
positionwise(sharding, *special.primitives.values())
