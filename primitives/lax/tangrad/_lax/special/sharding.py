"""How results of the special functions are sharded: as their operands are, which must agree."""

from __future__ import annotations

from tangrad._lax.special.primitives import special
from tangrad.core import RuleSet
from tangrad.extend.sharding import positionwise

sharding = RuleSet("sharding", api=1)
positionwise(sharding, *special.primitives.values())
