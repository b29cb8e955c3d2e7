"""How a padded array is to lie on devices: all of it."""

from __future__ import annotations

from tangrad.core import RuleSet
from tangrad.masking import whole
from tangrad.shardings.primitives import auto_axes_p, sharding_constraint_p

mask = RuleSet("mask", api=1)
whole(mask, sharding_constraint_p, auto_axes_p)
