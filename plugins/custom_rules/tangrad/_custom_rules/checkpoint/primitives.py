"""The call of a checkpointed function, and the name of a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tangrad.core import ClosedJaxpr, PrimitiveSet, ShapedArray, as_array, eval_jaxpr
from tangrad.core.programs import check_results
from tangrad.extend.lax import optimization_barrier_p

if TYPE_CHECKING:
    from tangrad.typing import Params, Value, Values

checkpointing = PrimitiveSet("checkpointing", api=1)

Barrier = bool | tuple[bool, ...]  # one for all operands, or one for each


def _evaluate(args: Values, params: Params) -> Values:
    jaxpr = params["jaxpr"]
    outs = check_results(lambda: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args), "a function whose values are recomputed")
    return tuple([as_array(out) for out in outs])


def _inline(*args: Value, jaxpr: ClosedJaxpr, prevent_cse: Barrier, differentiated: bool, policy: object) -> Values:
    """Inside a compiled program: the steps. What is computed again must not be merged with the first time."""
    flags = (prevent_cse,) * len(args) if isinstance(prevent_cse, bool) else prevent_cse
    if differentiated and any(flags):
        held = iter(optimization_barrier_p.bind(*[arg for arg, flag in zip(args, flags, strict=True) if flag]))
        args = tuple([next(held) if flag else arg for arg, flag in zip(args, flags, strict=True)])
    return tuple(eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args))


def barrier_of(prevent_cse: Barrier, positions: Iterable[int], others: int = 0) -> Barrier:
    """The parameter for a call with some of the operands, and with others, which are always kept apart."""
    if isinstance(prevent_cse, bool):
        return prevent_cse
    return (*[prevent_cse[position] for position in positions], *[True] * others)


@checkpointing.primitive(
    name="remat",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    evaluate=_evaluate,
    decompose=_inline,
    programs="call",
)
def remat_p(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, prevent_cse: Barrier, differentiated: bool, policy: object
) -> tuple[ShapedArray, ...]:
    """A call of a program of which a gradient keeps what `policy` selects."""
    return tuple(jaxpr.out_avals)


@checkpointing.primitive(name="name", decompose=lambda x, name: x)
def name_p(x: ShapedArray, *, name: str) -> ShapedArray:
    """`x` itself, under a name that policies know."""
    return x
