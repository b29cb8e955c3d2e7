"""Mutants: rules that are wrong in one way. The conformance kit must catch each with the check that is meant for it."""

import numpy as np
import pytest

from tangrad import lax
from tangrad._backend_numpy.kernels import Kernel
from tangrad._debug import HostCall
from tangrad.conformance import Sample, check, draw, find_samples
from tangrad.core import (
    NamedAxisEffect,
    PrimitiveSet,
    RuleSet,
    ShapedArray,
    find_primitive,
    register,
    rule_table,
)
from tangrad.debug import DebugEffect


def as_tuple(outs):
    return tuple(outs) if isinstance(outs, (tuple, list)) else (outs,)


def each(change):
    """Change every array of a result."""

    def changed(outs):
        new = tuple([out if out is None else change(out) for out in as_tuple(outs)])
        return new if isinstance(outs, (tuple, list)) else new[0]

    return changed


# --- jvp: rule(primals, tangents, **params) -> (primals_out, tangents_out) ------------------------------------------


def tangent_out(change):
    """The tangent that comes out is another one."""

    def mutate(rule):
        def wrong(primals, tangents, **params):
            out, tangent = rule(primals, tangents, **params)
            return out, each(change)(tangent)

        return wrong

    return mutate


def dropped_term(position):
    """One argument's tangent is forgotten."""

    def mutate(rule):
        def wrong(primals, tangents, **params):
            tangents = [lax.mul(t, 0) if i == position else t for i, t in enumerate(tangents)]
            return rule(primals, tuple(tangents), **params)

        return wrong

    return mutate


def other_params(**changes):
    """The tangent is computed with other parameters."""

    def mutate(rule):
        def wrong(primals, tangents, **params):
            out, _ = rule(primals, tangents, **params)
            new = {**params, **{name: change(params[name]) for name, change in changes.items()}}
            return out, rule(primals, tangents, **new)[1]

        return wrong

    return mutate


def frozen_slope(rule):
    """The first derivative is right, and a constant to further differentiation."""

    def wrong(primals, tangents, **params):
        return rule(primals, [], **params) if not tangents else _frozen(rule, primals, tangents, params)

    return wrong


def _frozen(rule, primals, tangents, params):
    out, _ = rule(primals, tangents, **params)
    one = tuple([lax.full_like(t, 1) for t in tangents])
    slope = lax.stop_gradient(rule(primals, one, **params)[1])
    return out, lax.mul(tangents[0], slope)


JVP = {
    "elementwise.sin": tangent_out(lax.neg),
    "elementwise.exp": tangent_out(lambda t: lax.mul(t, 2)),
    "elementwise.mul": dropped_term(1),
    "elementwise.div": dropped_term(0),
    "elementwise.atan2": tangent_out(lax.neg),
    "contractions.dot_general": dropped_term(1),
    "reductions.reduce_prod": tangent_out(lambda t: lax.mul(t, 0)),
    "reductions.cumsum": other_params(reverse=lambda reverse: not reverse),
    "structure.rev": tangent_out(lambda t: lax.rev(t, (0,))),
    "sorting.sort": tangent_out(lambda t: lax.rev(t, (0,))),
}
SECOND = {"elementwise.tanh": frozen_slope, "elementwise.log": frozen_slope}


# --- transpose: rule(cotangents, *args, **params) -> cotangents ------------------------------------------------------


def cotangents(change):
    """What comes back is changed."""

    def mutate(rule):
        def wrong(cotangent, *args, **params):
            return each(change)(rule(cotangent, *args, **params))

        return wrong

    return mutate


def forgotten(position):
    """One argument gets no cotangent."""

    def mutate(rule):
        def wrong(cotangent, *args, **params):
            found = list(as_tuple(rule(cotangent, *args, **params)))
            found[position] = None
            return tuple(found)

        return wrong

    return mutate


def swapped(rule):
    """The cotangents go to the wrong arguments."""

    def wrong(cotangent, *args, **params):
        return tuple(reversed(rule(cotangent, *args, **params)))

    return wrong


