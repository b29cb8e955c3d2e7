"""Random programs on N eagerly, N jitted and X, against JAX; a difference is reported with its seed, shrunk.

The sweep is 20,000 of them; one seed is looked at again by `make(seed)` and `lines`.
"""

import importlib
from collections import Counter

import pytest

from tests.differential.generated.blocks import FIXED, SHAPED, SIMPLE
from tests.differential.generated.running import AGREE, Comparison, report, sweep

from .generated.blocks import lines, without_dead_steps
from .generated.making import DEPTH, STRUCTURED, make

SWEEP = range(0, 20_000, 500)


@pytest.fixture(scope="module")
def comparison():
    return Comparison(_api("jax"), _api("tangrad"))


def _api(name):
    api = pytest.importorskip(name)
    for part in ("numpy", "lax"):
        importlib.import_module(f"{name}.{part}")
    return api


def test_a_sample_agrees(comparison):
    tally = sweep(comparison, range(100_000, 100_025), every=5)
    assert not tally.reports, "\n\n".join(tally.reports)
    assert tally.counts[AGREE] > 40


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("start", SWEEP)
def test_the_sweep_agrees(comparison, start):
    tally = sweep(comparison, range(start, start + SWEEP.step), every=40)
    assert not tally.reports, "\n\n".join(tally.reports)


class Planted(Comparison):
    """As if Tangrad's `erf` were wrong."""

    def found(self, sample, *options):
        results = super().found(sample, *options)
        return [result + 1 for result in results] if sample.block.has("erf") else results


def test_a_difference_is_reported_with_a_smallest_program(comparison):
    planted = Planted(comparison.jax, comparison.tangrad)
    live = lambda seed: without_dead_steps(make(seed).block)
    seed = next(s for s in range(1000) if live(s).size() > 5 and any(step.name == "erf" for step in live(s).steps))
    (_, _, verdict), *_ = planted.verdicts(make(seed), [("numpy", False)])
    text = report(planted, make(seed), "numpy", False, verdict)
    assert f"seed {seed}, numpy, eager" in text and "erf(" in text
    assert "smallest (1 steps)" in text or "smallest (2 steps)" in text, text


def test_programs_are_reproducible_and_varied():
    assert make(5) == make(5) and make(5) != make(6)
    names, depths = Counter(), Counter()

    def look(block, depth):
        for step in block.steps:
            names[step.name] += 1
            depths[depth] += 1
            for inner in step.blocks:
                look(inner, depth + 1)

    for seed in range(1500):
        look(make(seed).block, 0)
    assert {*SIMPLE, *SHAPED, *FIXED, *STRUCTURED} <= names.keys()
    assert depths.keys() == set(range(DEPTH + 1))


def test_programs_read_like_python():
    text = "\n".join(lines(make(7).block))
    assert text.startswith("def program(x0: float") and "    return " in text
