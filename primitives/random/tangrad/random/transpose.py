"""Nothing here is linear."""

from __future__ import annotations

from tangrad.core import RuleSet
from tangrad.random.family import random

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("not linear", *random.primitives.values())
