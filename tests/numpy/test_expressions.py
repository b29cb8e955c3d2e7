"""Values, dtypes and weak types of expressions, against the reference.

The reference compiles each expression, and so does XLA. By default NumPy runs those written by hand and a part of those
that tables make, XLA a small part of all; the rest is for `make test-all`.
"""

import pytest

from . import expressions_arrays, expressions_edges, expressions_numbers, expressions_ufuncs
from .support import assert_equal

WRITTEN = [*expressions_ufuncs.OTHERS, *expressions_arrays.EXPRESSIONS, *expressions_numbers.OTHERS]
GENERATED = [*expressions_ufuncs.GENERATED, *expressions_numbers.GENERATED]
USUAL = [*WRITTEN, *GENERATED[::5]]
FURTHER = [text for place, text in enumerate(GENERATED) if place % 5]
EVERY = 15


@pytest.mark.parametrize("expression", USUAL)
def test_expression_on_numpy(expression, numpy_side, reference):
    assert_equal(expression, numpy_side.evaluate(expression), reference.evaluate(expression))


@pytest.mark.parametrize("expression", USUAL[::EVERY])
def test_expression_on_xla(expression, xla_side, reference):
    assert_equal(expression, xla_side.evaluate(expression), reference.evaluate(expression))


@pytest.mark.parametrize("expression", expressions_edges.EXPRESSIONS)
def test_edge(expression, subject, reference):
    assert_equal(expression, subject.evaluate(expression), reference.evaluate(expression))


@pytest.mark.slow
@pytest.mark.parametrize("expression", FURTHER)
def test_further_expression_on_numpy(expression, numpy_side, reference):
    assert_equal(expression, numpy_side.evaluate(expression), reference.evaluate(expression))


@pytest.mark.slow
@pytest.mark.parametrize("expression", [text for place, text in enumerate(USUAL) if place % EVERY] + FURTHER)
def test_further_expression_on_xla(expression, xla_side, reference):
    assert_equal(expression, xla_side.evaluate(expression), reference.evaluate(expression))


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
