"""How results of reductions are sharded: as what is left of the operand. Running totals need their dimension whole."""

from __future__ import annotations

from tangrad._lax.reductions import primitives as p
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.sharding import Axes, Operand, along, dropping, joined, without
from tangrad.typing import Params

sharding = RuleSet("sharding", api=1)
dropping("axes", sharding, *p.identities, p.argmax_p, p.argmin_p)
along("axis", sharding, p.cumsum_p, p.cumprod_p, p.cummax_p, p.cummin_p, p.cumlogsumexp_p)


@sharding.rule(p.reduce_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """The second half of the operands are the initial values."""
    whole = joined([operand.axes for operand in operands[: len(results)]])
    return (without(whole, params["dimensions"]),) * len(results)
