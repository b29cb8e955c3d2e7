"""Nothing here is linear."""

from __future__ import annotations

from tangrad._random.family import random
from tangrad.core import RuleSet

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("not linear", *random.primitives.values())
