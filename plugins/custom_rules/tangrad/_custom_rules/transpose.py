"""How the linear part of a call with a vjp rule is transposed: by the user's backward rule."""

from __future__ import annotations

from typing import Any

from tangrad._custom_rules.primitives import custom_lin_p
from tangrad.autodiff import Zero, symbolic_zeros
from tangrad.core import RuleSet

transpose = RuleSet("transpose", api=1)


@transpose.rule(custom_lin_p)
@symbolic_zeros
def _(cotangents: Any, *args: Any, bwd: Any, num_res: int, active: Any, avals_out: Any, nonzero: Any, name: str) -> Any:
    given = iter(cotangents)
    every = [next(given) if has else Zero(aval) for aval, has in zip(avals_out, nonzero, strict=True)]
    found = bwd(args[:num_res], every)
    return (*[None] * num_res, *[cotangent for cotangent, wanted in zip(found, active, strict=True) if wanted])
