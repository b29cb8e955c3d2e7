"""Lowerings for XLA that are wrong at an edge: a table of mutants, by primitive."""

import numpy as np
import pytest

from tangrad._backend_xla.helpers import compare, comparison, convert, full, select
from tangrad.conformance import check, find_samples
from tangrad.core import RuleSet, find_primitive, register, rule_table
from tangrad.core.tools import rule_kinds
from tests.primitives.mutated_lowerings import CLIP, NUMPY, other


def operation(name):
    """Another operation of StableHLO."""
    return lambda rule: lambda ctx, *values, **params: ctx.op(name, ctx.out_type, values)


def _less_zero(rule):
    return lambda ctx, x: ctx.op("stablehlo.subtract", ctx.out_type, (full(ctx, 0, ctx.out_aval), x))


def _exponential_less_one(rule):
    def wrong(ctx, x):
        power = ctx.op("stablehlo.exponential", ctx.out_type, (x,))
        return ctx.op("stablehlo.subtract", ctx.out_type, (power, full(ctx, 1, ctx.out_aval)))

    return wrong


def _logarithm_of_one_more(rule):
    def wrong(ctx, x):
        more = ctx.op("stablehlo.add", ctx.out_type, (x, full(ctx, 1, ctx.out_aval)))
        return ctx.op("stablehlo.log", ctx.out_type, (more,))

    return wrong


def _chosen(direction):
    """One of two operands by a comparison, which knows no NaN."""

    def mutate(rule):
        def wrong(ctx, x, y):
            aval = ctx.out_aval
            if any([one.shape != aval.shape for one in ctx.in_avals]) or aval.dtype.kind == "c":
                return rule(ctx, x, y)
            return select(ctx, compare(ctx, direction, x, y, aval), x, y, aval)

        return wrong

    return mutate


def _magnitude(rule):
    def wrong(ctx, x):
        if ctx.in_avals[0].dtype.kind != "f":
            return rule(ctx, x)
        turned_around = ctx.op("stablehlo.negate", ctx.out_type, (x,))
        zero = full(ctx, 0, ctx.out_aval)
        return select(ctx, compare(ctx, "LT", x, zero, ctx.out_aval), turned_around, x, ctx.out_aval)

    return wrong


def _through(dtype):
    """The operands in another dtype in between."""

    def mutate(rule):
        def wrong(ctx, *values, **params):
            found = []
            for x, aval in zip(values, ctx.in_avals):
                narrow = aval.update(dtype=np.dtype(dtype))
                is_real = aval.dtype.kind == "f"
                found.append(convert(ctx, convert(ctx, x, aval, narrow), narrow, aval) if is_real else x)
            return rule(ctx, *found, **params)

        return wrong

    return mutate


def _masked_shift(name):
    def mutate(rule):
        def wrong(ctx, x, y):
            mask = full(ctx, 8 * ctx.out_aval.dtype.itemsize - 1, ctx.out_aval)
            return ctx.op(name, ctx.out_type, (x, ctx.op("stablehlo.and", ctx.out_type, (y, mask))))

        return wrong

    return mutate


def _plain_quotient(name):
    """By zero as by one."""

    def mutate(rule):
        def wrong(ctx, x, y):
            if ctx.out_aval.dtype.kind != "i":
                return rule(ctx, x, y)
            # -1 is left out, too: the least integer divided by it would end the process.
            is_odd = compare(ctx, "LE", y, full(ctx, 0, ctx.out_aval), ctx.out_aval)
            return ctx.op(name, ctx.out_type, (x, select(ctx, is_odd, full(ctx, 1, ctx.out_aval), y, ctx.out_aval)))

        return wrong

    return mutate


def _before_index(change):
    """Indices are changed before they are used."""

    def mutate(rule):
        def wrong(ctx, x, *indices, **params):
            found = [change(ctx, one, aval) for one, aval in zip(indices, ctx.in_avals[1:])]
            return rule(ctx, x, *found, **params)

        return wrong

    return mutate


def _from_the_end(ctx, x, aval):
    zero, more = full(ctx, 0, aval), ctx.op("stablehlo.add", ctx.types[aval], (x, full(ctx, 2, aval)))
    return select(ctx, compare(ctx, "LT", x, zero, aval), more, x, aval)


