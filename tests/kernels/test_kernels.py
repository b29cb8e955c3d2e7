"""The compiled kernels give what was given before: sorting, running totals, decompositions, random numbers."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, random
from tangrad.core import dtypes
from tangrad.extend.lax import lu_p
from tests.kernels.exercise import NAMES, Caller, draw

# --- Sorting and the greatest elements by the kernels ---


DTYPES = (*NAMES, "float16", "bfloat16", "bool")
# The shape, and the dimension: rows that are compared, sorted by digits, parted first; and columns.
PLACES = [((90_001,), 0), ((9, 500), 1), ((600, 7), 0), ((3, 20, 1100), 2), ((5, 70, 13), 1), ((2, 70_000), -1)]


def elements(shape, dtype, seed=0):
    """Few values, of which many are equal, and special ones."""
    if dtype == "bool":
        return draw(shape, "int8", seed) > 0
    if dtype == "bfloat16":
        return draw(shape, "float32", seed).astype(dtypes.as_dtype(dtype))
    x = draw(shape, dtype, seed)
    return x if x.dtype.kind == "f" or seed else x % 100


def assert_same(ours, before):
    """Equal bits, but for those of NaN."""
    for found, expected in zip(tangrad.tree.leaves(ours), tangrad.tree.leaves(before), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        if dtypes.issubdtype(found.dtype, numpy.floating):
            nan = numpy.isnan(expected)
            assert numpy.array_equal(numpy.isnan(found), nan)
            found, expected = [numpy.where(nan, 0, x).astype(x.dtype) for x in (found, expected)]
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "dimension"), PLACES)
def test_one_array(backend, each_with_and_without, shape, dimension, dtype):
    drawn = [(elements(shape, dtype, seed),) for seed in (0, 1)]
    for both in each_with_and_without(lambda x: lax.sort(x, dimension=dimension % x.ndim), *drawn):
        assert_same(*both)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "dimension"), PLACES)
def test_several_arrays_by_the_first(backend, with_and_without, shape, dimension, dtype):
    x = elements(shape, dtype)
    others = numpy.arange(x.size, dtype="int32").reshape(shape), draw(shape, "int8"), draw(shape, "float64", 3)
    more = [*others, others[2] + 1j]
    sort = lambda *xs: lax.sort(xs, dimension=dimension % x.ndim, num_keys=1)
    assert_same(*with_and_without(lambda *xs: (sort(*xs), np.argsort(xs[0], axis=dimension)), x, *more))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_what_is_in_order_already(backend, with_and_without, dtype):
    for x in (numpy.arange(70_000), numpy.arange(70_000)[::-1], numpy.zeros(70_000)):
        assert_same(*with_and_without(lambda x: lax.sort((x, x + 1), num_keys=1), x.astype(dtype)))


def test_zeros_and_nan_keep_their_signs_and_order(backend, kernels):
    x = numpy.tile(numpy.array([0.0, -0.0, -numpy.nan, 1.0, -0.0, numpy.nan, 0.0], "float32"), 10_000)
    with kernels():
        found = numpy.asarray(tangrad.jit(np.sort)(x))
    zeros, nan = x[x == 0], x[numpy.isnan(x)]
    assert numpy.array_equal(numpy.signbit(found[: zeros.size]), numpy.signbit(zeros))
    assert numpy.array_equal(numpy.signbit(found[-nan.size :]), numpy.signbit(nan))
    assert numpy.all(found[zeros.size : -nan.size] == 1)


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "bool"])
@pytest.mark.parametrize(("shape", "k"), [((200_001,), 10), ((40, 500), 3), ((2, 9, 3000), 256), ((5000,), 1)])
def test_the_greatest(backend, each_with_and_without, shape, k, dtype):
    drawn = [(elements(shape, dtype, seed),) for seed in (0, 1)]
    for both in each_with_and_without(lambda x: lax.top_k(x, k), *drawn):
        assert_same(*both)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), [((200_001,), 0), ((9, 5000), 1), ((600, 70), 0), ((3, 99, 130), 1)])
def test_where_the_best_are(kernels, shape, axis, dtype):
    """The first of equal elements, zeros of both signs among them, or the first NaN, whatever its sign."""
    if "xla" not in tangrad.core.backend_names():
        pytest.skip("the backend xla is not installed")
    x = elements(shape, dtype)
    if dtypes.issubdtype(x.dtype, numpy.floating):
        x = numpy.where(x == 0, numpy.array(0, x.dtype), x)
        x.flat[:: 3 * x.shape[-1] + 7] = -numpy.nan
    with tangrad.use_backend("xla"), tangrad.enable_x64(True), kernels():
        found = tangrad.jit(lambda x: (lax.argmax(x, axis, "int64"), lax.argmin(x, axis, "int32")))(np.asarray(x))
    wide = x.astype("float64") if dtypes.issubdtype(x.dtype, numpy.floating) else x
    numpy.testing.assert_array_equal(found[0], numpy.argmax(wide, axis))
    numpy.testing.assert_array_equal(found[1], numpy.argmin(wide, axis))


@pytest.mark.parametrize(("shape", "axes"), [((200_001,), 0), ((9, 5000), 1), ((600, 70), 0), ((3, 99, 130), (1, 2))])
def test_truth_of_many(backend, each_with_and_without, shape, axes):
    last = numpy.zeros(shape, bool)
    last.flat[-1] = True
    calls = [(x,) for x in (last, ~last, last & False, last | True, elements(shape, "bool"))]
    for both in each_with_and_without(lambda x: (np.any(x, axes), np.all(x, axes)), *calls):
        assert_same(*both)


def test_under_transformations(backend, with_and_without):
    x = draw((12, 40, 30), "int32").astype("float32") % 50
    for function in (
        tangrad.vmap(lambda x: lax.sort((x, x * 2), dimension=0, num_keys=1), in_axes=2, out_axes=1),
        tangrad.vmap(lambda x: lax.top_k(x, 2)),
        lambda x: lax.scan(lambda carry, row: (np.sort(carry + row, axis=0), np.argsort(row, axis=1)), x[0], x),
        lambda x: np.sort(x[::-1, ::2].T, axis=1),
    ):
        assert_same(*with_and_without(function, x))


def test_derivatives(backend, with_and_without):
    x = numpy.random.default_rng(2).normal(size=(50, 200))
    loss = lambda x: np.sum(np.sort(x, 1) * np.arange(200.0)) + np.sum(lax.top_k(x, 3)[0] ** 2)
    for function in (tangrad.grad(loss), lambda x: tangrad.jvp(tangrad.grad(loss), (x,), (x[::-1],))[1]):
        assert_same(*with_and_without(function, x))


def test_what_no_kernel_takes(backend, with_and_without):
    x = draw((80, 70), "float32")
    for function in (
        lambda x: lax.sort((np.round(x), x), num_keys=2),
        lambda x: np.sort(x + 1j * x[::-1]),
        lambda x: lax.top_k(x, 60),
        lambda x: lax.top_k(x.T, 1)[0],
        lambda x: np.sort(x[:0]),
    ):
        assert_same(*with_and_without(function, numpy.nan_to_num(x)))


@pytest.fixture(scope="module")
def sort_alone(library_path):
    """A row of numbers, sorted by the kernel alone."""
    call = Caller(str(library_path))

    def run(x):
        y = numpy.empty_like(x)
        call("sort", [NAMES.index(x.dtype.name), 1, x.size, 1, 1, x.itemsize], [x], [y])
        return y

    return run


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64", "int16"])
def test_rows_of_all_sizes(sort_alone, dtype):
    """Up to what networks sort, and a little more."""
    for size in (*range(1, 300), 511, 512, 513, 1025, 4097):
        x = elements((size,), dtype, size)
        assert_same(sort_alone(x), numpy.sort(x, kind="stable"))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("size", [5000, 70_001])
def test_rows_in_which_few_numbers_differ(sort_alone, dtype, size):
    """One, two, ten; ascending, descending, both; all equal but for the first or the last."""
    steps, most = numpy.arange(size), numpy.iinfo("int64").max
    rows = [steps * 0, steps % 2 * (most - 5), (steps * 7919) % 10 * (most // 10), steps, -steps]
    rows += [
        abs(steps - size // 2),
        steps * (most // size) % 1_000_003,
        *[(steps == at) * most for at in (0, size - 1)],
    ]
    for row in rows:
        x = row.astype(dtype)
        assert_same(sort_alone(x), numpy.sort(x, kind="stable"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32"])
def test_long_rows(sort_alone, dtype):
    """That are divided into ranges, of which all but one may be empty, and of which few elements are looked at."""
    size = 300_007
    x = draw(size, dtype, 1)
    least = x.min() if x.dtype.kind != "f" else -numpy.inf
    looked_at = numpy.concatenate([size // count * numpy.arange(count) for count in (128, 256, 512)])
    crowded, alike = x.copy(), numpy.full_like(x, 7)
    crowded[looked_at] = least
    alike[1::5000] = x[1::5000]  # fewer bits differ in what is looked at
    rows = [x, numpy.sort(x), numpy.sort(x)[::-1].copy(), crowded, alike]
    if x.dtype.kind == "f":
        rows.append(numpy.where(numpy.arange(size) % 3 == 0, [numpy.asarray(-0.0, dtype)], numpy.asarray(0.0, dtype)))
        rows[-1][::7] = x[::7]
    for row in rows:
        assert_same(sort_alone(row), numpy.sort(row, kind="stable"))


def worst_row(size, lanes):
    """Numbers that pivots part as badly as can be: all that are looked at for one are the least of what is left."""
    unknown = numpy.iinfo("uint32").max
    places, found, known = numpy.arange(size), numpy.full(size, unknown), 0
    for _ in range(80):
        some = (4 if len(places) >= 16 * 16 * lanes else 1) * lanes
        looked_at = places[len(places) // some * numpy.arange(some)]
        fresh = looked_at[found[looked_at] == unknown]
        found[fresh] = known + numpy.arange(len(fresh))
        known += len(fresh)
        left = found[places] >= numpy.sort(found[looked_at])[some // 2]
        # How the kernel leaves them: its registers backwards.
        ends = [*range(lanes, len(places), lanes), len(places)]
        runs = [places[begin:end][left[begin:end]] for begin, end in zip([0, *ends], ends)]
        places = numpy.concatenate(runs[::-1])
    rest = places[found[places] == unknown]
    found[rest] = known + numpy.arange(len(rest)) * 70_001 % 1_000_003
    return found


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_a_row_that_is_parted_badly(sort_alone, dtype):
    x = worst_row(20_000, 64 // numpy.dtype(dtype).itemsize).astype(dtype)
    assert_same(sort_alone(x), numpy.sort(x, kind="stable"))


SEARCHED = ("float32", "float64", "int32", "int64", "uint32", "uint64")


def sorted_keys(dtype):
    """At equal distances, in crowds, some of them equal, not finite; of the greatest and the least numbers; one."""
    evenly = numpy.linspace(-3, 3, 71)
    if numpy.dtype(dtype).kind == "f":
        ends = numpy.array([-numpy.inf, numpy.inf, numpy.nan])
        greatest = numpy.finfo(dtype).max
        more = numpy.r_[-numpy.inf, numpy.repeat(evenly, 70), ends[1:], ends[2]], numpy.array([-greatest, 0, greatest])
        keys = [evenly, evenly**25, *more, ends[2:], ends[:1], evenly[:1]]
    else:
        limits = numpy.iinfo(dtype)
        least, middle = limits.min, limits.max // 2
        keys = [numpy.arange(70) + middle, numpy.array([least, middle, limits.max], dtype), numpy.repeat([7, 60], 80)]
        keys += [numpy.sort(draw(500, dtype)), numpy.array([limits.max], dtype)]
    return [each.astype(dtype) for each in keys]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", SEARCHED)
def test_places_in_sorted_vectors(backend, with_and_without, dtype, side):
    def places(xs, x):
        return [np.searchsorted(keys, x, side=side) for keys in xs]

    keys = sorted_keys(dtype)
    x = numpy.concatenate([draw(9001, dtype), *keys])
    more = [numpy.nextafter(each, limit, dtype=dtype) for each in keys for limit in (-9, 9)] if dtype[0] == "f" else []
    x = numpy.concatenate([x, *more])
    ours, before = with_and_without(lambda x: places(keys, x), x)
    for found, expected, each in zip(ours, before, keys, strict=True):
        assert found.dtype == expected.dtype and numpy.array_equal(found, expected)
        if backend == "numpy":  # for XLA subnormal numbers are 0
            assert numpy.array_equal(found, numpy.searchsorted(each, x, side=side))


def test_subnormal_numbers_are_the_same_ones_for_all_threads(backend, with_and_without):
    x = numpy.zeros(300_000, "float32")
    x[::3], x[1::3] = 1e-40, -1e-40
    ours, before = with_and_without(lambda x: np.searchsorted(np.array([-1, 0, 1], "float32"), x), x)
    assert numpy.array_equal(ours, before)


def test_kernels_find_places_of_many_values_alone(kernels):
    pytest.importorskip("jaxlib")
    with kernels(), tangrad.use_backend("xla"):
        keys, search = numpy.arange(9.0, dtype="float32"), tangrad.jit(np.searchsorted)
        assert "tangrad_kernels.search" in search.lower(keys, numpy.zeros(5000, "float32")).as_text()
        assert "tangrad_kernels" not in search.lower(keys, numpy.zeros(100, "float32")).as_text()
        assert "tangrad_kernels" not in search.lower(keys.astype("float16"), numpy.zeros(5000, "float16")).as_text()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_histograms(backend, with_and_without, dtype):
    """Values at boundaries and next to them, outside and not numbers; weights, densities, batches, derivatives."""
    edges = numpy.linspace(-2, 2, 41).astype(dtype)
    x = numpy.concatenate([draw(20_001, dtype), numpy.repeat(edges, 50), numpy.nextafter(edges, edges.dtype.type(9))])
    if dtype != "int32":
        x = x[numpy.isfinite(x)]
    weights = numpy.linspace(-1, 2, x.size)

    def several(x, weights):
        return (
            np.histogram(x, 40, (-2.0, 2.0)),
            np.histogram(x, edges),
            np.histogram(x, 7),
            np.histogram(x, 40, (-2.0, 2.0), density=True),
            np.digitize(x, edges),
            np.bincount(np.abs(x).astype(int), length=300),
            tangrad.vmap(lambda x: np.histogram(x, 9, (-2.0, 2.0))[0])(x[: x.size // 2 * 2].reshape(2, -1)),
        )

    for found, expected in zip(*map(tangrad.tree.leaves, with_and_without(several, x, weights)), strict=True):
        assert found.dtype == expected.dtype and numpy.array_equal(found, expected)
    summed = lambda x, weights: np.histogram(x, 40, (-2.0, 2.0), weights)[0]
    both = with_and_without(
        lambda x, w: (summed(x, w), tangrad.grad(lambda w: np.sum(summed(x, w) ** 2))(w)), x, weights
    )
    for found, expected in zip(*both, strict=True):
        numpy.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


# --- Running totals by the kernel: their values, their roundings, and what is made of them ---


FLOATS, INTEGERS = ("float32", "float64"), ("int32", "int64", "uint32", "uint64")
# The shape, and the axis.
RUNNING_PLACES = [
    ((5000,), 0),
    ((100_003,), 0),
    ((70, 61), 0),
    ((70, 61), 1),
    ((3, 40, 50), 1),
    ((2, 3, 17, 41), -1),
    ((1, 9000), 0),
]


def total(axis, reverse=False, function=lax.cumsum):
    return lambda x: function(x, axis % x.ndim, reverse)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("shape", "axis"), RUNNING_PLACES)
def test_integers_wrap_as_before(backend, with_and_without, shape, axis, dtype):
    each = [total(axis, shape[0] % 2 == 0, function) for function in (lax.cumsum, lax.cummax, lax.cummin)]
    for ours, before in zip(*with_and_without(lambda x: [run(x) for run in each], draw(shape, dtype)), strict=True):
        assert ours.dtype == before.dtype and numpy.array_equal(ours, before)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "axis"), RUNNING_PLACES)
def test_sums_are_at_least_as_near(backend, with_and_without, shape, axis, dtype, reverse):
    """To those in wide arithmetic: each of them within 2 units in the last place more than before."""
    x = numpy.random.default_rng(1).normal(1, 3, shape).astype(dtype)
    ours, before = with_and_without(total(axis, reverse), x)
    turned = numpy.flip(x, axis) if reverse else x
    exact = numpy.cumsum(turned.astype(numpy.longdouble), axis)
    exact = numpy.flip(exact, axis) if reverse else exact
    unit = numpy.spacing(numpy.abs(exact).astype(dtype))
    ours_off, before_off = [float((numpy.abs(found - exact) / unit).max()) for found in (ours, before)]
    assert ours.dtype == dtype and ours_off <= before_off + 2, (ours_off, before_off)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_long_sum_keeps_its_digits(backend, with_and_without, dtype):
    x = numpy.full(1_000_000, 0.1, dtype)
    ours, _ = with_and_without(total(0), x)
    assert abs(ours[-1] - x[0].astype(numpy.longdouble) * x.size) <= 2 * numpy.spacing(ours[-1])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "axis"), [((6000,), 0), ((64, 80), 0), ((64, 80), 1)])
@pytest.mark.parametrize("value", [numpy.inf, -numpy.inf, numpy.nan])
def test_what_is_not_finite_stays(backend, each_with_and_without, shape, axis, dtype, value):
    each = [total(axis, function=function) for function in (lax.cumsum, lax.cummax, lax.cummin)]
    x = numpy.ones(shape, dtype)
    x[tuple([size // 3 for size in shape])] = value
    y = x.copy()
    y.reshape(-1)[-1] = -value
    one, (ours, before) = each_with_and_without(lambda x: [run(x) for run in each], (x,), (y,))
    for found, expected in zip(*one, strict=True):
        numpy.testing.assert_array_equal(found, expected)
    numpy.testing.assert_array_equal(ours[0], before[0])


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_running_under_transformations(backend, with_and_without, dtype):
    x = draw((20, 30, 11), "int32").astype(dtype) % 7
    for function in (
        tangrad.vmap(total(0), in_axes=1, out_axes=2),
        tangrad.vmap(tangrad.vmap(total(0))),
        lambda x: lax.scan(lambda carry, row: (carry + total(1)(row), total(0)(row)), np.zeros_like(x[0]), x),
        lambda x: total(2)(x.T),
        lambda x: total(0)(x[::2, 1:, ::-1]),
    ):
        tangrad.tree.map(numpy.testing.assert_array_equal, *with_and_without(function, x))


def test_running_derivatives(backend, with_and_without):
    x = numpy.random.default_rng(2).normal(size=(50, 100))
    loss = lambda x: np.sum(np.sin(total(0)(x)) * total(1, True)(x))
    for function in (tangrad.grad(loss), lambda x: tangrad.jvp(tangrad.grad(loss), (x,), (x[::-1],))[1]):
        numpy.testing.assert_allclose(*with_and_without(function, x), rtol=1e-9, atol=1e-9)


def test_donated_and_used_again(backend, kernels):
    x = numpy.arange(8192.0)
    with kernels():
        given = np.asarray(x)
        run = tangrad.jit(lambda x: (lax.cumsum(x, 0), x + 1), donate_argnums=0)
        totals, more = run(given)
        kept = np.asarray(x)
        again = tangrad.jit(lambda x: lax.cumsum(x, 0) + x)(kept)
    numpy.testing.assert_array_equal(totals, numpy.cumsum(x))
    numpy.testing.assert_array_equal(more, x + 1)
    numpy.testing.assert_array_equal(again, numpy.cumsum(x) + x)
    numpy.testing.assert_array_equal(kept, x)


# --- Decompositions by the kernel, beside LAPACK's ---


SHAPES = [(200, 32, 32), (2, 300, 3, 3), (20, 64, 64), (50, 5, 9), (50, 9, 5), (1100, 1, 1)]


def factors(x):
    return tuple(lu_p.bind(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_factors(backend, with_and_without, shape, dtype):
    x = numpy.random.default_rng(0).normal(size=shape).astype(dtype)
    (found, exchanged, order), before = with_and_without(factors, x)
    assert [part.dtype for part in (found, exchanged, order)] == [part.dtype for part in before]
    assert numpy.array_equal(exchanged, before[1]) and numpy.array_equal(order, before[2])
    least = min(shape[-2:])
    lower = numpy.tril(found, -1)[..., :least] + numpy.eye(shape[-2], least, dtype=dtype)
    upper = numpy.triu(found)[..., :least, :]
    product = lower.astype("float64") @ upper.astype("float64")
    rows = numpy.take_along_axis(x, order[..., None], -2)
    assert numpy.abs(product - rows).max() <= 4 * least * numpy.finfo(dtype).eps * numpy.abs(upper).max()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrices_that_are_singular_or_not_finite(backend, with_and_without, dtype):
    x = numpy.random.default_rng(1).normal(size=(40, 8, 8)).astype(dtype)
    x[0], x[1, :, 2], x[2, 3], x[3, 1] = 0, 0, 0, x[3, 4]
    for ours, before in zip(*with_and_without(factors, x), strict=True):
        numpy.testing.assert_allclose(ours, before, rtol=2e-3, atol=1e-4)
    x[5, 2, 2], x[7, 0, 0] = numpy.nan, numpy.inf
    (found, _, order), before = with_and_without(factors, x)
    assert numpy.isnan(found[5]).any() and not numpy.isfinite(found[7]).all()
    assert numpy.array_equal(numpy.sort(order), numpy.tile(numpy.arange(8), (40, 1)))
    rest = [place for place in range(40) if place not in (5, 7)]
    numpy.testing.assert_allclose(found[rest], before[0][rest], rtol=2e-3, atol=1e-4)


def test_what_is_made_of_factors(backend, with_and_without):
    draws = numpy.random.default_rng(2)
    x, y = draws.normal(size=(30, 10, 10)), draws.normal(size=(30, 10, 2))
    solve = lambda x, y: np.linalg.solve(x, y)
    for function in (
        solve,
        lambda x, y: np.linalg.det(x),
        lambda x, y: np.linalg.inv(x.mT[::-1]),
        tangrad.vmap(tangrad.vmap(lambda x, y: factors(x)[0], (None, 1)), (0, 0)),
        tangrad.grad(lambda x, y: np.sum(np.sin(solve(x, y)))),
        tangrad.vmap(solve),
    ):
        ours, before = with_and_without(function, x, y)
        numpy.testing.assert_allclose(ours, before, rtol=1e-6, atol=1e-8)


# --- Random numbers made of the kernel's bits: the same ones ---


PROGRAMS = {
    "bits": lambda key, shape: random.bits(key, shape),
    "bytes": lambda key, shape: random.bits(key, shape, "uint8"),
    "long": lambda key, shape: random.bits(key, shape, "uint64"),
    "uniform": lambda key, shape: random.uniform(key, shape, "float32", -1, 3),
    "double": lambda key, shape: random.uniform(key, shape, "float64"),
    "normal": lambda key, shape: random.normal(key, shape, "float32"),
    "long integers": lambda key, shape: random.randint(key, shape, -5, 1 << 40, "int64"),
    "integers": lambda key, shape: random.randint(key, shape, 0, 1000),
    "choices": lambda key, shape: random.categorical(key, np.zeros(3), shape=shape),
    "many keys": lambda key, shape: tangrad.vmap(lambda key: random.normal(key, shape[:1]))(random.split(key, 3)),
    "derivative": lambda key, shape: tangrad.grad(lambda x: np.sum(random.normal(key, shape) * x))(2.0),
}


@pytest.mark.parametrize("shape", [(4096,), (300, 331), (10,)], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_those_of_before(backend, each_with_and_without, name, shape):
    seeds = [(numpy.uint32(seed),) for seed in (0, 2**31)]
    for make in (random.key, random.PRNGKey):
        draw = lambda seed, make=make: PROGRAMS[name](make(seed), shape)
        for ours, before in each_with_and_without(draw, *seeds):
            if backend == "numpy" and name in ("normal", "derivative"):  # by a logarithm of the kernel's own
                numpy.testing.assert_allclose(ours, before, rtol=2e-5)
            else:
                assert ours.tobytes() == before.tobytes()
            assert (ours.shape, ours.dtype) == (before.shape, before.dtype)


def test_normal_numbers_are_nearer_to_exact_ones(library_path):
    """Than those of NumPy's steps, which have log(1 - x²) of a square that is rounded."""
    special, call, size = pytest.importorskip("scipy.special"), Caller(str(library_path)), 3_000_001
    key, words, normal = numpy.array([0, 3], "uint32"), numpy.empty(size, "uint32"), numpy.empty(size, "float32")
    call("bits", [size, 32], [key], [words])
    call("normal", [size], [key], [normal])
    low = numpy.nextafter(numpy.float32(-1), numpy.float32(0))
    uniform = (((words >> 9) | 0x3F800000).view("float32") - 1) * 2 + low
    exact = numpy.sqrt(2) * special.erfinv(uniform.astype("float64"))
    with tangrad.use_backend("numpy"):
        before = numpy.asarray(lax.erf_inv(uniform)) * numpy.float32(numpy.sqrt(2))
    unit = numpy.spacing(abs(exact).astype("float32"))
    ours, others = (abs(found - exact) / unit for found in (normal, before))
    assert ours.max() < 5 and ours.max() < others.max() and ours.mean() < others.mean()


