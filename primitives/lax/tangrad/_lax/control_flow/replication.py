"""Along which mapped axes the results of conditionals and loops differ; the carry of a loop goes round."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from tangrad._lax.control_flow.primitives import CHOICES, scan_p, while_p
from tangrad.core import Primitive, RuleSet
from tangrad.extend.sharding import Places, places, varying_of_program
from tangrad.typing import Params

Names: TypeAlias = frozenset[Hashable]
replication = RuleSet("replication", api=1)


def _choice(primitive: Primitive, lead: int) -> None:
    """Register the rule of a primitive that runs one of several programs; its first `lead` operands say which."""

    @replication.rule(primitive)
    @places(lambda count, params: Places([range(lead, count)] * len(params["branches"])))
    def _(varying: Sequence[Names], params: Params) -> Sequence[Names]:
        index, operands = varying[:lead], varying[lead:]
        branches = [varying_of_program(branch, operands) for branch in params["branches"]]
        return tuple([frozenset().union(*index, *found) for found in zip(*branches, strict=True)])


for _primitive, _lead in CHOICES.items():
    _choice(_primitive, _lead)


def _places_of_scan(count: int, params: Params) -> Places:
    first = params["num_consts"]
    return Places([range(count)], range(first, first + params["num_carry"]))


@replication.rule(scan_p)
@places(_places_of_scan)
def _(varying: Sequence[Names], params: Params) -> Sequence[Names]:
    consts = list(varying[: params["num_consts"]])
    count = params["num_carry"]
    carry = list(varying[params["num_consts"] : params["num_consts"] + count])
    xs = list(varying[params["num_consts"] + count :])
    found: list[Names] = []

    def iteration(carry: list[Names]) -> list[Names]:
        found[:] = varying_of_program(params["jaxpr"], [*consts, *carry, *xs])
        return found[:count]

    return (*_fixed_point(carry, iteration), *found[count:])


def _places_of_while(count: int, params: Params) -> Places:
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    carry = range(second, count)
    return Places([[*range(first), *carry], [*range(first, second), *carry]], carry)


@replication.rule(while_p)
@places(_places_of_while)
def _(varying: Sequence[Names], params: Params) -> Sequence[Names]:
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    for_cond, for_body, carry = list(varying[:first]), list(varying[first:second]), list(varying[second:])

    def iteration(carry: list[Names]) -> list[Names]:
        (again,) = varying_of_program(params["cond_jaxpr"], [*for_cond, *carry])
        return [again | found for found in varying_of_program(params["body_jaxpr"], [*for_body, *carry])]

    return tuple(_fixed_point(carry, iteration))


def _fixed_point(carry: list[Names], iteration: Callable[[list[Names]], list[Names]]) -> list[Names]:
    """The carry after as many iterations as it takes until it differs along no further axis."""
    while True:
        after = [before | found for before, found in zip(carry, iteration(carry), strict=True)]
        if after == carry:
            return carry
        carry = after
