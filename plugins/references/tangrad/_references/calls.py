"""Calls of a program with references among their operands: the program takes values, and returns the last ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._references.cells import discharged
from tangrad._references.operands import check_distinct, keep_values, values_of, written_places
from tangrad.core import EVAL_TRACE, ClosedJaxpr, Primitive, RuleSet, thread
from tangrad.core.programs import backend_of, program_for, to_arrays
from tangrad.core.settings import is_checking_values
from tangrad.extend.custom_rules import remat_p
from tangrad.extend.jit import jit_p

discharge = RuleSet("discharge", api=1)


def _overwriting(program: ClosedJaxpr, args: Sequence[Any], own: Sequence[bool], *, name: str) -> Any:
    """Outside of all traces: the results of a program that overwrites the arrays that references alone have.

    None where there is no such array.
    """
    written = written_places(program, own)
    given = tuple([place in written and arg.alone for place, arg in enumerate(args)])
    if True not in given or is_checking_values():
        return None
    values = values_of(args, own)
    backend = backend_of(values)
    arrays = to_arrays(backend, values)
    options: dict[str, Any] = {"places": backend.places(arrays), "donated": given}
    return program_for(program, backend, name, backend.placement(arrays), given, **options).execute(arrays)


def _call(primitive: Primitive) -> None:
    @discharge.rule(primitive)
    def _(args: Any, own: Any, *, jaxpr: ClosedJaxpr, **others: Any) -> Any:
        check_distinct(f"{primitive.name} of {others.get('name') or jaxpr.jaxpr.debug_name}", args, own)
        program = discharged(jaxpr, args, own)
        compiles = primitive is jit_p and thread.trace is EVAL_TRACE
        outs = _overwriting(program, args, own, **others) if compiles else None
        if outs is None:
            outs = primitive.bind(*values_of(args, own), jaxpr=program, **others)
        return keep_values(args, own, program, outs, compiles)


_call(jit_p)
_call(remat_p)
