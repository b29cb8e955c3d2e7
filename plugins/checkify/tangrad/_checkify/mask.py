"""Checks have no masked form: what they would show may be padded."""

from __future__ import annotations

from tangrad._checkify.primitives import check_p
from tangrad.core import RuleSet

mask = RuleSet("mask", api=1)
mask.not_applicable("the values in its message may be padded, and cannot be cut when it is made", check_p)
