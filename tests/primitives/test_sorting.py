"""Sorting and selection: values, derivatives, mapping on both backends; and the messages for bad input."""

import importlib.util
import re

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad import use_backend as backend_setting
from tangrad._lax.sorting.primitives import bisect, search_sorted_p
from tests.primitives.support import (
    BACKENDS,
    agree_everywhere,
    assert_same,
    check_batching,
    check_derivative,
    draw,
    narrow,
)

# --- Sorting: values, derivatives, mapping on both backends; and the messages for bad input -------------------------


jax = pytest.importorskip("jax")

ORDERED = ("bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32")
X = np.ones((3, 4), np.float32)
ODD = np.float32([np.nan, 0.0, -0.0, np.copysign(np.nan, -1), 1, -np.inf, np.inf, -0.0, 0.0, -1])


@pytest.mark.parametrize("dtype", [*ORDERED, "complex64"])
def test_sort_agrees_with_jax(dtype):
    x, k, v = draw(dtype, 4, 9), draw("int8", 4, 9, seed=1), draw("float32", 4, 9, seed=2)

    def function(api):
        def sort_in_many_ways(x, k, v):
            one = api.sort(x), api.sort(x, dimension=0), api.sort(x, is_stable=False)
            return *one, *api.sort((x, v), dimension=0), *api.sort((k, x, v), num_keys=2), *api.sort_key_val(k, v)

        return sort_in_many_ways

    agree_everywhere(function(lax), jax.jit(function(jax.lax))(x, k, v), x, k, v)


def test_order_of_odd_floats():
    """NaN last, whatever its sign; zeros are equal and keep their order, in arrays of any size."""
    many = np.tile(ODD, 5)
    where = np.arange(ODD.size, dtype=np.int32)
    for backend in BACKENDS:
        with backend_setting(backend):
            values, order = lax.sort((ODD, where))
            assert_same(order, np.int32([5, 9, 1, 2, 7, 8, 4, 6, 0, 3]), what=backend)
            assert list(np.signbit(values)[2:6]) == [False, True, True, False]
            found = lax.sort(many).to_numpy()
            zeros = many[many == 0]
            assert list(np.signbit(found[found == 0])) == list(np.signbit(zeros)), backend
            assert np.isnan(found[-10:]).all() and not np.isnan(found[:-10]).any()


@pytest.mark.parametrize("dtype", ORDERED)
def test_long_arrays_are_sorted_as_in_jax(dtype):
    """To the bit, but for what NaN carry: they go another way than short ones on XLA."""
    x = np.tile(draw(dtype, 3, 700), (1, 2))
    if not np.issubdtype(x.dtype, np.integer) and dtype != "bool":
        x[:, 100 : 100 + ODD.size] = ODD.astype(x.dtype)
    values = np.arange(x.size, dtype=np.float32).reshape(x.shape)

    def sort_in_many_ways(api):
        return lambda x, v: (api.sort(x), api.sort(x.T, dimension=0), *api.sort((x, v)), *api.sort((v, x)))

    expected = jax.jit(sort_in_many_ways(jax.lax))(x, values)
    with backend_setting("xla"):
        found = tangrad.jit(sort_in_many_ways(lax))(x, values)
        text = tangrad.jit(lax.sort).lower(x).as_text()
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.to_numpy().tobytes() == np.asarray(theirs).tobytes()
    alone = dtype in ("float16", "bfloat16", "float32")
    assert (re.search(r"stablehlo\.(shift_left|bitcast_convert)", text) is not None) is alone


def test_long_arrays_of_several_dimensions_and_gradients():
    x = draw("float32", 4, 40, 70)
    with backend_setting("xla"):
        for axis in range(1, 3):
            assert_same(lax.sort(x, axis), np.sort(x, axis))
        weights = np.arange(x.size, dtype=np.float32).reshape(x.shape)
        slope = tangrad.jit(tangrad.grad(lambda x: (lax.sort(x) * weights).sum()))(x)
    expected = np.empty_like(weights)
    np.put_along_axis(expected, np.argsort(x, -1), weights, -1)
    assert_same(slope, expected)


def test_subnormal_numbers_differ_from_zero_in_long_arrays():
    tiny = np.tile(np.float32([1e-40, 0, -1e-40, 3]), 2000)
    with backend_setting("xla"):
        assert_same(lax.sort(tiny), np.sort(tiny))


