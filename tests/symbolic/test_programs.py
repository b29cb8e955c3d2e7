"""Programs of symbolic sizes: every function of the tables, ranges, and what NumPy is given."""

import numpy
import pytest

import tangrad
import tangrad as api
import tangrad.numpy as np
from tangrad import export, lax, use_backend
from tangrad.core import ShapedArray, get_backend
from tangrad.core.programs import compile_program
from tangrad.export import symbolic_shape
from tests.symbolic.programs import (
    LAX,
    REASONS,
    SIZES,
    arrays_at,
    arrays_of,
    expressions_by_function,
    program,
    symbolic_types,
)

# --- Every function of the tables of expressions with symbolic dimensions ---


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


# --- Ranges whose number of elements is a symbolic dimension: for each size what NumPy has ---


RANGES = [
    ("arange({n})", int),
    ("arange(1, {n} + 1)", int),
    ("arange({n}, 0, -1)", int),
    ("arange(0, 2 * {n}, 2)", int),
    ("arange(0, {n}, 2)", int),
    ("arange(-{n}, {n})", int),
    ("arange({n}, 0, -2)", int),
    ("arange(3, {n})", int),
    ("arange(0, 10, {n})", int),
    ("linspace(0, 1, {n})", float),
    ("linspace(0, 1, {n} + 1)", float),
    ("linspace(0, 1, 2 * {n}, endpoint=False)", float),
    ("linspace(3, {n}, 5)", float),
    ("linspace(np.zeros(2), 1, {n}, axis=-1)", float),
    ("linspace(0, 10, {n}, dtype=int)", int),
    ("logspace(0, 1, {n})", float),
]


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize(("call", "kind"), RANGES)
def test_ranges_of_symbolic_sizes(backend, call, kind):
    pytest.importorskip("jaxlib")  # exported programs are StableHLO
    (n,) = export.symbolic_shape("n")
    text = "np." + call
    with use_backend(backend):
        traced = tangrad.jit(lambda x: eval(text.format(n="n"), {"np": np, "n": x.shape[0]}))
        program = export.export(traced)(tangrad.ShapeDtypeStruct((n,), "float32"))
        for size in (1, 2, 3, 7):
            found = program.call(np.zeros(size))
            expected = eval(text.format(n=size), {"np": numpy})
            assert numpy.dtype(found.dtype).kind == numpy.dtype(kind).kind
            numpy.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=str(size))


def test_what_has_no_known_number_is_refused():
    (n,) = export.symbolic_shape("n")
    with pytest.raises(ValueError, match="takes integers, got start=0, stop=n"):
        np.arange(0, n, 0.5)
    with pytest.raises(ValueError, match="step must not be 0"):
        np.arange(0, n, 0)


# --- Programs of symbolic sizes on NumPy: one generated function, which finds the sizes when it is called ---


# Of each sort of lowering some: elementwise, views, chosen by size, loops, several results, keys.
NUMPY_QUICK = [
    "np.reshape(t, (-1, t.shape[2]))",
    "np.sin(f) + h[0]",
    "np.where(f > 0, f, 0)",
    "np.sum(f, 1)",
    "np.max(f)",
    "np.concatenate([f, f * 2])",
    "f[::-1, 1:]",
    "np.sort(f, 0)",
    "np.linalg.norm(f)",
    "lax.scan(lambda c, x: (c + x, c * x), g, f)",
    "lax.while_loop(lambda c: c.sum() < 9, lambda c: c + 1, abs(f))",
    "lax.cummax(f, 0)",
    "np.arange(f.shape[0]) * 2",
    "api.random.normal(api.random.key(0), f.shape)",
    "api.random.bits(api.random.key(1), (4, f.shape[0]))",
]


@pytest.fixture
def on_numpy():
    with use_backend("numpy"):
        yield


def compiled(function, *types):
    closed = tangrad.make_jaxpr(function)(*types)
    return compile_program(closed, get_backend("numpy"), "sized", keep_unused=True)


def data(array):
    return numpy.asarray(tangrad.random.key_data(array) if "key" in str(array.dtype) else array)


