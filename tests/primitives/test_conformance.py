"""The conformance kit over every primitive that is registered: one without samples fails."""

from functools import cache

import pytest

from tangrad.conformance import CHECKS, check, find_samples, primitives_of
from tangrad.core.tools import families, primitive_set

PRIMITIVES = [primitive for family in families() for primitive in primitive_set(family).primitives.values()]
COMPILED = ["jit", "decomposition", "usage", "special", "layouts", "sizes", "dtypes"]
QUICK = [name for name in CHECKS if name not in COMPILED]


@cache
def samples_of(family):
    return find_samples([family])


def checked(primitive, checks, everywhere, record_property):
    samples = samples_of(primitive.family).get(primitive, ())
    report = check(primitive, samples, checks, everywhere=everywhere)
    record_property("tangrad_cells", len(report.cells))  # the kit's plugin adds them up and prints the sum
    assert not report.failures, report.text()


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=lambda primitive: primitive.identity)
def test_every_rule_is_right(primitive, record_property):
    """All samples on the NumPy backend, the first one of each primitive on all backends: compilers take time."""
    checked(primitive, QUICK, 1, record_property)
    checked(primitive, COMPILED, 0, record_property)


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("primitive", PRIMITIVES, ids=lambda primitive: primitive.identity)
def test_every_rule_is_right_on_every_backend(primitive, record_property):
    checked(primitive, None, None, record_property)


def test_the_registry_lists_the_primitives_of_all_distributions():
    assert {primitive.identity for primitive in PRIMITIVES} <= {primitive.identity for primitive in primitives_of()}


def test_a_primitive_without_samples_is_a_failure():
    report = check(PRIMITIVES[0], [])
    assert "no samples" in report.text() and len(report.failures) == 1
