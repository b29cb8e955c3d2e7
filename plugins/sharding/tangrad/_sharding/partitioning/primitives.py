"""The primitive: a call of a function that says itself how it is divided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import Array, ClosedJaxpr, PrimitiveSet, ShapedArray, as_array, eval_jaxpr
from tangrad.core.programs import check_results

if TYPE_CHECKING:
    from tangrad.typing import Params, Values

custom_partitioning = PrimitiveSet("custom_partitioning", api=1)


def _evaluate(args: Values, params: Params) -> tuple[Array, ...]:
    """Outside of programs the function runs, operation by operation."""
    jaxpr, name = params["jaxpr"], params["how"].name
    outs = check_results(lambda: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args), f"the function {name!r}")
    return tuple([as_array(out) for out in outs])


def _inline(*args: object, jaxpr: ClosedJaxpr, how: object) -> Values:
    """On one device, mapped or differentiated: the function itself."""
    return tuple(eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args))


@custom_partitioning.primitive(
    name="custom_partitioning",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    evaluate=_evaluate,
    decompose=_inline,
)
def custom_partitioning_p(*avals: ShapedArray, jaxpr: ClosedJaxpr, how: object) -> tuple[ShapedArray, ...]:
    """What the program computes; over several devices the parts of it are computed as `how` says."""
    return tuple(jaxpr.out_avals)
