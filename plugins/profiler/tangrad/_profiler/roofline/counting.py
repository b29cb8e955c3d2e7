"""The rule kind `roofline`, and how the costs of a program are added up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tangrad._profiler.roofline.results import Cost, RooflineResult, RooflineShape
from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    Primitive,
    RuleKind,
    Var,
    calls_rules,
    decomposition_jaxpr,
    rule_table,
)
from tangrad.core.tools import sub_jaxprs

RooflineRule = Callable[..., RooflineResult]


class RooflineRuleContext:
    """What a rule is given beside the types of the operands and the parameters.

    Attributes:
        primitive: the primitive.
        avals_in, avals_out: the types of the operands and of the results.

    >>> import tangrad
    >>> from tangrad.core import find_primitive
    >>> from tangrad.experimental.roofline import RooflineRuleContext
    >>> context = RooflineRuleContext(find_primitive("elementwise.sin"), [], [])
    >>> context.cost(flops=5).unfused_flops
    5
    """

    __slots__ = ("avals_in", "avals_out", "primitive")

    def __init__(self, primitive: Primitive, avals_in: Sequence[Any], avals_out: Sequence[Any]) -> None:
        self.primitive = primitive
        self.avals_in = avals_in
        self.avals_out = avals_out

    def cost(
        self,
        flops: int = 0,
        bytes_read: int | None = None,
        bytes_written: int | None = None,
        *,
        fuses: bool = True,
        sent: Mapping[Any, int] | None = None,
    ) -> RooflineResult:
        """What the primitive costs.

        Args:
            flops: operations of arithmetic, a fused multiplication and addition counted as two.
            bytes_read, bytes_written: default: those of the operands, and of the results.
            fuses: whether compilers fuse it with others, so that its operands and results need not be in memory.
            sent: the axis of a mesh -> bytes that each device sends along it.
        """
        read = RooflineShape.total_bytes(self.avals_in) if bytes_read is None else bytes_read
        written = RooflineShape.total_bytes(self.avals_out) if bytes_written is None else bytes_written
        return RooflineResult(
            flops=0 if fuses else flops,
            unfused_flops=flops,
            ici_bytes=dict(sent or {}),
            hbm_bytes=0 if fuses else read + written,
            unfused_hbm_bytes=read + written,
            by_primitive={self.primitive.identity: Cost(1, flops, read, written)},
        )

    def program(self, jaxpr: ClosedJaxpr | Jaxpr) -> RooflineResult:
        """What a program among the parameters costs when it runs once."""
        return cost_of(jaxpr)


# --- rules from shapes ------------------------------------------------------------------------------------------------


def _elements(avals: Sequence[Any]) -> int:
    return max([RooflineShape.from_aval(aval).size for aval in avals if hasattr(aval, "shape")], default=0)


def _of_results(ctx: RooflineRuleContext, *avals: Any, **params: Any) -> RooflineResult:
    """An operation for each element of the largest result."""
    return ctx.cost(_elements(ctx.avals_out))


def _of_operands(ctx: RooflineRuleContext, *avals: Any, **params: Any) -> RooflineResult:
    """An operation for each element of the largest operand."""
    return ctx.cost(_elements(ctx.avals_in))


def _movement(ctx: RooflineRuleContext, *avals: Any, **params: Any) -> RooflineResult:
    """No arithmetic: what results have is written, and as much read."""
    written = RooflineShape.total_bytes(ctx.avals_out)
    return ctx.cost(0, min(written, RooflineShape.total_bytes(ctx.avals_in)), written)


def _nothing(ctx: RooflineRuleContext, *avals: Any, **params: Any) -> RooflineResult:
    """Nothing: it is there for traces and compilers."""
    return RooflineResult.zeros()


def _by_decomposition(primitive: Primitive) -> RooflineRule:
    def rule(ctx: RooflineRuleContext, *avals: Any, **params: Any) -> RooflineResult:
        return ctx.program(decomposition_jaxpr(primitive, list(avals), params))

    return rule


roofline_kind = RuleKind(
    "roofline",
    api=1,
    signature="(ctx, *avals, **params) -> ctx.cost(...), or what programs among the parameters cost",
    doc="operations of arithmetic and bytes that a primitive takes, for types of operands",
    derive=_by_decomposition,
    default=lambda primitive: _of_results,
    forms={
        "of_results": lambda primitive: _of_results,
        "of_operands": lambda primitive: _of_operands,
        "movement": lambda primitive: _movement,
        "nothing": lambda primitive: _nothing,
    },
    optional=True,
)
ROOFLINE = rule_table("roofline")


# --- programs --------------------------------------------------------------------------------------------------------


@calls_rules("roofline")
def cost_of(program: ClosedJaxpr | Jaxpr) -> RooflineResult:
    """What a program costs when it runs once; of loops whose number of turns is not known, one turn."""
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    total = RooflineResult.zeros()
    last_use = {atom: number for number, eqn in enumerate(jaxpr.eqns) for atom in eqn.invars if isinstance(atom, Var)}
    last_use |= {atom: len(jaxpr.eqns) for atom in jaxpr.outvars if isinstance(atom, Var)}
    alive = peak = RooflineShape.total_bytes([var.aval for var in (*jaxpr.constvars, *jaxpr.invars)])
    for number, eqn in enumerate(jaxpr.eqns):
        one = _cost_of_equation(eqn)
        operands = {atom for atom in eqn.invars if isinstance(atom, Var)}
        inside = max(one.peak_hbm_bytes - RooflineShape.total_bytes([atom.aval for atom in operands]), 0)
        alive += RooflineShape.total_bytes([var.aval for var in eqn.outvars])
        peak = max(peak, alive, alive + inside - RooflineShape.total_bytes([var.aval for var in eqn.outvars]))
        ended = [atom for atom in operands if last_use[atom] == number]
        alive -= RooflineShape.total_bytes(
            [var.aval for var in (*ended, *[v for v in eqn.outvars if v not in last_use])]
        )
        total += one
    return total + RooflineResult(peak_hbm_bytes=peak)


def _cost_of_equation(eqn: Any) -> RooflineResult:
    avals_in, avals_out = [atom.aval.plain for atom in eqn.invars], [var.aval.plain for var in eqn.outvars]
    ctx = RooflineRuleContext(eqn.primitive, avals_in, avals_out)
    programs = list(sub_jaxprs(eqn.params))
    if programs and ROOFLINE.cell(eqn.primitive).status != "rule":
        return sum([cost_of(program) for program in programs], RooflineResult.zeros())
    found = ROOFLINE[eqn.primitive](ctx, *avals_in, **eqn.params)
    if not isinstance(found, RooflineResult):
        raise TypeError(
            f"the roofline rule of {eqn.primitive.identity!r} returned {found!r}; expected what "
            "ctx.cost(flops=...) returns"
        )
    return found
