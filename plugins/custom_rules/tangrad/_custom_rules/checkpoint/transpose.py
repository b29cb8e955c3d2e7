"""How the linear part of a checkpointed call is transposed: its program is, and what it needs is computed in there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.checkpoint.primitives import barrier_of, name_p, remat_p
from tangrad.autodiff import Linear, Zero, is_linear, linear_transpose_rule, symbolic_zeros, transpose_jaxpr
from tangrad.core import ClosedJaxpr, RuleSet

if TYPE_CHECKING:
    from tangrad.typing import Value

transpose = RuleSet("transpose", api=1)


@transpose.rule(remat_p)
@symbolic_zeros
def _(
    cotangents: Any, *args: Value | Linear, jaxpr: ClosedJaxpr, prevent_cse: Any, **params: Any
) -> tuple[Value | None, ...]:
    linear = tuple([is_linear(arg) for arg in args])
    given = tuple([type(cotangent) is not Zero for cotangent in cotangents])
    program, nonzero = transpose_jaxpr(jaxpr, linear, given)
    known = [position for position, is_unknown in enumerate(linear) if not is_unknown]
    cotangents = [cotangent for cotangent in cotangents if type(cotangent) is not Zero]
    barrier = barrier_of(prevent_cse, known, len(cotangents))
    operands = [args[position] for position in known]
    found = iter(remat_p.bind(*operands, *cotangents, jaxpr=program, prevent_cse=barrier, **params))
    per_unknown = iter([next(found) if has else None for has in nonzero])
    return tuple([next(per_unknown) if is_unknown else None for is_unknown in linear])


linear_transpose_rule(transpose, name_p, lambda cotangent, aval, name: cotangent)