def test_order_of_complex_numbers():
    x = np.complex64([complex(np.nan, 1), 3 + 1j, 1 - 1j, complex(1, np.nan), 1 - 2j, -np.inf])
    agree_everywhere(lax.sort, jax.lax.sort(x), x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_stability(backend):
    keys = np.random.default_rng(0).integers(0, 3, 200).astype(np.int32)
    with backend_setting(backend):
        _, order = lax.sort((keys, np.arange(200, dtype=np.int32)))
    assert_same(order, np.argsort(keys, kind="stable").astype(np.int32))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "uint32", "bfloat16", "float32"])
def test_top_k_agrees_with_jax(dtype):
    x = draw(dtype, 3, 8)

    def function(api):
        return lambda x: (*api.top_k(x, 3), *api.top_k(x, 2, axis=0), *api.top_k(x, 0))

    agree_everywhere(function(lax), jax.jit(function(jax.lax))(x), x)


def test_top_k_goes_by_bits():
    expected = jax.lax.top_k(ODD, ODD.size)
    agree_everywhere(lambda x: lax.top_k(x, ODD.size), expected, ODD)
    agree_everywhere(lambda x: lax.top_k(x, 4), jax.lax.top_k(ODD, 4), ODD)


def test_top_k_of_wide_integers():
    x = np.array([3, -(1 << 62), (1 << 62) + 1, 1 << 62, 3], np.int64)
    u = np.array([3, (1 << 64) - 1, 1 << 63, 0, 3], np.uint64)
    with tangrad.enable_x64(True), backend_setting("numpy"):
        assert_same(lax.top_k(x, 4), (x[[2, 3, 0, 4]], np.int32([2, 3, 0, 4])))
        assert_same(lax.top_k(u, 4), (u[[1, 2, 0, 4]], np.int32([1, 2, 0, 4])))


# --- transformations --------------------------------------------------------------------------------------------------


def three(k, x, y):
    return lax.sort((k, lax.mul(x, x), lax.sin(y)), dimension=0)[1:]


def test_derivatives():
    check_derivative(lambda x: lax.mul(x, lax.sort(x, dimension=0)), draw("float64", 4, 3))
    x = draw("float64", 2, 5)
    check_derivative(lambda x, y: lax.sort((x, lax.mul(y, y)), dimension=1), x, x + 1)
    check_derivative(lambda x, y: lax.sort_key_val(lax.sin(x), y), draw("float64", 5), draw("float64", 5, seed=1))
    check_derivative(lambda x: lax.top_k(lax.mul(x, x), 2)[0], draw("float64", 3, 5))
    check_derivative(lambda x: lax.top_k(x, 2, axis=0)[0], draw("float64", 3, 5))


def test_gradients_agree_with_jax():
    k, x, w = draw("int32", 7, 2), draw("float32", 7, 2), draw("float32", 7, 2, seed=1)

    def gradient(api, ops, total):
        def loss(x):
            _, moved = ops.sort((k, x), dimension=0)
            largest, _ = ops.top_k(x, 2)
            return total(ops.mul(moved, w)) + total(ops.sin(largest)) + total(ops.mul(ops.sort(x), w))

        return api.grad(loss)(x)

    expected = gradient(jax, jax.lax, jax.numpy.sum)
    agree_everywhere(lambda: gradient(tangrad, lax, lambda y: lax.reduce_sum(y, tuple(range(y.ndim)))), expected)


def test_batching():
    check_batching(lambda x: lax.sort(x, dimension=0), draw("float32", 4, 3))
    check_batching(lambda k, x: lax.sort((k, x), dimension=1, num_keys=2), draw("int32", 2, 4), draw("float32", 2, 4))
    check_batching(lambda x: lax.top_k(x, 2, axis=0), draw("float32", 4, 3))


def test_nothing_is_sorted():
    empty = np.zeros((0, 3), np.float32)
    agree_everywhere(lambda x: (lax.sort(x, dimension=0), lax.sort(x)), (empty, empty), empty)
    agree_everywhere(lambda x: lax.sort((x, x), dimension=0), (empty, empty), empty)


# --- by digits: large arrays on CPUs, through XLA without compiled kernels --------------------------------------------


@pytest.fixture
def by_digits(monkeypatch):
    """Arrays of any size are sorted so; how long rows and arrays are that are else."""
    if importlib.util.find_spec("tangrad._kernels") is not None:
        monkeypatch.setattr(importlib.import_module("tangrad._kernels.on_xla_cpu"), "is_here", lambda ctx: False)
    loops = importlib.import_module("tangrad._backend_xla.lower.sorting_cpu")
    sizes = loops.LONG, loops.MANY
    monkeypatch.setattr(loops, "LONG", 1)
    monkeypatch.setattr(loops, "MANY", 1)
    return sizes


