"""Checks of transfers: they hand NaN on, but make none."""

from __future__ import annotations

from tangrad._lax.placement.primitives import placement
from tangrad.core import RuleSet
from tangrad.extend.checkify import handed_on

checkify = RuleSet("checkify", api=1)
handed_on(checkify, *placement.primitives.values())
