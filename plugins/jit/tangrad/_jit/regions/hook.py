"""The compile-time hook through which the pass sees every program."""

from __future__ import annotations

import warnings

from tangrad._jit.settings import FEWEST, MEASURED, MEASURED_ON_NUMPY, NONE, compile_regions
from tangrad.core import ClosedJaxpr, HookContext, hookimpl
from tangrad.core.settings import is_checking_values
from tangrad.core.tools import own_fault, sub_jaxprs


@hookimpl(trylast=True)
def tangrad_jaxpr_pass(closed_jaxpr: ClosedJaxpr, context: HookContext) -> ClosedJaxpr | None:
    """Make calls of the parts that are equal: after other passes, which then see the program as it was written."""
    chosen = context.options.get("compile_regions")
    if chosen is None:
        chosen = compile_regions.value
    usual = MEASURED_ON_NUMPY if context.backend == "numpy" else MEASURED
    limits = NONE if chosen == "always" else usual
    # A program whose values are checked is run again one by one: it stays as it was written.
    if not chosen or is_checking_values() or _is_short(closed_jaxpr, limits.program):
        return None
    try:
        from tangrad._jit.regions import program_pass  # seven files, which programs that are short do without

        return program_pass.with_regions(closed_jaxpr, limits, unmarked=chosen != "marked")
    except own_fault(Exception) as error:  # what is there to save time must not cost a program
        warnings.warn(f"{context.function_name!r} is compiled whole: {error!r}", RuntimeWarning, stacklevel=2)
        return None


vars(tangrad_jaxpr_pass)["least_equations"] = FEWEST  # the kernel need not call it for shorter ones


def _is_short(closed: ClosedJaxpr, limit: int) -> bool:
    """Whether a program has few equations, none of which has programs of its own: most have, and are done with here."""
    equations = closed.jaxpr.eqns
    return len(equations) < limit and not any(True for eqn in equations for _ in sub_jaxprs(eqn.params))
