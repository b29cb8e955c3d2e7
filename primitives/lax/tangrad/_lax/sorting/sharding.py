"""How results of sorting are sharded: as the operands, whose sorted dimension must be whole."""

from __future__ import annotations

from tangrad._lax.sorting.primitives import sort_p, top_k_p
from tangrad.core import RuleSet
from tangrad.extend.sharding import along

sharding = RuleSet("sharding", api=1)
along("dimension", sharding, sort_p)
along("axis", sharding, top_k_p)
