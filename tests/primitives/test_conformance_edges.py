"""What the conformance kit finds at edges and in transpose rules; what is no mistake; and whom it blames."""

from fnmatch import fnmatchcase

import numpy as np
import pytest

from tangrad import enable_x64, lax, nn, use_backend
from tangrad._conformance.checks.edges import pointwise
from tangrad._conformance.differences import TABLE
from tangrad._conformance.edge_values import MOST, grid
from tangrad.conformance import Sample, check, draw, find_samples
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, as_array, find_primitive, register, rule_table
from tangrad.core.tools import families, primitive_set


class Planted:
    """A primitive with rules, registered within a block."""

    def __init__(self, *avals_of, rules=(), **options):
        self.family = PrimitiveSet("edged", api=1)
        self.primitive = self.family.primitive(*avals_of or (lambda *avals: avals[0],), name="edged", **options)
        self.sets = []
        for kind, rule in dict(rules).items():
            self.sets.append(RuleSet(kind, api=1))
            self.sets[-1].add(self.primitive, rule)

    def report(self, *args, checks=None, everywhere=0, **fields):
        handles = [register(one) for one in (self.family, *self.sets)]
        try:
            return check(self.primitive, [Sample(self.primitive, args, **fields)], checks, everywhere=everywhere)
        finally:
            for handle in reversed(handles):
                handle.undo()


def replaced(name, rule, kind="lower.numpy"):
    """A rule of a primitive of ours in the place of the right one."""
    mutant = RuleSet(kind, api=1, override=True)
    mutant.add(find_primitive(name), rule)
    return register(mutant)


def failures(name, checks=None, **options):
    primitive = find_primitive(name)
    return check(primitive, find_samples([primitive.family])[primitive], checks, **options).failures


# --- edges -----------------------------------------------------------------------------------------------------------


def saturated(ctx, x, y):
    if x.dtype != np.int32:
        return np.multiply(x, y)
    return np.clip(x.astype(np.int64) * y, -(2**31), 2**31 - 1).astype(np.int32)


@pytest.mark.parametrize(
    ("name", "rule", "shown"),
    [
        ("elementwise.neg", lambda ctx, x: x.dtype.type(0) - x, "of 0.0 np.float32(0.0) and np.float32(-0.0)"),
        ("elementwise.expm1", lambda ctx, x: np.exp(x) - x.dtype.type(1), "5 of 24 differ"),
        ("elementwise.mul", saturated, "2147483647"),
    ],
)
@pytest.mark.parametrize("everywhere", [0, None], ids=["alone", "beside another backend"])
def test_what_the_samples_own_values_do_not_show(name, rule, shown, everywhere):
    if everywhere is None and name != "elementwise.neg":
        everywhere = 1
    with replaced(name, rule):
        found = failures(name, ["edges"], everywhere=everywhere)
    assert found and {cell.check for cell in found} == {"edges"}
    assert any([shown in cell.problem for cell in found]), [cell.problem for cell in found]
    assert all(["lower.numpy: " in cell.place for cell in found])
    assert not failures(name, ["edges"], everywhere=everywhere)


def test_the_reference_of_a_sample_is_asked_where_there_is_one_backend():
    planted = Planted(decompose=lambda x: lax.sub(lax.exp(x), lax.full_like(x, 1)))
    report = planted.report(draw(3), checks=["edges"], reference=lambda x: np.expm1(x))
    (cell,) = report.failures
    assert "the sample's reference" in cell.problem and "decompose: " in cell.place
    assert not planted.report(draw(3), checks=["edges"]).cells


def test_a_reference_gets_higher_precision_and_integers_of_any_size():
    seen = []

    def square(x):
        seen.append(x)
        return x * x

    planted = Planted(decompose=lambda x: lax.mul(x, x))
    for array in (draw(3), draw(3, dtype="int32"), draw(3, dtype="float64")):
        assert not planted.report(array, checks=["edges"], reference=square).failures
    assert [x.dtype for x in seen] == [np.float64, np.dtype(object), np.longdouble]
    assert max(seen[1] * seen[1]) > 2**60