def conjugated(x):
    return lax.conj(x) if np.issubdtype(x.dtype, np.complexfloating) else x


TRANSPOSE = {
    "elementwise.neg": cotangents(lax.neg),
    "elementwise.mul": cotangents(conjugated),
    "elementwise.add": cotangents(lambda ct: lax.mul(ct, 2)),
    "elementwise.imag": cotangents(lax.neg),
    "reductions.reduce_sum": cotangents(lambda ct: lax.mul(ct, 0.5)),
    "structure.pad": forgotten(1),
    "structure.concatenate": swapped,
    "structure.transpose": cotangents(lambda ct: lax.rev(ct, (0,))),
    "indexing.gather": cotangents(lambda ct: lax.mul(ct, 0)),
    "contractions.dot_general": cotangents(conjugated),
    "linalg.triangular_solve": cotangents(lax.neg),
}


# --- batch: rule(args, dims, axis_info=, **params) -> (outs, out_dims) -----------------------------------------------


def wrong_axis(rule):
    """The result's mapped axis is given as another one."""

    def wrong(args, dims, **keywords):
        outs, out_dims = rule(args, dims, **keywords)
        return outs, each(lambda dim: 0 if dim else outs.ndim - 1)(out_dims)

    return wrong


def reversed_rows(rule):
    """The examples come out in another order."""

    def wrong(args, dims, **keywords):
        outs, out_dims = rule(args, dims, **keywords)
        return lax.rev(outs, (out_dims,)), out_dims

    return wrong


def unshifted(name):
    """A parameter that names axes is not moved past the mapped one."""

    def mutate(rule):
        def wrong(args, dims, *, axis_info, **params):
            primitive = find_primitive(name)
            return primitive.bind(*args, **params), 0

        return wrong

    return mutate


BATCH = {
    "structure.transpose": wrong_axis,
    "reductions.reduce_sum": unshifted("reductions.reduce_sum"),
    "reductions.argmax": reversed_rows,
    "reductions.cumsum": unshifted("reductions.cumsum"),
    "elementwise.sub": reversed_rows,
    "contractions.dot_general": reversed_rows,
    "indexing.gather": reversed_rows,
    "structure.concatenate": unshifted("structure.concatenate"),
}

# --- lowerings: that of another primitive ----------------------------------------------------------------------------

LOWERINGS = [
    ("lower.numpy", "elementwise.sin", "elementwise.cos", "backends"),
    ("lower.numpy", "elementwise.floor", "elementwise.ceil", "backends"),
    ("lower.numpy", "elementwise.sub", "elementwise.add", "backends"),
    ("lower.numpy", "elementwise.eq", "elementwise.add", "abstract"),
    ("lower.numpy", "reductions.cumsum", "reductions.cumprod", "decomposition"),
    ("lower.xla", "elementwise.exp", "elementwise.expm1", "backends"),
    ("lower.xla", "elementwise.lt", "elementwise.le", "backends"),
]


def samples_of(primitive, least=False):
    found = find_samples([primitive.family])[primitive]
    return found[:1] if least else found


def caught(kind, name, rule, expected, everywhere=0):
    """Whether the check finds no fault without the mutant, and some with it."""
    primitive = find_primitive(name)
    samples = samples_of(primitive)
    before = check(primitive, samples, [expected], everywhere=everywhere)
    assert before.cells and not before.failures, before.text()
    mutant = RuleSet(kind, api=1, override=True)
    mutant.add(primitive, rule)
    with register(mutant):
        found = check(primitive, samples, [expected], everywhere=everywhere).failures
    assert not check(primitive, samples, [expected], everywhere=everywhere).failures, "the mutant outlived its test"
    return found


def original(kind, name):
    return rule_table(kind).cell(find_primitive(name)).rule


