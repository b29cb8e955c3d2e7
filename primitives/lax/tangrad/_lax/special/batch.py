"""How the special functions act on mapped axes: element by element."""

from __future__ import annotations

from tangrad._lax.special.primitives import special
from tangrad.batching import elementwise_batch
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)
elementwise_batch(batch, *special.primitives.values())
