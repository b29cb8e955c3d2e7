"""Dead code in solves: auxiliary values that are unused, and operands that no program reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._custom_rules.solves import custom_linear_solve_p, custom_root_p
from tangrad.core import ClosedJaxpr, JaxprEqn, RuleSet, dce_jaxpr, keeps_alive
from tangrad.core.caches import JaxprCache, register_cache

dce = RuleSet("dce", api=1)
_thinned = JaxprCache()
register_cache(_thinned.clear)


def _thin(program: ClosedJaxpr, used_outputs: tuple[bool, ...], num_consts: int) -> tuple[ClosedJaxpr, list[bool]]:
    """The program without some outputs and without the constants that it then does not read; and which it reads."""

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        keep = [position >= num_consts for position in range(len(program.in_avals))]
        jaxpr, used = dce_jaxpr(program.jaxpr, used_outputs, keep)
        return ClosedJaxpr(jaxpr, program.consts), used[:num_consts]

    return _thinned.get(program, (used_outputs, num_consts), make)


def _thinner(names: Sequence[str]) -> Any:
    """The rule for a primitive whose programs have these names; the one named `solve` gives the results."""

    def rule(used_outputs: Any, equation: JaxprEqn) -> Any:
        if not any(used_outputs) and not keeps_alive(equation.effects):
            return [False] * len(equation.invars), None
        params, num_consts = equation.params, equation.params["num_consts"]
        count = len(equation.invars) - sum(num_consts)
        wanted = (*[True] * count, *used_outputs[count:])
        new, used_inputs, counts = dict(params), [], []
        for name, number in zip(names, num_consts, strict=True):
            program = params[name]
            used: list[bool] = []
            if program is not None:
                outputs = wanted if name == "solve" else (True,) * len(program.out_avals)
                new[name], used = _thin(program, outputs, number)
            used_inputs.extend(used)
            counts.append(sum(used))
        used_inputs.extend([True] * count)
        return used_inputs, equation.replace(
            invars=[atom for atom, is_used in zip(equation.invars, used_inputs, strict=True) if is_used],
            outvars=[var for var, is_wanted in zip(equation.outvars, wanted, strict=True) if is_wanted],
            params={**new, "num_consts": tuple(counts)},
        )

    return rule


dce.rule(custom_root_p)(_thinner(("f", "solve", "tangent_solve")))
dce.rule(custom_linear_solve_p)(_thinner(("matvec", "vecmat", "solve", "transpose_solve")))
