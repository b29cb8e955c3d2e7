"""What prints and callbacks for debugging do with random keys: they use none."""

from __future__ import annotations

from tangrad._random.key_reuse.uses import NOTHING, KeyRule
from tangrad.core import RuleSet, find_primitive

key_reuse: RuleSet[KeyRule] = RuleSet("key_reuse", api=1)
key_reuse.table({find_primitive("callbacks.debug_callback"): NOTHING, find_primitive("callbacks.debug_print"): NOTHING})
