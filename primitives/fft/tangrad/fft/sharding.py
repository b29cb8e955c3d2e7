"""How transforms lie: as the operands do, along the dimensions that are transformed, too."""

from __future__ import annotations

from tangrad.core import RuleSet
from tangrad.fft.primitives import fft_p
from tangrad.shardings.propagation import positionwise

sharding = RuleSet("sharding", api=1)
positionwise(sharding, fft_p)