def test_without_a_partitionable_stream(backend, with_and_without):
    with tangrad.threefry_partitionable(False):
        ours, before = with_and_without(lambda seed: random.normal(random.key(seed), (5000,)), numpy.uint32(1))
    assert ours.tobytes() == before.tobytes()


# --- Convolutions of each feature by itself ---

# The shape of the images, that of the kernel's window, strides, padding, dilations.
DEPTHWISE = [
    ((2, 30, 31, 16), (3, 3), (1, 1), "SAME", (1, 1)),
    ((1, 40, 41, 37), (3, 2), (2, 1), "SAME", (1, 1)),
    ((3, 33, 22, 9), (2, 4), (1, 3), ((3, 0), (0, 5)), (2, 1)),
    ((2, 36, 20, 40), (5, 5), (1, 1), ((-1, 2), (2, -2)), (1, 2)),
    ((2, 70, 6, 24), (7, 7), (2, 2), "SAME", (1, 1)),
]


def depthwise(x, kernel, strides, padding, dilations):
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        x, kernel, strides, padding, None, dilations, dimension_numbers=numbers, feature_group_count=x.shape[3]
    )


def with_gradients(x, kernel, *how):
    out, back = tangrad.vjp(lambda x, kernel: depthwise(x, kernel, *how), x, kernel)
    return out, *back(np.cos(out))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "window", "strides", "padding", "dilations"), DEPTHWISE)