MUTANTS = [
    (kind, name, mutate, expected)
    for kind, table, expected in (
        ("jvp", JVP, "jvp"),
        ("jvp", SECOND, "second"),
        ("transpose", TRANSPOSE, "transpose"),
        ("batch", BATCH, "batch"),
    )
    for name, mutate in table.items()
]


@pytest.mark.parametrize(("kind", "name", "mutate", "expected"), MUTANTS)
def test_a_wrong_rule_is_caught(kind, name, mutate, expected):
    failures = caught(kind, name, mutate(original(kind, name)), expected)
    assert failures
    # Caught by what it computes, not by an accident of how the mutant was made.
    assert any([cell.problem.startswith(("Mismatch", "ValueError")) for cell in failures]), failures[0].problem


@pytest.mark.parametrize(("kind", "name", "other", "expected"), LOWERINGS)
def test_a_wrong_lowering_is_caught(kind, name, other, expected):
    assert caught(kind, name, original(kind, other), expected, everywhere=None if expected == "backends" else 0)


# --- primitives that are wrong in themselves -------------------------------------------------------------------------


class ByIdentity:
    """A parameter that no copy is equal to."""


def primitive_with(abstract_eval, **options):
    family = PrimitiveSet("mutants", api=1)
    return family, family.primitive(abstract_eval, name="mutant", **options)


def negated(rules, primitive):
    rules.add(primitive, original("lower.numpy", "elementwise.neg"))


def failing(family, primitive, params, *names):
    lower = RuleSet("lower.numpy", api=1)
    negated(lower, primitive)
    with register(family), register(lower):
        sample = Sample(primitive, (draw(2, 3),), params, backends=("numpy",))
        return {cell.check for cell in check(primitive, [sample], names).failures}


@pytest.mark.parametrize(
    "promised",
    [
        lambda x: ShapedArray(x.shape[::-1], x.dtype),
        lambda x: ShapedArray(x.shape, np.dtype(np.int32)),
        lambda x: ShapedArray(x.shape[1:], x.dtype),
    ],
    ids=["shape", "dtype", "rank"],
)
def test_a_wrong_abstract_evaluation_is_caught(promised):
    assert failing(*primitive_with(promised), {}, "abstract") == {"abstract"}


def test_a_wrong_decomposition_is_caught():
    found = primitive_with(lambda x: x, decompose=lambda x: lax.abs(x))
    assert failing(*found, {}, "abstract", "decomposition") == {"decomposition"}


def test_what_runs_alone_otherwise_than_compiled_is_caught():
    found = primitive_with(lambda x: x, evaluate=lambda args, params: lax.abs(args[0]))
    assert failing(*found, {}, "jit") == {"jit"}


def test_a_parameter_without_equality_is_caught():
    found = primitive_with(lambda x, *, how: x)
    assert failing(*found, {"how": ByIdentity()}, "params") == {"params"}


def test_a_parameter_that_no_pickle_takes_is_caught():
    class Local:
        def __eq__(self, other):
            return isinstance(other, Local)

        def __hash__(self):
            return 1

    assert failing(*primitive_with(lambda x, *, how: x), {"how": Local()}, "params", "pickle") == {"pickle"}


# --- effects: each is to take place once, in order, wherever the primitive is applied --------------------------------


def happens(*counts):
    """A jvp or batch rule that is followed as often as `counts` says, in turn."""
    turns = iter(counts * 1000)

    def mutate(rule):
        def wrong(*args, **keywords):
            for _ in range(next(turns)):
                rule(*args, **keywords)
            return (), ()

        return wrong

    return mutate


def rows_turned(rule):
    """The rows of a batch come by in another order."""

    def wrong(args, dims, **keywords):
        return rule([x if d is None else lax.rev(x, (d,)) for x, d in zip(args, dims)], dims, **keywords)

    return wrong


def one_row(rule):
    """Only the first row comes by."""

    def wrong(args, dims, *, axis_info, **keywords):
        rows = [x if d is None else lax.index_in_dim(x, 0, d, keepdims=False) for x, d in zip(args, dims)]
        find_primitive("callbacks.debug_callback").bind(*rows, **keywords)
        return (), ()

    return wrong


