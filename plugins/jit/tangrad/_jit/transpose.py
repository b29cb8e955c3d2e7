"""How a call of a linear program is transposed: its program is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._jit.primitives import jit_p
from tangrad.autodiff import Linear, Zero, is_linear, symbolic_zeros, transpose_jaxpr
from tangrad.core import ClosedJaxpr, RuleSet

if TYPE_CHECKING:
    from tangrad.typing import Value

transpose = RuleSet("transpose", api=1)


@transpose.rule(jit_p)
@symbolic_zeros
def _(
    cotangents: tuple[Value | Zero, ...], *args: Value | Linear, jaxpr: ClosedJaxpr, name: str
) -> tuple[Value | None, ...]:
    linear = tuple([is_linear(arg) for arg in args])
    given = tuple([type(cotangent) is not Zero for cotangent in cotangents])
    program, nonzero = transpose_jaxpr(jaxpr, linear, given)
    known = [arg for arg in args if not is_linear(arg)]
    results = jit_p.bind(
        *known, *[ct for ct in cotangents if type(ct) is not Zero], jaxpr=program, name=f"transpose_{name}"
    )
    found = iter(results)
    per_unknown = iter([next(found) if has else None for has in nonzero])
    return tuple([next(per_unknown) if is_unknown else None for is_unknown in linear])