def test_a_backend_that_is_tried_alone_is_held_against_the_reference():
    with replaced("elementwise.cos", lambda ctx, x: ctx.op("stablehlo.sine", ctx.out_type, (x,)), "lower.xla"):
        found = failures("elementwise.cos", ["backends"], backends=["xla"])
    assert {cell.subject for cell in found} == {"xla and numpy"}
    assert not failures("elementwise.cos", ["backends"], backends=["xla"])


def test_what_works_element_by_element_is_known():
    def every(name, *args, **params):
        with enable_x64(True), use_backend("numpy"):
            return pointwise(Sample(find_primitive(name), args, params)) is not None

    assert every("elementwise.mul", draw(2, 3), np.float32(2))
    assert every("elementwise.select_n", draw(3, dtype="bool"), draw(3), draw(3, seed=1))
    assert not every("sorting.sort", draw(3), dimension=0, is_stable=True, num_keys=1)
    assert not every("reductions.cumsum", draw(3), axis=0, reverse=False)
    assert not every("structure.rev", draw(3), dimensions=(0,))


@pytest.mark.parametrize("kinds", [("float32",), ("int8", "int8"), ("complex64",) * 2, ("float16",) * 4])
def test_a_grid_has_every_combination_and_no_more_rows_than_it_may(kinds):
    vectors = grid([np.dtype(kind) for kind in kinds])
    assert len(vectors) == len(kinds) and len({len(one) for one in vectors}) == 1
    assert len(vectors[0]) <= MOST
    assert len({tuple([one[i].tobytes() for one in vectors]) for i in range(len(vectors[0]))}) == len(vectors[0])


def test_every_difference_has_a_reason_and_is_of_primitives_that_there_are():
    identities = [p.identity for family in families() for p in primitive_set(family).primitives.values()]
    for names, themes, what, reason in TABLE:
        assert themes and what in ("zeros", "size", "finite", "left out") and len(reason) > 20, names
        assert any([fnmatchcase(identity, names) for identity in identities]), names


# --- transpose rules -------------------------------------------------------------------------------------------------


def jvp_of_sine(primals, tangents):
    return lax.sin(primals[0]), lax.mul(tangents[0], lax.cos(primals[0]))


@pytest.mark.parametrize(
    ("decompose", "count"),
    [(lax.sin, 1), (lax.abs, 1), (lax.floor, 1), (lax.max, 2), (lax.div, 2), (lambda x: lax.sort(x), 1)],
)
@pytest.mark.parametrize("derivatives", [0, 1])
def test_a_transpose_rule_of_what_is_not_linear_is_found(decompose, count, derivatives):
    planted = Planted(decompose=decompose, rules={"transpose": lambda ct, *args: (ct,) * count})
    args = [draw(5, seed=seed) for seed in range(count)]
    found = planted.report(*args, checks=["transpose"], derivatives=derivatives).failures
    assert any(["the primitive is not linear in it" in cell.problem for cell in found])
    assert all([cell.place.startswith("transpose: ") for cell in found if "not linear" in cell.problem])


def test_a_transpose_rule_may_refuse_an_argument_and_a_constant_may_be_added():
    def of_quotient(ct, x, y):
        if not hasattr(y, "dtype") or type(y).__name__ == "Linear":
            raise TypeError("not linear in the denominator")
        return lax.div(ct, y), None

    planted = Planted(decompose=lax.div, rules={"transpose": of_quotient})
    assert not planted.report(draw(5), draw(5, seed=1), checks=["transpose"]).failures
    both = Planted(decompose=lax.add, rules={"transpose": lambda ct, x, y: (ct, ct)})
    assert not both.report(draw(5), draw(5, seed=1), checks=["transpose"]).failures


# --- kinks -----------------------------------------------------------------------------------------------------------

