"""How the special functions act on padded arrays: each position by itself."""

from __future__ import annotations

from tangrad._lax.special.primitives import special
from tangrad._masking import positionwise
from tangrad.core import RuleSet

mask = RuleSet("mask", api=1)
positionwise(mask, *special.primitives.values())
