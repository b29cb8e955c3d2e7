"""A program in two halves, of which the second computes once more what it needs of the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.checkpoint.division import divide
from tangrad._custom_rules.checkpoint.effects import check_effects
from tangrad._custom_rules.checkpoint.primitives import Barrier, barrier_of
from tangrad.core import ClosedJaxpr, dce_jaxpr, eval_jaxpr, trace_to_closed_jaxpr

if TYPE_CHECKING:
    from tangrad.typing import Value


class Halves:
    """The halves of a program, under a policy.

    Attributes:
        first: closed jaxpr `inputs -> (outputs, kept values)`.
        second: closed jaxpr `(some inputs, kept values, its own inputs) -> its outputs`.
        inputs: positions of the inputs that `second` takes.
        kept: how many values are kept.
        barrier: the parameter `prevent_cse` for a call of `second`.
    """

    __slots__ = ("barrier", "first", "inputs", "kept", "second")

    def __init__(
        self,
        first: ClosedJaxpr,
        count: int,
        sources: Sequence[int | None],
        second: ClosedJaxpr,
        policy: Any,
        prevent_cse: Barrier,
    ) -> None:
        """Args: `first`: `inputs -> (count outputs, own residuals)`; `second`: `(residuals, its inputs) -> outputs`;
        `sources`: for each residual the input that it is, or None for one of `first`'s own.
        """
        check_effects(first)
        jaxpr = first.jaxpr
        own = iter(jaxpr.outvars[count:])
        wanted = [next(own) if source is None else jaxpr.invars[source] for source in sources]
        outputs = jaxpr.outvars[:count]
        program = ClosedJaxpr(jaxpr.replace(outvars=[*outputs, *wanted]), first.consts)
        divided = divide(program, [*[False] * count, *[True] * len(wanted)], policy)
        self.kept = divided.kept
        self.inputs = [position for position, is_used in enumerate(divided.used) if is_used]
        given = divided.first.jaxpr
        everything = given.replace(outvars=[*given.outvars[:count], *given.outvars[len(given.outvars) - self.kept :]])
        self.first = ClosedJaxpr(dce_jaxpr(everything, [True] * len(everything.outvars), True)[0], first.consts)
        again = divided.second.jaxpr
        positions = [*self.inputs, *range(len(jaxpr.invars), len(again.invars))]
        recompute = ClosedJaxpr(again.replace(invars=[again.invars[p] for p in positions]), first.consts)
        self.second = _joined(recompute, second)
        self.barrier = barrier_of(prevent_cse, self.inputs, len(self.second.in_avals) - len(self.inputs))

    def residuals(self, inputs: Sequence[Value], outs: Sequence[Value]) -> list[Any]:
        """What `second` takes of the first half, of the inputs of `first` and what it gave."""
        return [inputs[position] for position in self.inputs] + list(outs[len(outs) - self.kept :])


def _joined(recompute: ClosedJaxpr, second: ClosedJaxpr) -> ClosedJaxpr:
    """A program that computes residuals and then, with them, what `second` does."""
    count = len(recompute.in_avals)
    others = second.in_avals[len(recompute.out_avals) :]

    def run(*args: Any) -> list[Any]:
        residuals = eval_jaxpr(recompute.jaxpr, recompute.consts, *args[:count])
        return eval_jaxpr(second.jaxpr, second.consts, *residuals, *args[count:])

    return trace_to_closed_jaxpr(run, [*recompute.in_avals, *others], "the second half of a checkpointed program")
