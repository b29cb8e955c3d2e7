"""Checks of structure: slices at positions that are only known at run time; nothing here makes NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.checkify_bounds import check_starts
from tangrad._lax.structure.primitives import dynamic_slice_p, dynamic_update_slice_p, structure
from tangrad.core import RuleSet
from tangrad.extend.checkify import Checks, handed_on
from tangrad.typing import Value, Values

checkify = RuleSet("checkify", api=1)
AT_RUN_TIME = (dynamic_slice_p, dynamic_update_slice_p)
handed_on(checkify, *[one for one in structure.primitives.values() if one not in AT_RUN_TIME])


@checkify.rule(dynamic_slice_p)
def _(args: Values, *, checks: Checks, slice_sizes: Sequence[Any]) -> Value:
    operand, *starts = args
    check_starts(checks, operand.aval.shape, slice_sizes, starts)
    return dynamic_slice_p.bind(*args, slice_sizes=slice_sizes)


@checkify.rule(dynamic_update_slice_p)
def _(args: Values, *, checks: Checks) -> Value:
    operand, update, *starts = args
    check_starts(checks, operand.aval.shape, update.aval.shape, starts)
    return dynamic_update_slice_p.bind(*args)
