"""How the structural primitives act on tangents: they are linear, so tangents are moved as the elements are."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._lax.structure import primitives as p
from tangrad.autodiff import Zero, instantiate, linear_jvp, symbolic_zeros, zero_jvp
from tangrad.core import RuleSet
from tangrad.typing import Dimensions, Value, Values

jvp = RuleSet("jvp", api=1)

linear_jvp(jvp, p.broadcast_in_dim_p, p.reshape_p, p.transpose_p, p.squeeze_p, p.rev_p)
linear_jvp(jvp, p.slice_p, p.split_p, p.concatenate_p, p.pad_p, p.copy_p)
zero_jvp(jvp, p.iota_p, p.stop_gradient_p)


@jvp.rule(p.dynamic_slice_p)
@symbolic_zeros
def _dynamic_slice(
    primals: Values, tangents: tuple[Value | Zero, ...], *, slice_sizes: Dimensions
) -> tuple[Value, Value | Zero]:
    operand, *starts = primals
    answer = p.dynamic_slice_p.bind(operand, *starts, slice_sizes=slice_sizes)
    if type(tangents[0]) is Zero:
        return answer, Zero.of(answer)
    return answer, p.dynamic_slice_p.bind(tangents[0], *starts, slice_sizes=slice_sizes)


@jvp.rule(p.dynamic_update_slice_p)
@symbolic_zeros
def _dynamic_update_slice(primals: Values, tangents: tuple[Value | Zero, ...]) -> tuple[Value, Value | Zero]:
    operand, update, *starts = primals
    answer = p.dynamic_update_slice_p.bind(operand, update, *starts)
    if type(tangents[0]) is Zero and type(tangents[1]) is Zero:
        return answer, Zero.of(answer)
    return answer, p.dynamic_update_slice_p.bind(instantiate(tangents[0]), instantiate(tangents[1]), *starts)


@jvp.rule(p.optimization_barrier_p)
@symbolic_zeros
def _optimization_barrier(
    primals: Values, tangents: tuple[Value | Zero, ...]
) -> tuple[Sequence[Value], Sequence[Value | Zero]]:
    answers = p.optimization_barrier_p.bind(*primals)
    given = [tangent for tangent in tangents if type(tangent) is not Zero]
    # Tangents have a barrier of their own, so that primals do not wait for them.
    moved = iter(p.optimization_barrier_p.bind(*given) if given else ())
    return answers, tuple([tangent if type(tangent) is Zero else next(moved) for tangent in tangents])
