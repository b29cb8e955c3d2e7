"""Checks of reductions: those that choose an element hand NaN on, but make none."""

from __future__ import annotations

from tangrad._lax.reductions.primitives import cummax_p, cummin_p, reduce_max_p, reduce_min_p
from tangrad.core import RuleSet
from tangrad.extend.checkify import handed_on

checkify = RuleSet("checkify", api=1)
handed_on(checkify, reduce_max_p, reduce_min_p, cummax_p, cummin_p)
