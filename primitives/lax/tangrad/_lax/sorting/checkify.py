"""Checks of sorting: it hands NaN on, but makes none."""

from __future__ import annotations

from tangrad._checkify import handed_on
from tangrad._lax.sorting.primitives import sorting
from tangrad.core import RuleSet

checkify = RuleSet("checkify", api=1)
handed_on(checkify, *sorting.primitives.values())