def many_values(dtype, shape):
    """Arrays of all bit patterns, special values among them; of few values, of one, in order, and in the reverse."""
    rng, kind = np.random.default_rng(0), np.dtype(narrow(dtype))
    x = rng.integers(0, 256, (*shape, kind.itemsize), np.uint8).view(np.uint8 if dtype == "bool" else kind)[..., 0]
    if dtype == "bool":
        return [x > 127, x > 300]
    if kind.kind in "iu":
        ends = np.array([np.iinfo(kind).min, np.iinfo(kind).max], kind)
        x = np.where(rng.random(shape) < 0.1, rng.choice(ends, shape), x)
    else:
        special = np.array([*ODD, 1e-40, -1e-40]).astype(kind)
        x = np.where(rng.random(shape) < 0.7, rng.choice(special, shape), x)
    in_order = np.take_along_axis(x, stable_order(x, -1), -1)
    few = (np.arange(x.size) % 3).reshape(shape).astype(kind)
    return [x, few, np.full(shape, x.flat[0]), in_order, in_order[..., ::-1].copy()]


def stable_order(x, axis):
    with np.errstate(invalid="ignore"):
        return np.argsort(x if x.dtype.kind in "biu" else x.astype(np.float64), axis, kind="stable")


SHAPES = (((1003,), 0), ((2, 30, 3), 1), ((3, 257), 1), ((1,), 0), ((40, 6), 0))
NUMBERS = ("float32", *[name for name in ORDERED if name != "float32"], "int16", "uint16", "int64", "uint64", "float64")


@pytest.mark.parametrize("dtype", NUMBERS)
def test_all_values_of_all_types_are_sorted_by_digits(dtype, by_digits):
    """To the bit as NumPy's stable order has them, but for what NaN carry beside their sign."""
    first = NUMBERS.index(dtype)
    for shape, axis in SHAPES[first % 2 :: 3] if first else SHAPES:
        sizes = [-1 if i == axis else 1 for i in range(len(shape))]
        places = np.broadcast_to(np.arange(shape[axis], dtype=np.int32).reshape(sizes), shape).copy()
        with tangrad.enable_x64(True), backend_setting("xla"):
            program = tangrad.jit(lambda x, i, axis=axis: (lax.sort(x, axis), *lax.sort((x, i), dimension=axis)))
            for x in many_values(dtype, shape):
                order = stable_order(x, axis)
                expected = np.take_along_axis(x, order, axis)
                alone, keys, found = program(x, places)
                assert_same(found, order.astype(np.int32))
                assert keys.to_numpy().tobytes() == expected.tobytes()  # they are moved
                numbers = alone.to_numpy()
                if x.dtype.kind not in "biu":
                    assert list(np.signbit(numbers).flat) == list(np.signbit(expected).flat)
                    numbers = np.where(np.isnan(numbers), expected, numbers)
                assert numbers.dtype == x.dtype and numbers.tobytes() == expected.tobytes()


def test_several_keys_and_what_goes_along_are_sorted_by_digits(by_digits):
    k, x, v = draw("int32", 500) % 3, np.round(draw("float32", 500, seed=1)), draw("int16", 500, seed=2)
    where = np.arange(500, dtype=np.int32)
    with backend_setting("xla"):
        found = tangrad.jit(lambda *xs: lax.sort(xs, num_keys=3))(k, x, v, where)
    order = np.lexsort((v, x, k))
    assert_same(found, (k[order], x[order], v[order], where[order]))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_sorting_by_digits_leaves_its_operands_alone(dtype, by_digits):
    """Its loops write to the array of the numbers, which is here the operand itself."""
    x = (np.arange(1024, dtype=dtype) * 5) ** 2

    def uses(x):
        y = x + x
        z = y[::-1]
        return lax.sort(x), x, lax.sort(y), lax.sort((y, z)), y + 1, z, lax.sort(lax.sort(z) - y)

    with tangrad.enable_x64(True), backend_setting("xla"):
        found = tangrad.jit(uses)(x)
    y = x + x
    z, order = y[::-1], np.argsort(y, kind="stable")
    expected = np.sort(x), x, np.sort(y), (y[order], z[order]), y + np.ones_like(y), z, np.sort(np.sort(z) - y)
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs)


