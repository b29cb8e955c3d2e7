"""Every function of the tables of expressions with symbolic dimensions: a program for any sizes, or a reason."""

import numpy
import pytest

import tangrad as api
import tangrad.numpy as np
from tangrad import export
from tests.symbolic.expressions_lax import LAX
from tests.symbolic.programs import (
    REASONS,
    SIZES,
    arrays_at,
    arrays_of,
    expressions_by_function,
    program,
    symbolic_types,
)


def exported(expression):
    names = arrays_of(expression)
    return export.export(api.jit(program(expression, names)))(*symbolic_types(names))


@pytest.fixture(scope="module")
def table():
    return expressions_by_function()


def test_every_function_is_exported_for_any_sizes_or_listed(table):
    assert len(table) > 280
    refused = {}
    for function, expressions in table.items():
        for expression in expressions:
            try:
                exported(expression)
            except Exception as error:
                refused.setdefault(function, (expression, error))
            else:
                refused.pop(function, None)
                break
    assert {function: found for function, found in refused.items() if function not in REASONS} == {}
    assert set(REASONS) <= set(refused)  # none is listed that works by now


def compare(expression, sizes):
    names = arrays_of(expression)
    arrays = arrays_at(names, sizes)
    expected = program(expression, names)(*map(np.asarray, arrays))
    found = exported(expression).call(*arrays)
    assert len(found) == len(expected)
    for one, other in zip(map(numpy.asarray, found), map(numpy.asarray, expected), strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype, expression
        if other.dtype.kind in "fc":
            tolerance = 2e-3 if other.dtype.itemsize == 2 else 3e-5
            numpy.testing.assert_allclose(
                one.astype("complex128"), other.astype("complex128"), rtol=tolerance, atol=1e-5, err_msg=expression
            )
        else:
            numpy.testing.assert_array_equal(one, other, err_msg=expression)


QUICK = ["lax.scan(lambda c, x: (c + x, c * x), g, f)", "np.reshape(t, (-1, t.shape[2]))", "lax.cummax(f, 0)"]


@pytest.mark.parametrize("expression", QUICK)
def test_expression_at_two_sizes(expression):
    for sizes in SIZES:
        compare(expression, sizes)


@pytest.mark.sweep
@pytest.mark.parametrize("expression", [expression for expression in LAX if expression not in (*QUICK, *REASONS)])
def test_every_lax_expression_at_two_sizes(expression):
    for sizes in SIZES:
        compare(expression, sizes)


def test_what_is_no_program_says_how_it_could_be_one():
    with pytest.raises(export.InconclusiveDimensionOperation, match="constraints="):
        exported("lax.associative_scan(lax.add, g)")
