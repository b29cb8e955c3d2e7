"""Mutants of rules about named axes: the conformance kit must catch each with the check that is meant for it."""

import pytest

from tangrad import lax
from tangrad.batching import AxisInfo, SplitAxis
from tangrad.conformance import check, find_samples
from tangrad.core import RuleSet, find_primitive, register, rule_table
from tests.primitives.test_mutants import caught, cotangents, original, reversed_rows, tangent_out

# --- axis_subst: rule(params, subst) -> params ------------------------------------------------------------------------


def forgetful(rule):
    """Nothing gets another name."""
    return lambda params, subst: params


def backwards(rule):
    """The parts of a split axis come in the wrong order."""
    return lambda params, subst: rule(params, lambda name: tuple(subst(name))[::-1])


def first_part_only(rule):
    """Of a split axis the second part is forgotten."""
    return lambda params, subst: rule(params, lambda name: tuple(subst(name))[:1])


def first_axis_only(rule):
    """Only the first axis of a list gets another name."""

    def wrong(params, subst):
        key = "axes" if "axes" in params else "axis_name"
        axes = params[key]
        if not isinstance(axes, tuple):
            return rule(params, subst)
        return {**params, key: (*rule({**params, key: axes[:1]}, subst)[key], *axes[1:])}

    return wrong


def one_after_the_other(rule):
    """Two axes that exchange their names both get the same one."""

    def wrong(params, subst):
        return rule(rule(params, lambda name: subst(name) if name == "i" else (name,)), lambda name: subst(name))

    return wrong


def duplicated(rule):
    """A list of axes that says each name twice."""

    def wrong(params, subst):
        found = dict(rule(params, subst))
        key = "axes" if "axes" in found else "axis_name"
        return {**found, key: (*found[key], *found[key])} if isinstance(found[key], tuple) else found

    return wrong


def other_group(rule):
    """Parameters beside the names change too."""

    def wrong(params, subst):
        found = dict(rule(params, subst))
        return {**found, "source": 0} if "source" in found else {**found, "perm": found["perm"][:1]}

    return wrong


AXIS_SUBST = {
    "collectives.psum": (forgetful, first_part_only, first_axis_only, duplicated),
    "collectives.pmax": (forgetful, first_part_only),
    "collectives.all_gather": (forgetful, backwards, one_after_the_other),
    "collectives.reduce_scatter": (backwards, first_axis_only),
    "collectives.all_to_all": (backwards, forgetful),
    "collectives.ppermute": (backwards, other_group),
    "collectives.pbroadcast": (backwards, other_group),
    "collectives.axis_index": (forgetful, backwards, first_part_only),
    "collectives.psum_to": (forgetful, first_part_only, first_axis_only, duplicated),
}
CASES = [(name, mutate) for name, mutants in AXIS_SUBST.items() for mutate in mutants]


@pytest.mark.parametrize(("name", "mutate"), CASES)
def test_a_wrong_substitution_is_caught(name, mutate):
    assert caught("axis_subst", name, mutate(original("axis_subst", name)), "axis_subst")


def test_a_substitution_that_does_not_look_into_programs_is_caught():
    """The rule of calls is not that of the primitive at hand: the check puts the primitive into a call."""
    psum, jit = find_primitive("collectives.psum"), find_primitive("jit.jit")
    samples = find_samples(["collectives"])[psum]
    mutant = RuleSet("axis_subst", api=1, override=True)
    mutant.add(jit, forgetful(None))
    with register(mutant):
        failures = check(psum, samples, ["axis_subst"]).failures
    assert failures and all(["in a program" in cell.subject for cell in failures])
    assert not check(psum, samples, ["axis_subst"]).failures


# --- split_axis: rule(args, dims, *, axis_info, **params) -> (outs, dims) ---------------------------------------------


def first_of_the_part(rule):
    """Of each part only the first example counts."""

    def wrong(args, dims, *, axis_info, **params):
        rows = [lax.index_in_dim(x, 0, dim, keepdims=False) if dim is not None else x for x, dim in zip(args, dims)]
        return rule(tuple(rows), (None,) * len(rows), axis_info=axis_info, **params)

    return wrong


def unmapped_once(rule):
    """What is the same for all of a part counts once for it."""

    def wrong(args, dims, *, axis_info, **params):
        if dims[0] is not None:
            return rule(args, dims, axis_info=axis_info, **params)
        return rule(args, dims, axis_info=SplitAxis(axis_info.name, 1, axis_info.outer, axis_info.count), **params)

    return wrong


def part_reversed(rule):
    """The examples of a part come in the wrong order."""

    def wrong(args, dims, *, axis_info, **params):
        rows = [lax.rev(x, (dim,)) if dim is not None else x for x, dim in zip(args, dims)]
        return rule(tuple(rows), dims, axis_info=axis_info, **params)

    return wrong


def result_reversed(rule):
    """The results of a part come in the wrong order."""

    def wrong(args, dims, *, axis_info, **params):
        out, dim = rule(args, dims, axis_info=axis_info, **params)
        return (out if dim is None else lax.rev(out, (dim,))), dim

    return wrong


SPLIT_AXIS = {
    "collectives.psum": (first_of_the_part, unmapped_once),
    "collectives.pmax": (first_of_the_part,),
    "collectives.pmin": (first_of_the_part,),
    "collectives.all_gather": (part_reversed, first_of_the_part),
    "collectives.axis_index": (result_reversed,),
    "collectives.ppermute": (part_reversed, result_reversed),
    "collectives.all_to_all": (part_reversed, result_reversed),
    "collectives.reduce_scatter": (result_reversed,),
    "collectives.pbroadcast": (part_reversed,),
}
SPLIT_CASES = [(name, mutate) for name, mutants in SPLIT_AXIS.items() for mutate in mutants]


