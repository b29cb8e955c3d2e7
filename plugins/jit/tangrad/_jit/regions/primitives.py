"""The primitive that stands for a call of a region: a part of a program that occurs more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad.core import ClosedJaxpr, PrimitiveSet, ShapedArray, as_array, eval_jaxpr
from tangrad.core.programs import check_results

if TYPE_CHECKING:
    from tangrad.typing import Params, Values

regions = PrimitiveSet("regions", api=1)


def _evaluate(args: Values, params: Params) -> tuple[Any, ...]:
    """One by one: concrete values come here where an operation is looked for that made a NaN."""
    jaxpr = params["jaxpr"]
    outs = check_results(lambda: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args), f"the region {params['name']!r}")
    return tuple([as_array(out) for out in outs])


def _inline(*args: Any, jaxpr: ClosedJaxpr, name: str) -> tuple[Any, ...]:
    """For backends and transformations without a rule of their own: the steps."""
    return tuple(eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args))


@regions.primitive(
    name="region", multiple_results=True, weak_type="own", own_named_shape=True, evaluate=_evaluate, decompose=_inline
)
def region_p(*avals: ShapedArray, jaxpr: ClosedJaxpr, name: str) -> tuple[ShapedArray, ...]:
    """A call of the program `jaxpr`, which backends should compile once for all calls of it."""
    if len(avals) != len(jaxpr.in_avals):
        raise TypeError(f"region: program {name!r} takes {len(jaxpr.in_avals)} arguments, got {len(avals)}")
    return tuple(jaxpr.out_avals)