def test_depthwise_convolutions_and_their_gradients(
    backend, with_and_without, shape, window, strides, padding, dilations, dtype
):
    generator = numpy.random.default_rng(0)
    x, kernel = (generator.normal(size=size).astype(dtype) for size in (shape, (*window, 1, shape[3])))
    found = with_and_without(lambda *xs: with_gradients(*xs, strides, padding, dilations), x, kernel)
    for one, other in zip(*found, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        numpy.testing.assert_allclose(one, other, rtol=0, atol=20 * numpy.spacing(abs(other).max()))


def test_depthwise_convolutions_are_as_near_to_exact_ones_as_before(backend, with_and_without):
    generator = numpy.random.default_rng(1)
    x, kernel = (generator.normal(size=size).astype("float32") for size in ((4, 40, 40, 16), (3, 3, 1, 16)))
    run = lambda *xs: with_gradients(*xs, (1, 1), "SAME", (1, 1))
    exact = tangrad.jit(run)(x.astype(float), kernel.astype(float))
    for ours, before, other in zip(*with_and_without(run, x, kernel), map(numpy.asarray, exact), strict=True):
        unit = numpy.spacing(abs(other).max().astype("float32"))
        assert abs(ours - other).max() <= abs(before - other).max() + 2 * unit


@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, -numpy.inf])
def test_depthwise_convolutions_of_what_is_not_finite(backend, with_and_without, value):
    """Beyond the array there are zeros, which are multiplied, too: zero times an infinity is not a number."""
    generator = numpy.random.default_rng(2)
    x, kernel = (generator.normal(size=size).astype("float32") for size in ((2, 20, 20, 17), (3, 3, 1, 17)))
    for at, array in (((1, 4, 19, 3), x), ((0, 2, 0, 16), kernel), ((0, 0, 0, 5), x)):
        changed = array.copy()
        changed[at] = value
        arguments = (changed, kernel) if array is x else (x, changed)
        one, other = with_and_without(lambda *xs: depthwise(*xs, (1, 1), "SAME", (1, 1)), *arguments)
        numpy.testing.assert_allclose(one, other, rtol=0, atol=1e-5)  # NaN and infinities at the same places


def test_many_depthwise_convolutions_at_once(backend, with_and_without):
    generator = numpy.random.default_rng(3)
    x, kernel = (generator.normal(size=size).astype("float32") for size in ((3, 2, 20, 20, 16), (3, 3, 1, 16)))
    run = lambda x, kernel: depthwise(x, kernel, (1, 1), "SAME", (1, 1))
    one, other = with_and_without(lambda *xs: tangrad.vmap(run, (0, None))(*xs), x, kernel)
    numpy.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
