"""Checks: axes that are moved and repeated make no NaN."""

from __future__ import annotations

from tangrad._batching.primitives import broadcast_axis_p, move_axis_p
from tangrad.core import RuleSet
from tangrad.extend.checkify import handed_on

checkify = RuleSet("checkify", api=1)
handed_on(checkify, move_axis_p, broadcast_axis_p)
