"""How the linear part of a call with a vjp rule is transposed: by the user's backward rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.primitives import custom_lin_p
from tangrad.autodiff import Linear, Zero, symbolic_zeros
from tangrad.core import RuleSet, ShapedArray

if TYPE_CHECKING:
    from tangrad.typing import Value

transpose = RuleSet("transpose", api=1)


@transpose.rule(custom_lin_p)
@symbolic_zeros
def _(
    cotangents: tuple[Value | Zero, ...],
    *args: Value | Linear,
    bwd: Any,
    num_res: int,
    active: Any,
    avals_out: tuple[ShapedArray, ...],
    nonzero: Any,
    name: str,
) -> tuple[Value | None, ...]:
    given = iter(cotangents)
    every = [next(given) if has else Zero(aval) for aval, has in zip(avals_out, nonzero, strict=True)]
    found = bwd(args[:num_res], every)
    return (*[None] * num_res, *[cotangent for cotangent, wanted in zip(found, active, strict=True) if wanted])
