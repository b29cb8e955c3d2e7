"""The conformance kit itself: strategies as samples, checks of one's own, primitives that are a decomposition alone."""

import subprocess
import sys
from fnmatch import fnmatchcase

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis.extra.numpy import arrays

from tangrad import enable_x64, lax, nn, use_backend
from tangrad._conformance.checks.edges import MOST, grid, pointwise
from tangrad._conformance.comparison import TABLE, Mismatch
from tangrad.conformance import Sample, check, draw, find_samples, over, sweep
from tangrad.conformance.__main__ import Progress
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, as_array, find_primitive, register, rule_table
from tangrad.core.tools import families, primitive_set

# --- The conformance kit itself: strategies as samples, checks of one's own, primitives that are a decomposition
# alone.


sin_p, rev_p = find_primitive("elementwise.sin"), find_primitive("structure.rev")
SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 3))
NUMBERS = st.floats(-3, 3, width=32)


def of(primitive, shapes=SHAPES, **params):
    """A strategy for samples of a primitive of one argument."""
    return arrays(np.float32, shapes, elements=NUMBERS).map(lambda x: Sample(primitive, (x,), params))


# --- strategies -----------------------------------------------------------------------------------------------------


@pytest.fixture
def flawed():
    """A primitive whose derivative is wrong: that of the square, without the factor 2."""
    family = PrimitiveSet("kit_flawed", api=1)
    square_p = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="square", decompose=lambda x: x * x)
    jvp = RuleSet("jvp", api=1)
    jvp.add(square_p, lambda primals, tangents: (square_p.bind(*primals), primals[0] * tangents[0]))
    with register(family), register(jvp):
        yield square_p


def test_a_strategy_gives_samples():
    report = check(sin_p, of(sin_p), ["jvp", "transpose", "batch"], examples=4)
    assert not report.failures, report.text()
    assert {cell.check for cell in report.cells} == {"jvp", "transpose", "batch"}
    assert len([cell for cell in report.cells if (cell.check, cell.subject) == ("jvp", "forward")]) == 4


def test_parameters_may_be_drawn_too():
    params = st.lists(st.integers(0, 1), unique=True).map(lambda axes: {"dimensions": tuple(axes)})
    strategy = st.builds(lambda x, p: Sample(rev_p, (x,), p), arrays(np.float32, SHAPES, elements=NUMBERS), params)
    report = check(rev_p, strategy, examples=3, everywhere=0)
    assert not report.failures, report.text()
    assert len(report.cells) > 30


def test_of_a_strategy_the_simplest_failing_sample_is_shown(flawed):
    report = check(flawed, of(flawed), ["jvp", "abstract"], everywhere=0)
    assert {cell.check for cell in report.failures} == {"jvp"}
    (smallest,) = report.smallest()
    assert smallest.size == 1 and "square(float32[1,1]) of array([[1.]], dtype=float32)" in smallest.sample
    assert "python -m tangrad.conformance kit_flawed.square --check jvp" in report.text()


def test_samples_and_strategies_together(flawed):
    mixed = [Sample(flawed, (draw(2),)), of(flawed), Sample(flawed, (draw(3),))]
    report = check(flawed, mixed, ["effects"], examples=2)
    assert [cell.sample for cell in report.cells][::6] == ["square(float32[2])", "square(float32[3])"]
    assert len(report.cells) == 8 and not report.failures


def test_a_strategy_for_something_else_is_an_error():
    with pytest.raises(TypeError, match="a strategy for samples gave 1 of type int"):
        check(sin_p, st.just(1))


def test_a_distribution_may_ship_strategies(flawed):
    with register(lambda: [of(flawed)], group="tangrad.samples", name="kit_flawed"):
        samples = find_samples(["kit_flawed"])[flawed]
        report = sweep([flawed], ["jvp"], everywhere=0)
    assert len(samples) == 5 and all(sample.primitive is flawed for sample in samples)
    assert "square(float32[1,1]) of array([[1.]], dtype=float32)" in report.text()


# --- nothing but a decomposition ------------------------------------------------------------------------------------


@pytest.fixture
def softsign():
    """What a third party needs to write at least: an abstract evaluation and a decomposition."""
    family = PrimitiveSet("kit_softsign", api=1)

    def decompose(x, y, *, sharpness):
        z = lax.mul(lax.sub(x, y), lax.full_like(x, sharpness))
        return lax.div(z, lax.add(lax.full_like(z, 1), lax.abs(z))), lax.reduce_sum(z, (0,))

    @family.primitive(name="softsign", multiple_results=True, decompose=decompose)
    def softsign_p(x, y, *, sharpness):
        """z / (1 + |z|) with z the sharpened difference; and the sum of z over the first axis."""
        if x.shape != y.shape or x.dtype != y.dtype or x.dtype.kind != "f":
            raise TypeError(f"softsign takes two arrays of one real type, got {x.str_short()} and {y.str_short()}")
        return ShapedArray(x.shape, x.dtype), ShapedArray(x.shape[1:], x.dtype)

    def samples():
        kinds = over(["float32", "float64"], lambda kind: sample(2, 3, dtype=kind))
        return [*kinds, sample(1), sample(2, 0), sample(3, seed=4, sharpness=0.5)]

    def sample(*shape, dtype="float32", seed=0, sharpness=2.0):
        args = (draw(*shape, dtype=dtype, seed=seed), draw(*shape, dtype=dtype, seed=seed + 9))
        return Sample(softsign_p, args, {"sharpness": sharpness})

    with register(family), register(samples, group="tangrad.samples", name="kit_softsign"):
        yield softsign_p


