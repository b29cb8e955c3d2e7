"""A call of a jitted function with sparse operands: its steps, here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._sparse.sparsify import sparsified_flat
from tangrad.core import ClosedJaxpr, RuleSet, eval_jaxpr
from tangrad.extend.jit import jit_p

if TYPE_CHECKING:
    from tangrad._sparse.bcoo import BCOO
    from tangrad.core.protocols import PortableRule

sparse: RuleSet[PortableRule] = RuleSet("sparse", api=1)


@sparse.rule(jit_p)
def _(*args: object, jaxpr: ClosedJaxpr, name: str) -> list[BCOO]:
    return sparsified_flat(lambda *values: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *values), args)
