"""Control flow with checks: the programs within return errors, and loops carry the first one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.control_flow.primitives import cond_p, scan_p, split_list, while_p
from tangrad.core import ClosedJaxpr, RuleSet, trace_to_closed_jaxpr
from tangrad.core.caches import JaxprCache, register_cache, weak_key
from tangrad.extend.checkify import CheckedProgram, Checks, Layout, checked_program, earlier, placed
from tangrad.typing import Value, Values

checkify = RuleSet("checkify", api=1)

_made = JaxprCache()
register_cache(_made.clear)


def _together(programs: Sequence[CheckedProgram]) -> tuple[Layout, list[int]]:
    """The layout of the errors of several programs, and for each where its failures begin."""
    offsets: list[int] = []
    failures: list[Any] = []
    for program in programs:
        offsets.append(len(failures))
        failures.extend(program.layout.failures)
    return Layout(failures), offsets


@checkify.rule(cond_p)
def _(args: Values, *, checks: Checks, branches: Sequence[ClosedJaxpr]) -> Sequence[Value]:
    def make() -> tuple[Any, ...]:
        programs = [checked_program(branch, checks.enabled) for branch in branches]
        layout, offsets = _together(programs)
        return layout, tuple([_branch(*each, layout) for each in zip(programs, offsets, strict=True)])

    layout, made = _made.get(branches[0], ("cond", checks.enabled, weak_key(branches)), make)
    return checks.take(layout, cond_p.bind(*args, branches=made))


def _branch(program: CheckedProgram, offset: int, layout: Layout) -> ClosedJaxpr:
    """A branch that returns an error of the layout of all branches."""
    if not layout.failures:
        return program.jaxpr

    def run(*values: Value) -> list[Value]:
        outs, leaves = program.run(*values)
        return [*outs, *placed(program.layout, leaves, layout, offset)]

    return trace_to_closed_jaxpr(run, program.jaxpr.in_avals, "a checked branch")


@checkify.rule(scan_p)
def _(
    args: Values, *, checks: Checks, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: object
) -> Sequence[Value]:
    program = checked_program(jaxpr, checks.enabled)
    layout = program.layout
    consts, rest = args[:num_consts], args[num_consts:]
    body = _made.get(
        jaxpr, ("scan", checks.enabled, num_consts, num_carry), lambda: _turn(program, num_consts, num_carry)
    )
    outs = scan_p.bind(
        *consts,
        *layout.clear(),
        *rest,
        jaxpr=body,
        num_consts=num_consts,
        num_carry=layout.count + num_carry,
        **params,
    )
    return checks.take(layout, (*outs[layout.count :], *outs[: layout.count]))


def _turn(program: CheckedProgram, num_consts: int, num_carry: int) -> ClosedJaxpr:
    """The body of a scan that carries the first error, in front of what it carried before."""
    layout = program.layout
    if not layout.failures:
        return program.jaxpr
    avals = program.jaxpr.in_avals

    def run(*values: Value) -> list[Value]:
        consts, before, rest = split_list(values, num_consts, layout.count)
        outs, leaves = program.run(*consts, *rest)
        return [*earlier(before, leaves), *outs]

    return trace_to_closed_jaxpr(run, [*avals[:num_consts], *layout.avals, *avals[num_consts:]], "a checked iteration")


@checkify.rule(while_p)
def _(
    args: Values,
    *,
    checks: Checks,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Sequence[Value]:
    condition = checked_program(cond_jaxpr, checks.enabled)
    body = checked_program(body_jaxpr, checks.enabled)
    cond_consts, body_consts, carry = split_list(args, cond_nconsts, body_nconsts)
    loop = _CheckedLoop(condition, body, cond_nconsts, body_nconsts)
    key = ("while", checks.enabled, weak_key(cond_jaxpr), cond_nconsts, body_nconsts)
    tested, turned = _made.get(body_jaxpr, key, lambda: (loop.condition(), loop.body()))
    outs = while_p.bind(
        *cond_consts,
        *cond_consts,
        *body_consts,
        *loop.before(cond_consts, carry),
        *carry,
        cond_jaxpr=tested,
        body_jaxpr=turned,
        cond_nconsts=cond_nconsts,
        body_nconsts=cond_nconsts + body_nconsts,
    )
    count = loop.layout.count
    return checks.take(loop.layout, (*outs[count:], *outs[:count]))


class _CheckedLoop:
    """A while loop that carries the first error of its condition and its body, in front of what it carried before.

    What the condition finds is noted before the loop, and at the end of each iteration: the condition of a loop returns
    no error. So the body takes the constants of the condition, too, before its own.
    """

    def __init__(self, condition: CheckedProgram, body: CheckedProgram, cond_nconsts: int, body_nconsts: int) -> None:
        self._condition, self._body = condition, body
        self._counts = cond_nconsts, body_nconsts
        self.layout, self._offsets = _together([condition, body])

    def before(self, cond_consts: Sequence[object], carry: Sequence[object]) -> list[Any]:
        """The error before the first iteration."""
        if not self._condition.layout.failures:
            return self.layout.clear()
        _, leaves = self._condition.run(*cond_consts, *carry)
        return placed(self._condition.layout, leaves, self.layout, self._offsets[0])

    def condition(self) -> ClosedJaxpr:
        """The condition without its checks; it does not read the error."""
        consts, carry = split_list(self._condition.jaxpr.in_avals, self._counts[0])

        def run(*values: Value) -> list[Value]:
            given, _, rest = split_list(values, self._counts[0], self.layout.count)
            return self._condition.run(*given, *rest)[0]

        return trace_to_closed_jaxpr(run, [*consts, *self.layout.avals, *carry], "a checked condition")

    def body(self) -> ClosedJaxpr:
        """The body, which puts its error, and then that of the condition, behind those before."""
        cond_consts, _ = split_list(self._condition.jaxpr.in_avals, self._counts[0])
        body_consts, carry = split_list(self._body.jaxpr.in_avals, self._counts[1])

        def run(*values: Value) -> list[Value]:
            of_condition, of_body, before, rest = split_list(values, *self._counts, self.layout.count)
            outs, leaves = self._body.run(*of_body, *rest)
            found = earlier(before, placed(self._body.layout, leaves, self.layout, self._offsets[1]))
            return [*earlier(found, self.before(of_condition, outs)), *outs]

        return trace_to_closed_jaxpr(
            run, [*cond_consts, *body_consts, *self.layout.avals, *carry], "a checked iteration of a loop"
        )