def lowered(change):
    """The program calls another function."""

    def mutate(rule):
        def wrong(ctx, *operands, callback, **params):
            parts = callback.in_tree, callback.out_tree, callback.overrides, callback.place
            changed = HostCall(callback.kind, change(callback.function), *parts)
            return rule(ctx, *operands, callback=changed, **params)

        return Kernel(wrong) if isinstance(rule, Kernel) else wrong

    return mutate


def twice(function):
    return lambda *arrays: (function(*arrays), function(*arrays))[0]


def never(function):
    return lambda *arrays: None


def only_at_first(function):
    calls = []
    return lambda *arrays: calls or (calls.append(1), function(*arrays))[1]


def at_compile_time(rule):
    """The lowering has the effect, and the program has not."""

    def emit(ctx, *values, callback, **params):
        callback(np.zeros(ctx.in_avals[0].shape))
        return ()

    return Kernel(emit)


def dropped_on_xla(rule):
    """The call may be dropped, since its results are unused."""

    def wrong(ctx, *operands, **params):
        eqn, ctx.eqn = ctx.eqn, ctx.eqn.replace(effects=frozenset())
        try:
            return rule(ctx, *operands, **{**params, "ordered": False})
        finally:
            ctx.eqn = eqn

    return wrong


EFFECTS = [
    ("jvp", happens(0)),
    ("jvp", happens(2)),
    ("batch", happens(0)),
    ("batch", happens(2)),
    ("batch", one_row),
    ("batch", rows_turned),
    *[(kind, lowered(change)) for kind in ("lower.numpy", "lower.xla") for change in (twice, never, only_at_first)],
    ("lower.numpy", at_compile_time),
    ("lower.xla", dropped_on_xla),
]


@pytest.mark.parametrize(("kind", "mutate"), EFFECTS)
def test_an_effect_that_does_not_take_place_as_it_should_is_caught(kind, mutate):
    name = "callbacks.debug_callback"
    failures = caught(kind, name, mutate(original(kind, name)), "effects", everywhere=None)
    assert any([cell.problem.startswith("Mismatch") for cell in failures]), failures


def effectful(log, declared, evaluate=None):
    """A primitive that notes its operand when it runs, and what its rules must be."""

    def note(x):
        log.append(np.array(x))
        return np.array(x)

    options = {} if declared is None else {"effects": lambda avals, params: declared}
    family, primitive = primitive_with(lambda x: x, evaluate=evaluate, **options)
    lower = RuleSet("lower.numpy", api=1)
    lower.add(primitive, lambda ctx, x: note(x))
    return family, primitive, lower


def taken(log):
    seen = list(log)
    log.clear()
    return seen


@pytest.mark.parametrize(
    ("declared", "evaluate", "is_right"),
    [
        (frozenset([DebugEffect()]), None, True),
        (None, None, False),
        (frozenset([NamedAxisEffect("i")]), None, False),
        (frozenset([DebugEffect()]), lambda args, params: args[0], False),
    ],
    ids=["right", "not declared", "declared as another", "not when applied directly"],
)
def test_effects_of_a_primitive_are_observed(declared, evaluate, is_right):
    log = []
    family, primitive, lower = effectful(log, declared, evaluate)
    with register(family), register(lower):
        sample = Sample(primitive, (draw(2, 3),), backends=("numpy",), observe=lambda: taken(log))
        report = check(primitive, [sample], ["effects"])
    assert (not report.failures) == is_right, report.text()


def test_effects_that_cannot_be_observed_are_a_failure():
    family, primitive, lower = effectful([], frozenset([DebugEffect()]))
    with register(family), register(lower):
        report = check(primitive, [Sample(primitive, (draw(2, 3),), backends=("numpy",))], ["effects"])
    assert [cell.subject for cell in report.failures] == ["observed"]