def test_an_abstract_evaluation_and_a_decomposition_pass_the_kit(softsign, capsys, record_property):
    report = sweep([softsign])
    assert not report.failures, report.text()
    assert {cell.check for cell in report.cells} >= {
        *("abstract", "jvp", "transpose", "second", "batch", "jit", "backends", "decomposition"),
        *("params", "effects", "pickle"),
    }
    record_property("tangrad_cells", len(report.cells))
    with capsys.disabled():
        print(f"\n{report.summary()}, by an abstract evaluation and a decomposition alone")
    assert len(report.cells) > 100


def test_a_wrong_abstract_evaluation_is_found(softsign):
    softsign.abstract_eval = lambda x, y, *, sharpness: (ShapedArray(x.shape, x.dtype), ShapedArray((), x.dtype))
    softsign.memo.clear()
    report = sweep([softsign], ["abstract"], everywhere=0)
    assert report.failures and "softsign" in report.text()


# --- checks of one's own, backends, progress, the page ----------------------------------------------------------------


def check_odd(sample):
    """f(-x) = -f(x)."""

    def compare():
        (there,), (back,) = sample.apply(*sample.args), sample.apply(*[-arg for arg in sample.args])
        if not np.allclose(there, -back):
            raise Mismatch("f(-x) is not -f(x)")

    yield "negated", compare


def test_a_check_of_ones_own():
    cos_p = find_primitive("elementwise.cos")
    assert not check(sin_p, [Sample(sin_p, (draw(3),))], {"odd": check_odd}).failures
    (cell,) = check(cos_p, [Sample(cos_p, (draw(3),))], {"odd": check_odd}).failures
    assert cell.check == "odd" and "f(-x) is not -f(x)" in cell.problem


def test_only_some_backends():
    samples = [Sample(sin_p, (draw(3),)), Sample(sin_p, (draw(2),), backends=("xla",))]
    report = check(sin_p, samples, ["jit"], backends=["numpy"])
    assert [(cell.number, cell.subject) for cell in report.cells] == [(0, "numpy")]


def test_progress(capsys):
    seen, progress = [], Progress(2)
    sweep([sin_p, rev_p], ["effects"], lambda *state: (seen.append(state[:2]), progress(*state)))
    progress.end()
    assert seen == [(0, sin_p), (1, rev_p)]
    assert "░ 2/2" in capsys.readouterr().err and not sys.stdout.isatty()


def test_the_page(flawed):
    failing = check(flawed, [Sample(flawed, (draw(2),), without={"batch": "for a <reason>"})], ["jvp", "batch", "jit"])
    page = failing.html()
    assert "for a &lt;reason&gt;" in page and "1 of 4 cells fail." in page and 'data-signs="✗"' in page
    assert "python -m tangrad.conformance kit_flawed.square --check jvp --sample 0" in page


# --- The pytest plugin of the conformance kit, and its command, in processes of their own ---------------------------


PASSING = "[pytest]\ntangrad_conformance = tangrad-batching\nfilterwarnings = error\n"


def run(folder, *arguments):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_one_line_of_configuration_checks_a_distribution(tmp_path):
    (tmp_path / "pytest.ini").write_text(PASSING)
    done = run(tmp_path, "pytest", "-q", "--tangrad-html", "page.html", "--tangrad-everywhere", "0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout and "cells checked" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert "move_axis" in page and "family batching" in page and "Everything passes." in page
    assert "http:" not in page and "https:" not in page and " src=" not in page


def test_a_backend_is_checked_with_all_primitives(tmp_path):
    lines = [
        "[pytest]",
        "tangrad_conformance = *",
        "tangrad_conformance_checks = effects",
        "tangrad_conformance_backends = numpy",
    ]
    (tmp_path / "pytest.ini").write_text("\n".join(lines))
    done = run(tmp_path, "pytest", "-q", "--collect-only")
    assert "elementwise.sin" in done.stdout and "batching.move_axis" in done.stdout, done.stderr
    (tmp_path / "pytest.ini").write_text("\n".join(lines).replace("*", "tangrad-batching"))
    done = run(tmp_path, "pytest", "-q", "-v")
    assert "3 passed" in done.stdout and "cells checked" in done.stdout, done.stderr
    (tmp_path / "pytest.ini").write_text("\n".join(lines).replace("effects", "nothing").replace("*", "tangrad-jit"))
    done = run(tmp_path, "pytest", "-q")
    assert done.returncode == 1 and "there is no check 'nothing'" in done.stdout


def test_a_distribution_that_is_not_there_is_named(tmp_path):
    (tmp_path / "pytest.ini").write_text(PASSING.replace("tangrad-batching", "nowhere"))
    done = run(tmp_path, "pytest", "-q")
    assert done.returncode != 0 and "nowhere" in done.stdout + done.stderr


def test_the_command_checks_one_primitive(tmp_path):
    done = run(tmp_path, "tangrad.conformance", "structure.rev", "--check", "batch", "--sample", "0")
    assert done.returncode == 0 and " 0 failed" in done.stdout, done.stderr
    done = run(tmp_path, "tangrad.conformance", "structure.nothing")
    assert done.returncode == 2 and "nothing" in done.stderr


# --- What the conformance kit finds at edges and in transpose rules ---


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