def check(expression):
    names = arrays_of(expression)
    function = program(expression, names)
    made = compiled(function, *symbolic_types(names))
    for sizes in (*SIZES, SIZES[0]):
        arrays = list(map(np.asarray, arrays_at(names, sizes)))
        for one, other in zip(made.execute(arrays), function(*arrays), strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype), expression
            one, other = data(one), data(other)
            if other.dtype.kind in "fcV":
                tolerance = 1e-5 if other.dtype.itemsize > 2 else 2e-2
                numpy.testing.assert_allclose(
                    one.astype("complex128"), other.astype("complex128"), rtol=tolerance, atol=1e-6, err_msg=expression
                )
            else:
                numpy.testing.assert_array_equal(one, other, err_msg=expression)


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("expression", NUMPY_QUICK)
def test_numpy_expression_at_two_sizes(expression):
    check(expression)


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.sweep
def test_every_expression_at_two_sizes():
    count = 0
    for expressions in expressions_by_function().values():
        for expression in expressions:
            try:
                tangrad.make_jaxpr(program(expression, arrays_of(expression)))(*symbolic_types(arrays_of(expression)))
            except Exception:  # no program of symbolic sizes: `tests/symbolic` has the reasons
                continue
            check(expression)
            count += 1
    assert count > 1500


def typed(*specs):
    shapes = [symbolic_shape("n"), symbolic_shape("2*m + 1, n")]
    scope = shapes[0][0].scope
    return [ShapedArray(symbolic_shape(spec, scope=scope), "float32") for spec in specs]


@pytest.mark.usefixtures("on_numpy")
def test_the_text_computes_sizes():
    made = compiled(lambda x, y: np.tanh(x * 2) + y.sum(0) + np.zeros(x.shape[0] + 1)[1:], *typed("n", "2*m + 1, n"))
    text = made.executable.as_text()
    assert "size_n = a0.shape[0]" in text and "size_m = ((a1.shape[0] + -1) // (2))" in text
    assert "reduce_sum(size_m, size_n, a1)" in text
    for n, m in ((3, 1), (5, 2)):
        x, y = np.ones(n), np.ones((2 * m + 1, n))
        numpy.testing.assert_allclose(made.execute([x, y])[0], numpy.tanh(2) + 2 * m + 1, rtol=1e-6)


@pytest.mark.usefixtures("on_numpy")
def test_elementwise_steps_are_written_out_and_memory_is_used_again():
    made = compiled(lambda x: np.exp(-(x * 2 + 1)) / 3, *typed("n"))
    text = made.executable.as_text()
    assert all(line in text for line in ("negative(v1, v1)", "exp(v1, v1)", "divide(v1, k_float32__2, v1)"))
    assert made.executable.cost_analysis() == {} and made.executable.memory_analysis() is None


@pytest.mark.usefixtures("on_numpy")
def test_arguments_that_do_not_fit_are_named():
    made = compiled(lambda x, y: y + x, *typed("n", "2*m + 1, n"))
    with pytest.raises(ValueError, match=r"argument 1 is of shape \(2\*m \+ 1, n\); its dimension 0 has size 4"):
        made.execute([np.ones(3), np.ones((4, 3))])
    with pytest.raises(ValueError, match=r"argument 1 .* dimension 1 has size 2, where n is 3"):
        made.execute([np.ones(3), np.ones((3, 2))])
    with pytest.raises(TypeError, match=r"takes f32\[n\] as argument 0, got i32\[3\]"):
        made.execute([np.ones(3, int), np.ones((3, 3))])


@pytest.mark.usefixtures("on_numpy")
def test_variables_of_any_name():
    scope = symbolic_shape("max_")[0].scope
    names = "a1, len, size_n, n"
    sizes = symbolic_shape(names, scope=scope)
    made = compiled(lambda x: np.zeros(x.shape) + x.shape[1], ShapedArray(sizes, "float32"))
    assert made.execute([np.ones((2, 3, 4, 5))])[0].sum() == 2 * 3 * 4 * 5 * 3


@pytest.mark.usefixtures("on_numpy")
def test_effects_stay():
    seen = []
    made = compiled(lambda x: (tangrad.debug.callback(lambda y: seen.append(y.shape), x * 2), x + 1)[1], *typed("n"))
    for size in (2, 3, 2):
        made.execute([np.ones(size)])
    tangrad.effects_barrier()
    assert seen == [(2,), (3,), (2,)]


@pytest.mark.usefixtures("on_numpy")
def test_functions_are_kept_for_a_bounded_number_of_sizes():
    made = compiled(lambda x: lax.cumsum(x) + np.sum(x), *typed("n"))
    for size in range(1, 700):
        assert made.execute([np.ones(size)])[0].shape == (size,)