def _from_zero(rule):
    def wrong(ctx, x, **params):
        found = rule(ctx, x, **params)
        zero = full(ctx, 0, ctx.out_aval)
        return ctx.op("stablehlo.maximum", ctx.out_type, (found, zero))

    return wrong


XLA = {
    "elementwise.neg": {"0 - x": _less_zero},
    "elementwise.abs": {"keeps -0": _magnitude},
    "elementwise.expm1": {"exp(x) - 1": _exponential_less_one},
    "elementwise.log1p": {"log(1 + x)": _logarithm_of_one_more},
    "elementwise.max": {"forgets NaN": _chosen("GT")},
    "elementwise.min": {"forgets NaN": _chosen("LT")},
    "elementwise.mul": {"in half": _through("float16")},
    "elementwise.floor": {"rounds": operation("stablehlo.round_nearest_even")},
    "elementwise.round": {"away from zero": operation("stablehlo.round_nearest_afz")},
    "elementwise.lt": {"less or equal": lambda rule: comparison("LE")},
    "elementwise.shift_left": {"modulo the width": _masked_shift("stablehlo.shift_left")},
    "elementwise.shift_right_logical": {"arithmetic": operation("stablehlo.shift_right_arithmetic")},
    "elementwise.div": {"by zero": _plain_quotient("stablehlo.divide")},
    "elementwise.rem": {"by zero": _plain_quotient("stablehlo.remainder")},
    "reductions.reduce_sum": {"in half": _through("float16")},
    "reductions.reduce_max": {"from 0": _from_zero},
    "reductions.argmax": {"in half": _through("float16")},
    "indexing.gather": {"clips": other(mode=CLIP, fill_value=None)},
    "indexing.scatter_add": {"clips": other(mode=CLIP)},
    "structure.dynamic_slice": {"from the end": _before_index(_from_the_end)},
    "windows.reduce_window_max": {"from 0": _from_zero},
    "sorting.top_k": {"in half": _through("float16")},
}
CPU = {
    "elementwise.atan2": {"in half": _through("float16")},
    "contractions.dot_general": {"in half": _through("float16")},
    "reductions.cumsum": {"forwards": other(reverse=False)},
    "linalg.triangular_solve": {"no unit diagonal": other(unit_diagonal=lambda unit: not unit)},
    "windows.conv_general_dilated": {"in half": _through("float16")},
}
MUTANTS = [
    (kind, name, what, mutate)
    for kind, table in (("lower.numpy", NUMPY), ("lower.xla", XLA), ("lower.xla.cpu", CPU))
    for name, mutants in table.items()
    for what, mutate in mutants.items()
]


# --- Mutants of lowerings ---


CHECKS = ["abstract", "backends", "jit", "decomposition", "edges"]
QUICK = [f"elementwise.{name}" for name in ("neg", "expm1", "mul", "div")] + ["sorting.sort", "indexing.gather"]


def caught(kind, name, mutate, checks=CHECKS):
    """What fails with the mutant in the place of the rule."""
    primitive = find_primitive(name)
    mutant = RuleSet(kind, api=1, override=True)
    mutant.add(primitive, mutate(rule_table(kind).cell(primitive).rule))
    with register(mutant):
        return check(primitive, find_samples([primitive.family])[primitive], checks).failures


def assert_blamed(kind, failures):
    """Every failure names the lowering as a place to look, and no rule of a transformation."""
    assert failures
    others = [other for other in rule_kinds() if not other.startswith("lower.")]
    for cell in failures:
        about = cell.check, cell.subject, cell.problem, cell.place
        named = [part.partition(":")[0] for part in cell.place.split("; ")]
        assert kind in named or "mutated_lowerings" in cell.place, (
            cell.check,
            cell.subject,
            cell.problem,
            cell.place,
        )
        assert not {*named} & {*others, "abstract_eval"}, about


@pytest.mark.parametrize(
    ("kind", "name", "what", "mutate"),
    [pytest.param(*m, id="-".join(m[:3]), marks=() if m[1] in QUICK else pytest.mark.sweep) for m in MUTANTS],
)
def test_a_wrong_lowering_is_caught_and_blamed(kind, name, what, mutate):
    assert_blamed(kind, caught(kind, name, mutate))
