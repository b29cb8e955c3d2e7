"""A call of a jitted function with padded operands: its steps, here."""

from __future__ import annotations

from typing import Any

from tangrad._jit.primitives import jit_p
from tangrad.core import RuleSet, eval_jaxpr
from tangrad.extend.masking import Sizes, masked_flat

mask = RuleSet("mask", api=1)


@mask.rule(jit_p)
def _(args: Any, shapes: Any, *, sizes: Sizes, jaxpr: Any, name: str) -> Any:
    outs, _ = masked_flat(lambda *values: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *values), args, shapes, sizes)
    return tuple(outs)
