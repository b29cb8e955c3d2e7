"""The conformance kit itself: strategies as samples, checks of one's own, primitives that are a decomposition alone."""

import subprocess
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis.extra.numpy import arrays

from tangrad import lax
from tangrad._conformance.comparison import Mismatch
from tangrad.conformance import Sample, check, draw, find_samples, over, sweep
from tangrad.conformance.__main__ import Progress
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, find_primitive, register

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