def test_what_is_made_of_sorting_goes_by_digits(by_digits):
    x = np.round(draw("float32", 6, 300) * 20)

    def made(api):
        def function(x):
            flat = api.numpy.ravel(x)
            many = api.numpy.argsort(x, descending=True), api.numpy.median(x, 1), api.numpy.percentile(x, 30.0, 0)
            more = api.numpy.unique(flat, size=50), api.numpy.lexsort((flat, flat % 3)), api.lax.top_k(x, 200)[0]
            mapped = api.vmap(api.numpy.argsort, 1, 1)(x), api.lax.fori_loop(0, 2, lambda i, x: api.lax.sort(x) + i, x)
            slope = api.grad(lambda x: (api.lax.sort(x) * api.numpy.arange(300.0)).sum())(x)
            return *many, *more, *mapped, slope

        return function

    expected = jax.jit(made(jax))(x)
    with backend_setting("xla"):
        program = tangrad.jit(made(tangrad))
        assert "small_call" in program.lower(x).as_text()
        for ours, theirs in zip(program(x), expected, strict=True):
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-6)


def test_programs_that_go_elsewhere_and_small_arrays_are_sorted_by_xla(by_digits, monkeypatch):
    with backend_setting("xla"):
        function = tangrad.jit(lax.sort)
        assert "small_call" in function.lower(X[0]).as_text()
        exported = tangrad.export.export(function)(X[0]).mlir_module()
        assert "stablehlo.sort" in exported and "small_call" not in exported
        loops, (long, many) = importlib.import_module("tangrad._backend_xla.lower.sorting_cpu"), by_digits
        monkeypatch.setattr(loops, "LONG", long)
        monkeypatch.setattr(loops, "MANY", many)
        for shape, is_large in (
            ((many,), True),
            ((many - 1,), False),
            ((many // long, long), True),
            ((many // long + 1, long - 1), False),
        ):
            text = tangrad.jit(lambda x: lax.sort(x, 0 if x.ndim == 1 else 1)).lower(np.ones(shape, np.int32)).as_text()
            assert ("small_call" in text) is is_large
        sizes = tangrad.export.symbolic_shape("n")
        text = tangrad.export.export(function)(tangrad.ShapeDtypeStruct(sizes, np.int32)).mlir_module()
        assert "small_call" not in text


def test_sorting_by_digits_takes_the_memory_of_words_in_two_places(by_digits):
    x, size = np.ones(200_000, np.float32), 200_000 * 4
    with backend_setting("xla"):
        for function, most in ((lax.sort, 1.1), (lambda x: tangrad.numpy.argsort(x), 4.1)):
            analysis = tangrad.jit(function).lower(x).compile().memory_analysis()
            assert analysis.temp_size_in_bytes < most * size + 100_000


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.sort(X, dimension=2), ValueError, "sort: dimension 2 is out of bounds for an array of 2"),
        (lambda: lax.sort(2.0), ValueError, "out of bounds for an array of 0 dimensions"),
        (lambda: lax.sort((X, X[0])), ValueError, r"operands must have one shape, got \(3, 4\), \(4,\)"),
        (lambda: lax.sort((X,), num_keys=2), ValueError, "num_keys must be from 1 to the number of operands"),
        (lambda: lax.sort((X, X), num_keys=0), ValueError, "num_keys must be from 1"),
        (lambda: lax.sort(X, num_keys=2), ValueError, "num_keys must be 1 for a single operand, got 2"),
        (lambda: lax.sort(()), TypeError, "at least one operand"),
        (lambda: lax.sort("abc"), TypeError, "sort requires arrays or numbers"),
        (lambda: lax.sort(X, dimension=1.0), TypeError, "dimension must be an integer"),
        (lambda: lax.sort_key_val(X, X[0]), ValueError, "operands must have one shape"),
        (lambda: lax.top_k(X, 5), ValueError, r"k must be at most the size of axis 1 of shape \(3, 4\), got 5"),
        (lambda: lax.top_k(X, -1), ValueError, "k must not be negative, got -1"),
        (lambda: lax.top_k(X, 2.0), TypeError, "k must be an integer, got 2.0"),
        (lambda: lax.top_k(X * 1j, 1), TypeError, "top_k does not accept dtype complex64"),
        (lambda: lax.top_k(X, 1, axis=3), ValueError, "axis 3 is out of bounds"),
        (lambda: lax.top_k(2.0, 1), ValueError, "out of bounds for an array of 0 dimensions"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- places --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [*ORDERED, "complex64", "int64", "float64"])
def test_places_are_those_of_the_decomposition(dtype, side):
    """Ties, NaN of either sign, infinities, zeros of both signs; no keys and no values."""
    kind = tangrad.dtypes.as_dtype(dtype)
    odd = ODD if np.dtype(kind).kind not in "biu" else np.float32([0, 1, 1, 0, 1])
    with tangrad.enable_x64(True):
        for size in (0, 1, 2, 13, 100):
            values = np.concatenate([draw("int8", size).astype(np.float32) % 7, odd]).astype(kind)
            keys = np.asarray(lax.sort(values[: size + 3] if size else values[:0]))
            if dtype == "complex64":
                values = np.concatenate([values, np.complex64([complex(np.nan, 1), complex(1, np.nan), 1 + 2j])])
                keys = np.asarray(lax.sort(np.concatenate([keys, values[-3:]])))
            options = {"side": side, "dtype": np.dtype("int32")}
            with backend_setting("numpy"):
                found = search_sorted_p(keys, values, **options)
                expected = tangrad.jit(lambda k, v, options=options: bisect(k, v, **options))(keys, values)
            assert_same(found, np.asarray(expected), what=f"{dtype} {size}")
            if np.dtype(kind).kind in "biuf":
                assert_same(found, keys.searchsorted(values, side).astype(np.int32))


def test_places_of_shapes_and_under_transformations():
    keys, values = np.sort(draw("float32", 9)), draw("float32", 2, 3)

    def places(k, v):
        return search_sorted_p(k, v, side="left", dtype=np.dtype("int32"))

    expected = keys.searchsorted(values).astype(np.int32)
    agree_everywhere(places, expected, keys, values)
    many = np.stack([keys, keys + 1])
    mapped = np.stack([row.searchsorted(v) for row, v in zip(many, values)]).astype(np.int32)
    agree_everywhere(tangrad.vmap(places), mapped, many, values)
    _, tangent = tangrad.jvp(lambda k: places(k, values) * 1.0, (keys,), (keys,))
    assert_same(tangent, np.zeros((2, 3), np.float32))


# --- `approx_max_k` and `approx_min_k`: nothing is missed here, and results have JAX's shapes -----------------------


NAMES = ("approx_max_k", "approx_min_k")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype, axis", [("float32", 0), ("bfloat16", -1)])
def test_values_agree_with_jax(name, dtype, axis):
    x = np.random.default_rng(0).permutation(96).reshape(8, 12).astype(narrow(dtype))  # no two are equal
    expected = getattr(jax.lax, name)(x, 4, axis)
    agree_everywhere(lambda x: getattr(lax, name)(x, 4, axis), expected, x)


def test_gradients_and_mapping_agree_with_jax():
    x = draw("float32", 6, 9)

    def total(library):
        one = lambda x: library.lax.approx_min_k(x, 3)[0] * library.numpy.arange(3.0)
        return lambda x: library.vmap(one, 1)(x).sum()

    assert_same(tangrad.grad(total(tangrad))(x), jax.grad(total(jax))(x))


@pytest.mark.parametrize(
    "shape, k, recall",
    [
        ((5000,), 4, 0.9),
        ((2, 5000), 4, 0.9),
        ((3, 1000), 10, 0.99),
        ((10000,), 1, 0.95),
        ((2, 130), 3, 0.5),
        ((4096,), 50, 0.95),
        ((10,), 2, 1.0),
        ((1, 30000), 100, 0.9),
    ],
)
def test_results_that_are_not_brought_down_have_the_shapes_of_jax(shape, k, recall):
    x = np.zeros(shape, np.float32)
    options = {"recall_target": recall, "aggregate_to_topk": False}
    expected = jax.eval_shape(lambda x: jax.lax.approx_max_k(x, k, **options), x)
    found = tangrad.eval_shape(lambda x: lax.approx_max_k(x, k, **options), x)
    assert [one.shape for one in found] == [one.shape for one in expected]


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"operand": np.arange(4)}, TypeError, "dtype"),
        ({"k": 5}, ValueError, "at most the size"),
        ({"k": -1}, ValueError, "negative"),
        ({"k": 1.5}, TypeError, "k must be an integer"),
        ({"reduction_dimension": 2}, ValueError, "reduction_dimension"),
        ({"recall_target": 0.0}, ValueError, "recall_target"),
        ({"recall_target": "most"}, TypeError, "recall_target"),
        ({"reduction_input_size_override": 2}, ValueError, "reduction_input_size_override"),
    ],
)
def test_bad_input_of_approximate_selection(arguments, error, message):
    with pytest.raises(error, match=message):
        lax.approx_max_k(**({"operand": np.zeros(4, np.float32), "k": 2} | arguments))
