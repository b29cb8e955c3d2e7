"""Groups of equations over rows on NumPy. The family of composites may not be installed: its rules have a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._kernels.jobs import ALL, Job
from tangrad._kernels.library import replacing
from tangrad._kernels.matrix_programs import KERNELS
from tangrad._kernels.on_numpy import KIND, Call, caller
from tangrad.core import RuleSet
from tangrad.extend.backend_numpy import FRESH, Kernel, Opaque
from tangrad.extend.custom_rules import composite_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangrad.core import ClosedJaxpr
    from tangrad.extend.backend_numpy import Lowering


def _emit(ctx: Lowering, *values: Any, jaxpr: ClosedJaxpr, name: str, attributes: Any, **_: object) -> Any:
    if name not in KERNELS:
        return ctx.inline(jaxpr, *values)
    job = Job(KERNELS[name], attributes.values["plan"])
    if len(ctx.out_avals) == 1:
        in_place = overwritten(job.plan) if job.name == "rows" else ()
        return (ctx.call(Call(job, ctx.out_aval, in_place), *values, like=ctx.out_aval),)
    run = caller(job, ctx.out_avals)
    run.__name__ = job.name
    return ctx.call(Opaque(run, FRESH), *values)


def overwritten(plan: Sequence[int]) -> tuple[int, ...]:
    """The operands in whose place the one result may be: all elements, which nothing reads once it is written."""
    operands, temporaries, instructions = plan[3], plan[4], plan[6]
    result = operands + temporaries
    kinds, code = plan[7 : 8 + result], plan[8 + result :]
    each = [code[5 * i : 5 * i + 5] for i in range(instructions)]
    if kinds[result] != ALL:
        return ()
    written = next(place for place, (_, made, *_) in enumerate(each) if made == result)
    late = {number for _, _, *read in each[written + 1 :] for number in read}
    return tuple([number for number in range(operands) if kinds[number] == ALL and number not in late])


def rule_set() -> RuleSet:
    """The rule of composites."""
    return replacing(KIND, {composite_p: Kernel(_emit)})


composites = rule_set()
