"""Values, first and second derivatives of the table's functions, at all points, in four dtypes, on both backends."""

import inspect
import warnings

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend
from tests.extremes import reference
from tests.extremes.rows import MODULES, OUT_OF_REACH, REASONS, formula_names, rows

TABLE = {row.name: row for row in rows()}
# A few of each kind, in the ordinary suite.
SAMPLE = ("numpy.sinc", "numpy.arctan", "special.log_ndtr", "special.erf", "special.expit", "nn.softplus", "nn.silu")


def faults(row, dtype, backend):
    beyond = OUT_OF_REACH.get((row.name, dtype), ())
    kept = [x for x in reference.real_points(dtype) if not row.skipped(x) and abs(x) not in beyond]
    expected = reference.table(row.reference, tuple(kept))
    with enable_x64(True), use_backend(backend), warnings.catch_warnings():
        found = tangrad.jit(reference.all_orders(row.function))(tnp.asarray(np.array(kept), dtype))
        found = {order: np.asarray(values.astype("float64")) for order, values in found.items()}
    return list(reference.faults(kept, found, expected, kept, dtype, row.ulps, row.floor))


def report(wrong):
    return "\n".join([str(fault) for fault in wrong[:8]])


def first_of_each_formula():
    """The rows but for those that are another name of one before them."""
    return list({row.reference: name for name, row in reversed(TABLE.items())}.values())[::-1]


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(set(TABLE) - set(first_of_each_formula())))
def test_other_names(name):
    wrong = faults(TABLE[name], "float32", "numpy")
    assert not wrong, report(wrong)


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", reference.DTYPES)
@pytest.mark.parametrize("name", first_of_each_formula())
def test_all_points(name, dtype):
    for backend in ("numpy", "xla"):
        wrong = faults(TABLE[name], dtype, backend)
        assert not wrong, f"{name} on {backend}: {len(wrong)} values are wrong\n{report(wrong)}"


@pytest.mark.parametrize("name", SAMPLE)
def test_sample(name):
    wrong = faults(TABLE[name], "float32", "numpy")
    assert not wrong, report(wrong)


def test_a_wrong_derivative_is_seen():
    """The square root of a square, which overflows, in place of the absolute value."""
    row = TABLE["numpy.abs"]._replace(function=lambda x: tnp.sqrt(x * x))
    wrong = faults(row, "float32", "numpy")
    assert {fault.order[0] for fault in wrong} == {"0", "1", "2"}


# --- no function without a row -------------------------------------------------------------------------------------

X, ORDER = np.float32([0.2, 0.7, 0.45, 0.31, 0.62]), [3, 0, 4, 1, 2]
ON_FILES_AND_SETTINGS = ("set", "from", "save", "load", "print", "get")


def is_elementwise(function):
    """Whether a function of an array gives floats of its shape, each of them from its own element."""
    try:
        inspect.signature(function).bind(X)
        whole, moved, alone = [function(tnp.asarray(x)) for x in (X, X[ORDER], X[:1])]
    except Exception:  # for other arguments, whatever they are
        return False
    results = (whole, moved, alone)
    if not all(isinstance(result, tangrad.Array) and result.dtype.kind == "f" for result in results):
        return False
    if whole.shape != X.shape or alone.shape != (1,):
        return False
    return bool(
        np.array_equal(np.asarray(whole)[ORDER], moved, equal_nan=True)
        and np.array_equal(whole[:1], alone, equal_nan=True)
    )


@pytest.mark.parametrize("module", MODULES)
def test_each_elementwise_function_has_a_row_or_a_reason(module):
    names = [name for name in dir(MODULES[module]) if not name.startswith(("_", *ON_FILES_AND_SETTINGS))]
    public = {name: getattr(MODULES[module], name) for name in names}
    functions = {name for name, value in public.items() if callable(value) and not inspect.isclass(value)}
    found = {name for name in functions if is_elementwise(public[name])}
    assert len(found) > 15
    missing = sorted(found - set(formula_names(module)) - set(REASONS))
    assert not missing, f"elementwise functions without a row or a reason: {missing}"
