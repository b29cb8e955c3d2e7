"""A call of a jitted function inside another program: its steps, here."""

from __future__ import annotations

from typing import Any

from tangrad._backend_numpy.kernels import inlined
from tangrad.core import RuleSet
from tangrad.extend.jit import jit_p

lower = RuleSet("lower.numpy", api=1)


@inlined(lower, jit_p)
def _(ctx: Any, *, jaxpr: Any, name: str) -> Any:
    return jaxpr
