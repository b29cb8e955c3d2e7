"""The sharding of a padded array: of all of it."""

from __future__ import annotations

from tangrad._sharding.primitives import auto_axes_p, sharding_constraint_p
from tangrad.core import RuleSet
from tangrad.extend.masking import whole

mask = RuleSet("mask", api=1)
whole(mask, sharding_constraint_p, auto_axes_p)
