"""The rules of the special functions: each acts element by element, and none is linear. Derivatives are in `jvp`."""

from __future__ import annotations

from tangrad._lax.special.primitives import special
from tangrad.core import RuleSet

_ALL = special.primitives.values()

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("it is not linear", *_ALL)

batch = RuleSet("batch", api=1)
batch.form("elementwise", *_ALL)

mask = RuleSet("mask", api=1)
mask.form("positionwise", *_ALL)

sharding = RuleSet("sharding", api=1)
sharding.form("positionwise", *_ALL)
