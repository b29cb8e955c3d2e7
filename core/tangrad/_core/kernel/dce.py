"""Dead code: what is neither used nor observed is removed from jaxprs.

Equations that carry jaxprs have a rule of kind `dce`, which may thin those jaxprs out too; without one they stay whole.
It is the one rule kind that belongs to the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._core.diagnostics.tracebacks import calls_rules
from tangrad._core.kernel.array import Literal
from tangrad._core.kernel.declarations import RuleKind
from tangrad._core.kernel.effects import keeps_alive
from tangrad._core.kernel.jaxpr import DropVar, Jaxpr, JaxprEqn, sub_jaxprs
from tangrad._core.kernel.rules import rule_table


def _keep_whole(used_outputs: Sequence[bool], equation: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    return [True] * len(equation.invars), equation


dce = RuleKind(
    "dce",
    api=1,
    signature="(used_outputs, equation) -> (used_inputs, equation or None)",
    doc="removes from an equation that carries jaxprs what its unused outputs needed",
    default=lambda _: _keep_whole,
)


@calls_rules("dce", "eqn")
def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Remove outputs that are not used and what only they needed.

    Args:
        used_outputs: for each output, whether to keep it.
        instantiate: inputs to keep in any case; True keeps all.

    Returns:
        the new jaxpr and, for each input, whether the jaxpr still takes it.
    """
    keep = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else list(instantiate)
    outvars = [var for var, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    live = {var for var in outvars if type(var) is not Literal}
    kept: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [var in live for var in eqn.outvars]
        new = eqn if any(used) or (eqn.effects and keeps_alive(eqn.effects)) else None
        if new is not None:
            if any(True for _ in sub_jaxprs(eqn.params)):
                _, new = rule_table("dce")[eqn.primitive](used, eqn)
            elif not all(used):
                outs = [v if u else _dropped(v) for v, u in zip(eqn.outvars, used, strict=True)]
                new = eqn.replace(outvars=outs)
        if new is not None:
            kept.append(new)
            live.update([atom for atom in new.invars if type(atom) is not Literal])
    kept.reverse()
    used_inputs = [var in live or wanted for var, wanted in zip(jaxpr.invars, keep, strict=True)]
    invars = [var for var, used in zip(jaxpr.invars, used_inputs, strict=True) if used]
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=kept), used_inputs


def _dropped(var: Any) -> DropVar:
    return var if type(var) is DropVar else DropVar(var.aval)
