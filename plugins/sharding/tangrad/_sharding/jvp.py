"""Tangents are sharded as the values are."""

from __future__ import annotations

from tangrad._sharding.primitives import auto_axes_p, sharding_constraint_p
from tangrad.autodiff import linear_jvp
from tangrad.core import RuleSet

jvp = RuleSet("jvp", api=1)
linear_jvp(jvp, sharding_constraint_p, auto_axes_p)
