"""What calls of jitted functions do with random keys: what their programs do."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._random.key_reuse.uses import KeyRule, KeyUse, of_call
from tangrad.core import ClosedJaxpr, RuleSet, ShapedArray, find_primitive

key_reuse: RuleSet[KeyRule] = RuleSet("key_reuse", api=1)


@key_reuse.rule(find_primitive("jit.jit"))
def _(avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr, **_: object) -> KeyUse:
    return of_call(avals, jaxpr)
