"""Mutants of rules of primitives with several results, and of those that carry programs: each must be caught."""

import numpy as np
import pytest

from tangrad import lax
from tangrad.core import Array, is_array_value
from tests.primitives.test_mutants import as_tuple, caught, original


def alike(rule):
    """Decorator: what else the table reads of a rule, such as that it takes symbolic zeros, stays as it was."""

    def mark(wrong):
        wrong.__dict__.update(vars(rule) if hasattr(rule, "__dict__") else {})
        return wrong

    return mark


def changed(value):
    """An array that is inexact and not zero, negated; whatever else there is, as it was."""
    if value is None or not is_array_value(value) or not np.issubdtype(value.dtype, np.inexact):
        return value
    return lax.neg(value)


def results_of(change):
    """What a rule returns, changed: `change(results) -> results`."""

    def mutate(rule):
        @alike(rule)
        def wrong(*args, **keywords):
            return change(rule(*args, **keywords))

        return wrong

    return mutate


def negated(values):
    return tuple([changed(value) for value in as_tuple(values)])


def first_negated(values):
    values = list(as_tuple(values))
    place = next(place for place, value in enumerate(values) if changed(value) is not value)
    return (*values[:place], changed(values[place]), *values[place + 1 :])


def last_negated(values):
    *rest, last = as_tuple(values)
    return (*rest, changed(last))


def turned(values):
    return tuple(reversed(as_tuple(values)))


def primals(change):
    return results_of(lambda pair: (change(pair[0]), pair[1]))


def tangents(change):
    return results_of(lambda pair: (pair[0], change(pair[1])))


def single(change):
    """For primitives of one result."""
    return lambda value: change((value,))[0]


# --- jvp --------------------------------------------------------------------------------------------------------------

JVP = [
    ("control_flow.scan", primals(first_negated), "jvp"),
    ("control_flow.scan", primals(last_negated), "jvp"),
    ("control_flow.scan", tangents(first_negated), "jvp"),
    ("control_flow.cond", primals(turned), "jvp"),
    ("control_flow.cond", tangents(turned), "jvp"),
    ("control_flow.while", primals(last_negated), "jvp"),
    ("control_flow.while", tangents(last_negated), "jvp"),
    ("jit.jit", primals(negated), "jvp"),
    ("jit.jit", tangents(negated), "jvp"),
    ("custom_rules.custom_jvp_call", primals(negated), "jvp"),
    ("custom_rules.custom_jvp_call", tangents(negated), "jvp"),
    ("checkpointing.remat", primals(negated), "jvp"),
    ("sorting.sort", primals(lambda outs: (lax.rev(outs[0], (0,)), *outs[1:])), "jvp"),
    ("sorting.sort", tangents(last_negated), "jvp"),
    ("sorting.top_k", primals(lambda outs: (outs[0], lax.add(outs[1], np.int32(1)))), "jvp"),
    ("elementwise.select_n", primals(single(negated)), "jvp"),
    ("elementwise.mul", primals(lambda out: lax.add(out, 100.0) if out.dtype.kind == "f" else out), "jvp"),
]

# --- linearize, partial_eval -----------------------------------------------------------------------------------------


def other_primals(change):
    def edit(linearized):
        linearized.primals_out = change(linearized.primals_out)
        return linearized

    return results_of(edit)


def other_residuals(linearized):
    linearized.residuals = negated(linearized.residuals)
    return linearized


def other_known(found):
    if found is not None:
        found.known_outs = negated(found.known_outs)
        found.residuals = negated(found.residuals)
        if found.operands is not None:
            found.operands = [changed(x) if isinstance(x, Array) else x for x in found.operands]
    return found


LINEARIZE = [
    ("control_flow.scan", other_primals(last_negated), "transpose"),
    ("control_flow.scan", results_of(other_residuals), "transpose"),
    ("control_flow.cond", other_primals(turned), "transpose"),
    ("jit.jit", other_primals(negated), "transpose"),
    ("jit.jit", results_of(other_residuals), "transpose"),
    ("checkpointing.remat", other_primals(negated), "transpose"),
    ("custom_rules.custom_vjp_call", other_primals(negated), "transpose"),
]
PARTIAL_EVAL = [
    ("control_flow.scan", results_of(other_known), "transpose"),
    ("control_flow.cond", results_of(other_known), "transpose"),
    ("jit.jit", results_of(other_known), "transpose"),
]

