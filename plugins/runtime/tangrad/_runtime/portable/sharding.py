"""Sharding constraints: a saved program runs on one device."""

from __future__ import annotations

from tangrad.core import RuleSet
from tangrad.extend.sharding import auto_axes_p, sharding_constraint_p

portable = RuleSet("portable", api=1)
portable.table(dict.fromkeys((sharding_constraint_p, auto_axes_p), lambda x, **params: x))
