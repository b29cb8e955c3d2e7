"""Checks of sorting: it hands NaN on, but makes none."""

from __future__ import annotations

from tangrad._lax.sorting.primitives import sorting
from tangrad.core import RuleSet
from tangrad.extend.checkify import handed_on

checkify = RuleSet("checkify", api=1)
handed_on(checkify, *sorting.primitives.values())