@pytest.mark.parametrize(("name", "mutate"), SPLIT_CASES)
def test_a_wrong_split_is_caught(name, mutate):
    rule = rule_table("split_axis")[find_primitive(name)]  # its own, or that of the kind for those that have none
    assert caught("split_axis", name, mutate(rule), "split_axis")


# --- replication: rule(varying, params) -> varying --------------------------------------------------------------------


def nowhere(rule):
    """Results are the same everywhere."""
    return lambda varying, params: frozenset()


def as_the_operand(rule):
    """An operation that distinguishes examples is taken for one that does not."""
    return lambda varying, params: varying[0] if varying else frozenset()


def groups_forgotten(rule):
    """Groups of examples have one result each."""
    return lambda varying, params: rule(varying, {**params, "axis_index_groups": None})


REPLICATION = [
    ("collectives.psum", nowhere),
    ("collectives.psum", groups_forgotten),
    ("collectives.pmax", nowhere),
    ("collectives.all_gather", groups_forgotten),
    ("collectives.pbroadcast", nowhere),
    ("collectives.pvary", nowhere),
    ("collectives.ppermute", as_the_operand),
    ("collectives.all_to_all", nowhere),
    ("collectives.axis_index", nowhere),
]


@pytest.mark.parametrize(("name", "mutate"), REPLICATION)
def test_a_wrong_claim_of_sameness_is_caught(name, mutate):
    rule = rule_table("replication")[find_primitive(name)]
    assert caught("replication", name, mutate(rule), "replication")


# --- the other kinds --------------------------------------------------------------------------------------------------


def not_inverted(rule):
    """Cotangents are sent where the values were sent."""
    return lambda ct, x, *, axis_name, perm: rule(ct, x, axis_name=axis_name, perm=tuple([(b, a) for a, b in perm]))


def other_axes(rule):
    """A sum's cotangents are summed over the first axis alone."""
    return lambda ct, x, *, axes, **params: rule(
        ct, x, axes=axes[:1] if not isinstance(axes[0], int) else axes, **params
    )


def swapped_dimensions(rule):
    """What was split is joined at the wrong place."""

    def wrong(ct, x, *, split_axis, concat_axis, **params):
        return rule(ct, x, split_axis=concat_axis, concat_axis=split_axis, **params)

    return wrong


def unshifted(name):
    """Dimensions are not counted around a mapped axis of another name."""

    def mutate(rule):
        def wrong(args, dims, *, axis_info, **params):
            names = params.get("axis_name", params.get("axes"))
            if axis_info.name in names:
                return rule(args, dims, axis_info=axis_info, **params)
            return find_primitive(name).bind(*args, **params), dims[0]

        return wrong

    return mutate


def not_multiplied(rule):
    """The sum of what is not mapped is the value itself."""

    def wrong(args, dims, *, axis_info, axes, axis_index_groups):
        if dims[0] is None and axes == (axis_info.name,) and axis_index_groups is None:
            return args[0], None
        return rule(args, dims, axis_info=axis_info, axes=axes, axis_index_groups=axis_index_groups)

    return wrong


OTHERS = [
    ("jvp", "collectives.pmax", tangent_out(lambda t: lax.mul(t, 0.5)), "jvp"),
    ("jvp", "collectives.psum", tangent_out(lax.neg), "jvp"),
    ("jvp", "collectives.psum_to", tangent_out(lax.neg), "jvp"),
    ("transpose", "collectives.psum_to", cotangents(lax.neg), "transpose"),
    ("transpose", "collectives.psum", cotangents(lambda ct: lax.mul(ct, 0.5)), "transpose"),
    ("transpose", "collectives.psum", other_axes, "transpose"),
    ("transpose", "collectives.ppermute", not_inverted, "transpose"),
    ("transpose", "collectives.pbroadcast", cotangents(lax.neg), "transpose"),
    ("transpose", "collectives.all_to_all", swapped_dimensions, "transpose"),
    ("transpose", "collectives.all_gather", cotangents(lambda ct: lax.rev(ct, (0,))), "transpose"),
    ("batch", "collectives.all_gather", unshifted("collectives.all_gather"), "batch"),
    ("batch", "collectives.reduce_scatter", unshifted("collectives.reduce_scatter"), "batch"),
    ("batch", "collectives.psum", not_multiplied, "batch"),
    ("batch", "collectives.ppermute", reversed_rows, "batch"),
]


@pytest.mark.parametrize(("kind", "name", "mutate", "expected"), OTHERS)
def test_a_wrong_rule_of_a_collective_is_caught(kind, name, mutate, expected):
    assert caught(kind, name, mutate(original(kind, name)), expected)


# --- batch: rule(args, dims, *, axis_info, **params) -> (outs, dims) --------------------------------------------------


def nameless(rule):
    """The mapped axis has no name any more, so that the primitive is left with it."""
    return lambda args, dims, *, axis_info, **params: rule(
        args, dims, axis_info=AxisInfo(None, axis_info.size), **params
    )


@pytest.mark.parametrize("name", ["collectives.psum", "collectives.ppermute", "collectives.pbroadcast"])
def test_a_lost_name_is_a_failure_and_nothing_that_a_backend_lacks(name):
    primitive = find_primitive(name)
    mutant = RuleSet("batch", api=1, override=True)
    mutant.add(primitive, nameless(original("batch", name)))
    with register(mutant):
        report = check(primitive, find_samples(["collectives"])[primitive], ["batch"])
    assert report.failures and not report.absent
