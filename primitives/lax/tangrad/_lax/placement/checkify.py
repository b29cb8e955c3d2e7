"""Checks of transfers: they hand NaN on, but make none."""

from __future__ import annotations

from tangrad._checkify import handed_on
from tangrad._lax.placement.primitives import placement
from tangrad.core import RuleSet

checkify = RuleSet("checkify", api=1)
handed_on(checkify, *placement.primitives.values())
