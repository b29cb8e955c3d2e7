"""How the elementwise primitives act on padded arrays: each position by itself."""

from __future__ import annotations

from tangrad._lax.elementwise.primitives import bitcast_convert_type_p, elementwise
from tangrad.core import RuleSet
from tangrad.extend.masking import positionwise, whole

mask = RuleSet("mask", api=1)
positionwise(mask, *[p for p in elementwise.primitives.values() if p is not bitcast_convert_type_p])
whole(mask, bitcast_convert_type_p)