# --- transpose --------------------------------------------------------------------------------------------------------

TRANSPOSE = [
    ("control_flow.scan", results_of(first_negated), "transpose"),
    ("control_flow.scan", results_of(last_negated), "transpose"),
    ("control_flow.cond", results_of(negated), "transpose"),
    ("jit.jit", results_of(negated), "transpose"),
    ("checkpointing.remat", results_of(negated), "transpose"),
    ("linear_calls.linear_call", results_of(negated), "transpose"),
    ("elementwise.select_n", results_of(turned), "transpose"),
    ("indexing.scatter_add", results_of(last_negated), "transpose"),
    ("indexing.gather", results_of(negated), "transpose"),
    ("windows.conv_general_dilated", results_of(last_negated), "transpose"),
]

# --- batch ------------------------------------------------------------------------------------------------------------


def rows_reversed(pair):
    outs, dims = pair
    if not isinstance(outs, (tuple, list)):
        return lax.rev(outs, (dims,)), dims
    return tuple([x if d is None else lax.rev(x, (d,)) for x, d in zip(outs, dims)]), dims


def results_turned(pair):
    outs, dims = pair
    return tuple(reversed(outs)), tuple(reversed(dims))


def last_dims(pair):
    """The mapped axis is said to be the last one."""
    outs, dims = pair
    return outs, tuple([d if d is None else x.ndim - 1 for x, d in zip(as_tuple(outs), as_tuple(dims))])


BATCH = [
    ("control_flow.scan", results_of(rows_reversed), "batch"),
    ("control_flow.scan", results_of(last_dims), "batch"),
    ("control_flow.cond", results_of(rows_reversed), "batch"),
    ("control_flow.cond", results_of(results_turned), "batch"),
    ("control_flow.while", results_of(rows_reversed), "batch"),
    ("jit.jit", results_of(rows_reversed), "batch"),
    ("custom_rules.custom_jvp_call", results_of(rows_reversed), "batch"),
    ("custom_rules.custom_vjp_call", results_of(rows_reversed), "batch"),
    ("checkpointing.remat", results_of(rows_reversed), "batch"),
    ("sorting.sort", results_of(rows_reversed), "batch"),
    ("sorting.top_k", results_of(rows_reversed), "batch"),
    ("elementwise.select_n", results_of(rows_reversed), "batch"),
]

# --- dce: rule(used_outputs, equation) -> (used_inputs, equation or None) ---------------------------------------------


def inputs_turned(found):
    used, equation = found
    if equation is None or len(equation.invars) < 2:
        return found
    *rest, one, other = equation.invars
    return used, equation.replace(invars=[*rest, other, one])


def everything_dropped(found):
    return [False] * len(found[0]), None


def other_results(rule):
    """The unused results stay, those that are used go."""

    def wrong(used_outputs, equation):
        wanted = list(reversed(used_outputs))
        used, new = rule(wanted, equation)
        kept = [var for var, is_used in zip(equation.outvars, used_outputs, strict=True) if is_used]
        return used, None if new is None else new.replace(outvars=kept)

    return wrong


DCE = [
    ("control_flow.scan", results_of(inputs_turned), "dce"),
    ("control_flow.scan", results_of(everything_dropped), "dce"),
    ("control_flow.scan", other_results, "dce"),
    ("control_flow.cond", other_results, "dce"),
    ("control_flow.cond", results_of(inputs_turned), "dce"),
    ("control_flow.while", results_of(everything_dropped), "dce"),
    ("jit.jit", results_of(everything_dropped), "dce"),
    ("checkpointing.remat", results_of(everything_dropped), "dce"),
]
TABLES = {
    "jvp": JVP,
    "linearize": LINEARIZE,
    "partial_eval": PARTIAL_EVAL,
    "transpose": TRANSPOSE,
    "batch": BATCH,
    "dce": DCE,
}
CASES = [(kind, *case) for kind, cases in TABLES.items() for case in cases]


@pytest.mark.parametrize(("kind", "name", "mutate", "expected"), CASES)
def test_a_wrong_rule_is_caught(kind, name, mutate, expected):
    failures = caught(kind, name, mutate(original(kind, name)), expected)
    assert failures
    assert any([cell.place for cell in failures]), failures
