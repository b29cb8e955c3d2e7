"""Values, dtypes and weak types of expressions, against the reference.

The reference compiles each expression, and so does XLA. By default NumPy runs half of each function's of those written
by hand and of a part of those that tables make, XLA a small part of all; `.ci/run` runs all of these on NumPy and half
of them on XLA, `make test-all` all that there are.
"""

import re
from collections import Counter

import pytest

from . import expressions_arrays, expressions_edges, expressions_numbers, expressions_ufuncs
from .support import assert_equal

WRITTEN = [*expressions_ufuncs.OTHERS, *expressions_arrays.EXPRESSIONS, *expressions_numbers.OTHERS]
WRITTEN += expressions_numbers.FOURIER
GENERATED = [*expressions_ufuncs.GENERATED, *expressions_numbers.GENERATED]


def spread(expressions: list[str], share: int) -> list[str]:
    """One in `share` of each function's expressions, at least one: those whose operands were taken least before."""
    groups: dict[str, dict[str, str]] = {}
    for text in expressions:
        name, operands = re.fullmatch(r"(\W*[\w.]+)(.*)", text, re.DOTALL).groups()
        groups.setdefault(name, {})[operands] = text
    taken: Counter[str] = Counter()
    chosen = []
    for group in groups.values():
        for _ in range(-(-len(group) // share)):
            operands = min(group, key=taken.__getitem__)
            taken[operands] += 1
            chosen.append(group.pop(operands))
    return chosen


USUAL = [*WRITTEN, *spread(GENERATED, 5)]
FURTHER = sorted({*GENERATED} - {*USUAL})
EVERY = 15
QUICK_ON_XLA = USUAL[::EVERY]
HALF = spread(USUAL, 2)
HALF_ON_XLA = sorted({*HALF} - {*QUICK_ON_XLA})
REST_ON_XLA = sorted({*USUAL} - {*QUICK_ON_XLA, *HALF_ON_XLA})


def test_the_usual_ones_have_every_function_and_all_operands():
    functions, operands = zip(*(re.fullmatch(r"([\w.]+)(.*)", text).groups() for text in GENERATED), strict=True)
    assert all(any(text.startswith(f"{name}(") for text in USUAL) for name in functions)
    assert all(any(text.endswith(arguments) for text in USUAL) for arguments in operands)


@pytest.mark.parametrize(
    "expression",
    [pytest.param(text, marks=() if text in HALF else pytest.mark.slow, id=text) for text in USUAL],
)
def test_expression_on_numpy(expression, numpy_side, reference):
    assert_equal(expression, numpy_side.evaluate(expression), reference.evaluate(expression))


@pytest.mark.parametrize("expression", QUICK_ON_XLA)
def test_expression_on_xla(expression, xla_side, reference):
    assert_equal(expression, xla_side.evaluate(expression), reference.evaluate(expression))


@pytest.mark.parametrize("expression", expressions_edges.EXPRESSIONS)
def test_edge(expression, subject, reference):
    assert_equal(expression, subject.evaluate(expression), reference.evaluate(expression))


@pytest.mark.slow
@pytest.mark.parametrize(
    "expression", [*HALF_ON_XLA, *[pytest.param(text, marks=pytest.mark.sweep, id=text) for text in REST_ON_XLA]]
)
def test_usual_expression_on_xla(expression, xla_side, reference):
    assert_equal(expression, xla_side.evaluate(expression), reference.evaluate(expression))


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("expression", FURTHER)
def test_further_expression(expression, subject, reference):
    assert_equal(expression, subject.evaluate(expression), reference.evaluate(expression))


IN_64_BITS = (
    *("np.nonzero(b)", "np.nonzero(i, size=8, fill_value=(7, 8))", "np.argwhere(i)", "np.argwhere(W)", "np.where(b)"),
    *("np.searchsorted(np.array([1, 2, 2, 3]), 2)", "np.digitize(v, g[::2])", "np.argpartition(v, 2)[2]"),
    *("np.unique(n, return_index=True, return_inverse=True, return_counts=True)", "np.tril_indices(3)"),
    *("np.intersect1d(n, k, return_indices=True)", "np.diag_indices(3)", "np.ravel_multi_index((k, k), (3, 3))"),
)


@pytest.mark.parametrize("expression", IN_64_BITS)
def test_positions_where_64_bits_are_enabled(expression, numpy_side, reference):
    with numpy_side.api.enable_x64(True), reference.api.enable_x64(True):
        assert_equal(expression, numpy_side.evaluate(expression), reference.evaluate(f"{expression} "))
