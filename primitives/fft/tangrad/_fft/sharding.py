"""How transforms are sharded: as the operands are, along the dimensions that are transformed, too."""

from __future__ import annotations

from tangrad._fft.primitives import fft_p
from tangrad.core import RuleSet
from tangrad.extend.sharding import positionwise

sharding = RuleSet("sharding", api=1)
positionwise(sharding, fft_p)
