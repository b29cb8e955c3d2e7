"""A padded array on another device: all of it."""

from __future__ import annotations

from tangrad._lax.placement.primitives import device_put_p
from tangrad.core import RuleSet
from tangrad.extend.masking import whole

mask = RuleSet("mask", api=1)
whole(mask, device_put_p)
