"""How conditionals and scans inside a checkpointed function are divided: their programs are, by the same policy.

`divide(program, wanted)` gives a program's first half, `inputs -> (outputs, kept values)`, and its second one,
`(inputs, kept values) -> wanted outputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._lax.control_flow.primitives import CHOICES, rows_type, scan_p, split_list
from tangrad._lax.control_flow.programs import kept, rearranged
from tangrad._lax.control_flow.residuals import BranchResiduals, equation, second_half
from tangrad.core import JaxprEqn, RuleSet, Var
from tangrad.extend.custom_rules import Recomputation

recompute = RuleSet("recompute", api=1)


@recompute.rule(*CHOICES)
def _(eqn: JaxprEqn, wanted: Sequence[bool], divide: Callable[..., Any]) -> Recomputation | None:
    branches, lead = eqn.params["branches"], CHOICES[eqn.primitive]
    index, operands = eqn.invars[:lead], eqn.invars[lead:]
    count = len(operands)
    divided = [divide(branch, wanted) for branch in branches]
    sources = [[None] * one.kept for one in divided]
    residuals = BranchResiduals([one.first for one in divided], sources, len(eqn.outvars))
    stored = [Var(aval) for aval in residuals.slots]
    first = eqn.replace(outvars=[*eqn.outvars, *stored], params={**eqn.params, "branches": residuals.branches})
    used = [position for position in range(count) if any([one.used[position] for one in divided])]
    programs = []
    for one, places in zip(divided, residuals.places, strict=True):
        order = [*range(count, count + one.kept), *used]
        program = rearranged(one.second, order, range(sum(wanted)))
        programs.append(second_half(program, places, residuals.slots, (), len(used)))
    atoms = [*index, *stored, *[operands[p] for p in used]]
    second = equation(eqn.primitive, atoms, {**eqn.params, "branches": tuple(programs)})
    return Recomputation(first, stored, second.replace(outvars=kept(eqn.outvars, wanted)))


@recompute.rule(scan_p)
def _scan(eqn: JaxprEqn, wanted: Sequence[bool], divide: Callable[..., Any]) -> Recomputation | None:
    params = eqn.params
    num_consts, num_carry, length = params["num_consts"], params["num_carry"], params["length"]
    wanted_carry, wanted_ys = map(tuple, split_list(wanted, num_carry))
    while True:  # what is wanted of one iteration may need more of the carry, which the iteration before has to compute
        divided = divide(params["jaxpr"], (*wanted_carry, *wanted_ys))
        read = divided.used[num_consts : num_consts + num_carry]
        grown = tuple([a or b for a, b in zip(wanted_carry, read, strict=True)])
        if grown == wanted_carry:
            break
        wanted_carry = grown
    body = divided.first
    rows = [
        Var(rows_type(aval.strip_weak_type(), length)) for aval in body.out_avals[len(body.out_avals) - divided.kept :]
    ]
    first = eqn.replace(outvars=[*eqn.outvars, *rows], params={**params, "jaxpr": body})
    flags = (*divided.used[:num_consts], *wanted_carry, *divided.used[num_consts + num_carry :])
    inputs = [position for position, is_used in enumerate(flags) if is_used]
    order = [*inputs, *range(len(flags), len(flags) + divided.kept)]
    again = rearranged(divided.second, order, range(sum(wanted_carry) + sum(wanted_ys)))
    second = equation(
        scan_p,
        [*[eqn.invars[position] for position in inputs], *rows],
        {**params, "jaxpr": again, "num_consts": sum(flags[:num_consts]), "num_carry": sum(wanted_carry)},
    )
    # A carry that only the next iteration needs is an unused result.
    outvars = [
        var if is_wanted else Var(var.aval)
        for var, is_wanted, is_carried in zip(eqn.outvars, wanted, (*wanted_carry, *wanted_ys), strict=True)
        if is_carried
    ]
    return Recomputation(first, rows, second.replace(outvars=outvars))