WEIGHTS = np.array([1, -1, 2, -2, 3, 1, 1], np.float32)
SUMS_OF_KINKS = {
    "relu(x) - relu(y)": (lambda x, y: lax.sub(nn.relu(x), nn.relu(y)), 2),
    "|x| - |y|": (lambda x, y: lax.sub(lax.abs(x), lax.abs(y)), 2),
    "max(x, y) - min(x, y)": (lambda x, y: lax.sub(lax.max(x, y), lax.min(x, y)), 2),
    "leaky": (lambda x: nn.relu(x) - 0.3 * nn.relu(-x), 1),
    "x": (lambda x: nn.relu(x) - nn.relu(-x), 1),
    "hat": (lambda x: abs(x - 1) - 2 * abs(x) + abs(x + 1), 1),
    "near": (lambda x: abs(x - 1e-9) - abs(x + 1e-9), 1),
    "less near": (lambda x: abs(x - 5e-6) - abs(x + 5e-6) + nn.relu(x - 1 - 2e-6) - nn.relu(x - 1 + 1e-6), 1),
    "weighted": (lambda x: nn.relu(x) * lax.convert_element_type(WEIGHTS, x.dtype), 1),
}


@pytest.mark.parametrize("function, count", SUMS_OF_KINKS.values(), ids=SUMS_OF_KINKS)
def test_a_sum_of_kinks_is_no_mistake(function, count):
    report = Planted(decompose=function).report(*[draw(7, seed=i) for i in range(count)], checks=["points"])
    assert report.cells and not report.failures, report.text()


def test_a_sum_over_kinks_of_elements_is_no_mistake():
    def total(x):
        return lax.reduce_sum(nn.relu(x) * lax.convert_element_type(WEIGHTS, x.dtype), (0,))

    report = Planted(lambda x: ShapedArray((), x.dtype), decompose=total).report(draw(7), checks=["points"])
    assert report.cells and not report.failures, report.text()


@pytest.mark.parametrize(
    "slope",
    [
        lambda x: lax.full_like(x, 2),
        lambda x: lax.select(lax.eq(x, lax.full_like(x, 0)), lax.full_like(x, np.nan), lax.sign(x)),
        lambda x: lax.sign(x) + lax.convert_element_type(lax.eq(x, lax.full_like(x, 1)), x.dtype),
    ],
    ids=["beyond both sides", "NaN at the kink", "elsewhere"],
)
def test_a_wrong_slope_beside_kinks_is_a_mistake(slope):
    def rule(primals, tangents):
        return lax.abs(primals[0]), lax.mul(tangents[0], slope(primals[0]))

    assert Planted(decompose=lax.abs, rules={"jvp": rule}).report(draw(7), checks=["points"]).failures


# --- blame -----------------------------------------------------------------------------------------------------------


def test_a_lowering_of_another_dtype_is_blamed_itself():
    original = rule_table("lower.numpy").cell(find_primitive("elementwise.sin")).rule

    def wrong(ctx, x):
        return ctx.ufunc(np.sin, ctx.cast(x, np.dtype(np.float16))) if x.dtype == np.float32 else original(ctx, x)

    with replaced("elementwise.sin", type(original)(wrong)):
        found = failures("elementwise.sin", everywhere=0)
    assert "abstract" in {cell.check for cell in found}
    assert all(["lower.numpy: " in cell.place or "test_conformance_edges" in cell.place for cell in found])
    assert not [cell.place for cell in found if "abstract_eval" in cell.place or "jvp" in cell.place]


def test_a_derivative_that_is_measured_with_a_wrong_lowering_is_not_blamed():
    with replaced("elementwise.sin", lambda ctx, x: np.sin(x) * x.dtype.type(1.5)):
        found = failures("elementwise.sin", ["jvp", "transpose", "second"], everywhere=0)
    assert found and all([cell.place.startswith("lower.numpy: ") for cell in found]), [cell.place for cell in found]


def test_a_wrong_abstract_evaluation_is_blamed_where_all_others_agree():
    planted = Planted(lambda x: ShapedArray(x.shape[::-1], x.dtype), decompose=lax.neg)
    found = planted.report(draw(2, 3), checks=["abstract"], everywhere=None).failures
    assert found and all(["abstract_eval: " in cell.place for cell in found]), [cell.place for cell in found]


def test_every_sample_can_be_applied():
    with enable_x64(True), use_backend("numpy"):
        for primitive, samples in find_samples().items():
            for sample in [one for one in samples if one.raises is None]:
                results = sample.apply(*sample.args)
                assert all([as_array(result) is not None for result in results]), primitive
