"""A mapped array moves as a whole."""

from __future__ import annotations

from tangrad._lax.placement.primitives import device_put_p
from tangrad.batching import elementwise_batch
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)
elementwise_batch(batch, device_put_p)
