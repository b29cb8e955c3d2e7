"""How results of the special functions lie: as their operands do, which must agree."""

from __future__ import annotations

from tangrad._lax.special.primitives import special
from tangrad._sharding.propagation import positionwise
from tangrad.core import RuleSet

sharding = RuleSet("sharding", api=1)
positionwise(sharding, *special.primitives.values())
