"""How the structural primitives act on tangents: they are linear, so tangents are moved as the elements are."""

from __future__ import annotations

from typing import Any

from tangrad.autodiff import Zero, instantiate, linear_jvp, symbolic_zeros, zero_jvp
from tangrad.core import RuleSet
from tangrad.lax.structure.primitives import (
    broadcast_in_dim_p,
    concatenate_p,
    copy_p,
    dynamic_slice_p,
    dynamic_update_slice_p,
    iota_p,
    optimization_barrier_p,
    pad_p,
    reshape_p,
    rev_p,
    slice_p,
    split_p,
    squeeze_p,
    stop_gradient_p,
    transpose_p,
)

jvp = RuleSet("jvp", api=1)

linear_jvp(jvp, broadcast_in_dim_p, reshape_p, transpose_p, squeeze_p, rev_p)
linear_jvp(jvp, slice_p, split_p, concatenate_p, pad_p, copy_p)
zero_jvp(jvp, iota_p, stop_gradient_p)


@jvp.rule(dynamic_slice_p)
@symbolic_zeros
def _dynamic_slice(primals: Any, tangents: Any, *, slice_sizes: Any) -> Any:
    operand, *starts = primals
    answer = dynamic_slice_p.bind(operand, *starts, slice_sizes=slice_sizes)
    if type(tangents[0]) is Zero:
        return answer, Zero.of(answer)
    return answer, dynamic_slice_p.bind(tangents[0], *starts, slice_sizes=slice_sizes)


@jvp.rule(dynamic_update_slice_p)
@symbolic_zeros
def _dynamic_update_slice(primals: Any, tangents: Any) -> Any:
    operand, update, *starts = primals
    answer = dynamic_update_slice_p.bind(operand, update, *starts)
    if type(tangents[0]) is Zero and type(tangents[1]) is Zero:
        return answer, Zero.of(answer)
    return answer, dynamic_update_slice_p.bind(instantiate(tangents[0]), instantiate(tangents[1]), *starts)


@jvp.rule(optimization_barrier_p)
@symbolic_zeros
def _optimization_barrier(primals: Any, tangents: Any) -> Any:
    answers = optimization_barrier_p.bind(*primals)
    given = [tangent for tangent in tangents if type(tangent) is not Zero]
    # Tangents have a barrier of their own, so that primals do not wait for them.
    moved = iter(optimization_barrier_p.bind(*given) if given else ())
    return answers, tuple([tangent if type(tangent) is Zero else next(moved) for tangent in tangents])
