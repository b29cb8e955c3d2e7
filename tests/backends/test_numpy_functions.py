"""Functions that the NumPy backend computes its own way: searching, extrema, decompositions."""

import itertools
from itertools import product

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, jit, lax, use_backend
from tangrad._backend_numpy.bounds import FEWEST
from tangrad._backend_numpy.decompositions import factorisations, forms
from tangrad._backend_numpy.lower import indexing, sorting

# --- Places of many values among sorted keys, and counts, on NumPy ---


KEYS = {
    "even": lambda rng, count: np.linspace(-3, 3, count),
    "uneven": lambda rng, count: np.sort(rng.normal(size=count)),
    "repeated": lambda rng, count: np.sort(np.repeat(rng.normal(size=-(-count // 2)), 2)[:count]),
    "crowded": lambda rng, count: np.sort(np.append(rng.normal(size=count - 1) * 1e-6, 1.0)),
    "equal": lambda rng, count: np.full(count, 0.5),
    "far": lambda rng, count: np.sort(rng.normal(size=count)) * 1e38,
    "infinite": lambda rng, count: np.append(np.sort(rng.normal(size=count - 1)), np.inf),
    "nan": lambda rng, count: np.append(np.sort(rng.normal(size=count - 1)), np.nan),
}
EXTREMES = [np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(sorting, "MANY", 0)
    monkeypatch.setattr(sorting, "BLOCK", 256)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [8, 9, 100, 1001])
@pytest.mark.parametrize("kind", KEYS)
def test_floats_go_where_a_search_finds(small_blocks, kind, count, dtype, side):
    rng = np.random.default_rng(count)
    with np.errstate(all="ignore"):
        keys = KEYS[kind](rng, count).astype(dtype)
        size = 5 * count + 3
        values = np.concatenate([rng.normal(size=size), keys, np.nextafter(keys, keys.dtype.type(9)), EXTREMES])
        values = values.astype(dtype)
        for given in (values, values[::-1], np.append(values, np.nan).astype(dtype)):
            assert (sorting.places(keys, given, side) == keys.searchsorted(given, side)).all()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_integers_go_where_a_search_finds(small_blocks, dtype, side):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    for span in (40, 250, limits.max):
        low = limits.min if span == limits.max else 0
        keys = np.sort(rng.integers(low, span, 50, dtype, endpoint=True))
        values = rng.integers(low, span, (30, 20), dtype, endpoint=True)
        values[0, :2] = limits.min, limits.max
        assert (sorting.places(keys, values, side) == keys.searchsorted(values, side)).all()


def test_keys_out_of_order_do_no_harm(small_blocks):
    keys = np.random.default_rng(0).normal(size=100)
    values = np.linspace(-9, 9, 1000)
    for given in (keys, keys[::-1], np.append(np.nan, keys)):
        found = sorting.places(given, values, "left")
        assert found.shape == values.shape and (found >= 0).all() and (found <= given.size).all()


# --- counts and sums -------------------------------------------------------------------------------------------------


def added_one_by_one(x, indices, updates, mode):
    """What `x.at[indices].add(updates)` is by definition."""
    out = x.copy()
    for at, number in zip(indices.tolist(), np.broadcast_to(updates, indices.shape), strict=True):
        at = at + len(x) if at < 0 else at
        if mode == "clip":
            at = min(max(at, 0), len(x) - 1)
        if 0 <= at < len(x):
            with np.errstate(over="ignore"):
                out[at] += number
    return out


@pytest.mark.parametrize("mode", ["drop", "clip", "promise_in_bounds"])
@pytest.mark.parametrize("index_dtype", ["int8", "uint8", "int32", "uint32", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "uint16", "bfloat16"])
def test_numbers_are_added_where_they_belong(dtype, index_dtype, mode):
    rng = np.random.default_rng(0)
    with tangrad.use_backend("numpy"), tangrad.enable_x64():
        low = 0 if index_dtype.startswith("u") or mode == "promise_in_bounds" else -120
        high = 100 if mode == "promise_in_bounds" else 120
        indices = rng.integers(low, high, 400).astype(index_dtype)
        x = rng.integers(-3, 3, 100).astype("int32").astype(dtype) if dtype != "bfloat16" else np.zeros(100, "float32")
        kind = tnp.bfloat16 if dtype == "bfloat16" else dtype
        for updates in (np.int32(2), rng.integers(0, 2, 400)):
            add = tangrad.jit(lambda x, i, u=updates: x.at[i].add(tnp.asarray(u, kind), mode=mode))
            found = np.asarray(add(tnp.asarray(x, kind), tnp.asarray(indices)).astype("float64"))
            wanted = added_one_by_one(x, indices, np.asarray(updates).astype(x.dtype), mode)
            assert (found == wanted.astype("float64")).all()


def test_special_numbers_are_added_as_others():
    with tangrad.use_backend("numpy"):
        x = tnp.array([-0.0, 0.0, np.inf, 1.0, np.nan])
        indices = tnp.asarray(np.resize([2, 3], 600))
        for number, infinite in ((1.0, np.inf), (-np.inf, np.nan), (np.nan, np.nan)):
            found = np.asarray(tangrad.jit(lambda x, i, n=number: x.at[i].add(n))(x, indices))
            np.testing.assert_array_equal(found, np.float32([0, 0, infinite, 1 + 300 * number, np.nan]))
            assert np.signbit(found[0]) and not np.signbit(found[1])
            same = np.asarray(tangrad.jit(lambda x, i, n: x.at[i].add(n))(x, indices, tnp.full(600, number)))
            np.testing.assert_array_equal(found, same)


def test_whole_numbers_wrap_around():
    with tangrad.use_backend("numpy"):
        found = tangrad.jit(lambda x, i: x.at[i].add(100))(tnp.zeros(2, "int8"), tnp.zeros(1000, "int32"))
        assert found.tolist() == [np.int64(100_000).astype("int8"), 0]


@pytest.mark.parametrize("weights", [None, "float32", "int32"])
def test_counts_and_histograms_under_transformations(weights):
    rng = np.random.default_rng(1)
    numbers, values = rng.integers(-2, 12, (3, 500)).astype("int32"), rng.normal(size=(3, 500)).astype("float32")
    added = None if weights is None else rng.integers(1, 5, 500).astype(weights)
    with tangrad.use_backend("numpy"):
        count = tangrad.vmap(lambda x: tnp.bincount(x, added, length=10))
        for row, found in zip(numbers, np.asarray(tangrad.jit(count)(numbers)), strict=True):
            places = np.maximum(row, 0)
            assert (found == np.bincount(places, added, minlength=12)[:10]).all()
        for row in values:
            counts, edges = tangrad.jit(lambda x: tnp.histogram(x, 20, (-2.0, 2.0), added))(row)
            assert (np.asarray(counts) == np.histogram(row, np.asarray(edges), weights=added)[0]).all()
        gradient = tangrad.grad(lambda w: (tnp.bincount(numbers[0], w, length=10) ** 2).sum())(values[0])
        totals = np.bincount(np.maximum(numbers[0], 0), values[0], minlength=12)[:10]
        wanted = 2 * np.append(totals, [0, 0])[np.maximum(numbers[0], 0)]
        np.testing.assert_allclose(np.asarray(gradient), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "min", "max"])
def test_rows_are_combined_in_their_order(monkeypatch, name):
    """To the last bit what one row after another gives, with more rounds than are made at once, and rows left out."""
    rng = np.random.default_rng(2)
    x, rows = rng.normal(size=(6, 3)).astype("float32"), rng.normal(size=(40, 3)).astype("float32")
    places = rng.integers(0, 8, 40).astype("int32")
    found = []
    for at_once in (1, 1 << 40):
        monkeypatch.setattr(indexing, "ROUNDS_FROM", at_once)
        monkeypatch.setattr(indexing, "LONG_ROW", 1)
        monkeypatch.setattr(indexing, "MOST_ROUNDS", 3)
        tangrad.clear_caches()
        with tangrad.use_backend("numpy"):
            combine = tangrad.jit(lambda x, i, rows: getattr(x.at[i], name)(rows, mode="drop"))
            found.append(np.asarray(combine(x, places, rows)))
    tangrad.clear_caches()
    assert found[0].tobytes() == found[1].tobytes() and (found[0] != x).any()


# --- Extrema with one number, and clamping, of long arrays on NumPy ---


NUMBERS = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 3.0, -3.0, 7.0]


@pytest.fixture
def _backend():
    with use_backend("numpy"), enable_x64(True):
        yield


def agree(function, x, signs=True):
    few = np.asarray(function(x[: len(NUMBERS)]))
    for run in (function, jit(function)):
        many = np.asarray(run(x))
        assert many.dtype == x.dtype
        assert many.shape == x.shape
        np.testing.assert_array_equal(many[: len(few)], few)
        known = ~np.isnan(few) & signs
        assert (np.signbit(many[: len(few)]) == np.signbit(few))[known].all()


@pytest.mark.usefixtures("_backend")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_arrays(dtype):
    x = np.resize(np.array(NUMBERS, dtype), FEWEST + 7)
    kind = x.dtype.type
    for bound in NUMBERS:
        for function in (lax.max, lax.min):
            # Of zeros of both signs NumPy takes either.
            agree(lambda x, function=function, bound=bound: function(x, kind(bound)), x, signs=bound != 0)
            swapped = np.asarray(function(kind(bound), x))
            np.testing.assert_array_equal(swapped, np.asarray(function(x, kind(bound))))
    for low, high in itertools.product(NUMBERS, NUMBERS):
        signs = low != 0 and high != 0
        agree(lambda x, low=low, high=high: lax.clamp(kind(low), x, kind(high)), x, signs)


@pytest.mark.usefixtures("_backend")
@pytest.mark.parametrize("bound", [0.0, -0.0])
def test_zeros_with_signs(bound):
    zeros = np.resize(np.array([0.0, -0.0], "float32"), FEWEST)
    both = np.signbit(zeros) & np.signbit(np.float32(bound))
    np.testing.assert_array_equal(np.signbit(np.asarray(jit(lambda x: lax.max(x, np.float32(bound)))(zeros))), both)


@pytest.mark.usefixtures("_backend")
def test_columns_and_bounds_for_each_element():
    x = np.resize(np.array(NUMBERS), (FEWEST, len(NUMBERS)))
    twos = np.full(x.T.shape, 2.0)
    np.testing.assert_array_equal(jit(lambda x: lax.max(x.T, twos))(x), np.maximum(x, 2.0).T)
    np.testing.assert_array_equal(jit(lambda x: lax.max(x.T, lax.full_like(x.T, 2.0)))(x), np.maximum(x, 2.0).T)
    integers = np.arange(-FEWEST, FEWEST)
    np.testing.assert_array_equal(lax.clamp(-3, integers, 5), np.clip(integers, -3, 5))


# --- Decompositions on NumPy ---


DTYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture(params=["alone", "with NumPy's", "with SciPy"])
def installed(request, monkeypatch):
    """Whose LAPACK there is, if any."""
    if request.param != "with SciPy":
        monkeypatch.setattr(factorisations, "lapack_function", lambda name, dtype: None)
    if request.param == "with NumPy's" and factorisations.own_lapack("getrf", np.dtype("float32")) is None:
        pytest.skip("this NumPy has no LAPACK of its own under the names that are known")
    if request.param != "with NumPy's":
        monkeypatch.setattr(factorisations, "own_lapack", lambda name, dtype: None)
    if request.param == "with SciPy":
        pytest.importorskip("scipy")
    return request.param


def draw(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def near(found, expected, size=1):
    precision = np.finfo(np.asarray(found).dtype).eps
    np.testing.assert_allclose(found, expected, rtol=0, atol=200 * precision * max(size, 1))


def unit_lower(factors):
    size = factors.shape[-2]
    lower = np.tril(factors, -1)[..., : min(factors.shape[-2:])]
    return lower + np.eye(size, lower.shape[-1], dtype=factors.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (3, 6), (70, 40), (2, 3, 33, 33), (150, 33, 31), (1, 1), (0, 3), (2, 0, 0)])
def test_lu(installed, dtype, shape):
    x = draw(dtype, *shape)
    factors, pivots, order = factorisations.lu(x)
    upper = np.triu(factors)[..., : min(shape[-2:]), :]
    near(unit_lower(factors) @ upper, np.take_along_axis(x, order[..., None], -2), shape[-1])
    # Of complex numbers those with the greatest sum of both parts' sizes are chosen.
    limit = 1.415 if np.dtype(dtype).kind == "c" else 1.0001
    assert pivots.dtype == order.dtype == np.int32 and (np.abs(np.tril(factors, -1)) <= limit).all()
    np.testing.assert_array_equal(factorisations.permutation(pivots, shape[-2]), order)


def test_lu_of_singular_matrices(installed):
    """A column of zeros is left as it is; NaN spreads without an error."""
    factors, _, _ = factorisations.lu(np.float32([[0, 1], [0, 2]]))
    np.testing.assert_array_equal(np.triu(factors)[:, 0], [0, 0])
    assert np.isnan(factorisations.lu(np.full((2, 2), np.nan, np.float32))[0]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (3, 6), (7, 4), (2, 3, 3), (1, 1), (0, 3)])
def test_qr_with_pivoting(installed, dtype, shape):
    x = draw(dtype, *shape)
    for full in (False, True):
        q, r, order = factorisations.qr(x, True, full)
        near(q @ r, np.take_along_axis(x, order[..., None, :], -1), shape[-1])
        identity = np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], q.shape[-1], q.shape[-1]))
        near(q.conj().swapaxes(-1, -2) @ q, identity, shape[-1])
    sizes = np.abs(np.diagonal(r, 0, -2, -1))
    assert (np.diff(sizes, axis=-1) <= 1e-4).all() and not np.tril(r, -1).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_reflections(dtype):
    """The product of LAPACK's reflections is Q, also where some of them are none."""
    x = draw(dtype, 6, 4)
    x[:, 1] = 0
    packed, taus = factorisations.geqrf(x)
    near(factorisations.householder_product(packed, taus) @ np.triu(packed[:4]), x, 6)


SPECIAL = {
    "rotation": [[0, 1, 0], [-1, 0, 0], [0, 0, 2]],
    "cycle": [[0, 0, 1], [1, 0, 0], [0, 1, 0]],  # usual shifts stand still on it
    "zeros": [[0, 0], [0, 0]],
    "defective": [[2, 1, 0], [0, 2, 1], [0, 0, 2]],
    "equal diagonal": [[1, 2], [3, 1]],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6, 6), (25, 25), (2, 3, 3), (1, 1), (0, 0), *SPECIAL])
def test_schur(installed, dtype, shape):
    x = np.asarray(SPECIAL[shape], dtype) if isinstance(shape, str) else draw(dtype, *shape)
    size = x.shape[-1]
    t, z = forms.schur(x, True)
    near(z @ t @ z.conj().swapaxes(-1, -2), x, 5 * size)
    near(z.conj().swapaxes(-1, -2) @ z, np.broadcast_to(np.eye(size), x.shape), 5 * size)
    beside = np.diagonal(t, -1, -2, -1)
    if np.dtype(dtype).kind == "c":
        assert not np.tril(t, -1).any()
    else:
        assert not np.tril(t, -2).any()
        # No two blocks of two rows touch, and each has eigenvalues that are not real.
        assert not (beside[..., 1:] * beside[..., :-1]).any()
        above = np.diagonal(t, 1, -2, -1)
        assert (above[beside != 0] * beside[beside != 0] < 0).all()


def test_schur_of_nan(installed):
    assert np.isnan(forms.schur(np.full((3, 3), np.nan), True)[0]).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_schur_of_numbers_that_overflow(monkeypatch, dtype):
    """They are finite before the first reflection, and not after it: NaN, as for whatever fails."""
    monkeypatch.setattr(factorisations, "lapack_function", lambda name, dtype: None)
    big = np.finfo(dtype).max
    x = np.array([[[1, big, 2], [-big, 3, big], [big, 1, 1]], np.eye(3)], dtype)
    with np.errstate(all="ignore"):  # as when a program calls it
        t, z = forms.schur(x, True)
    assert np.isnan(t[0]).any() and np.isnan(z[0]).any()
    near(z[1] @ t[1] @ z[1].conj().T, x[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (2, 3, 3), (2, 2), (1, 1)])
def test_hessenberg(installed, dtype, shape):
    x = draw(dtype, *shape)
    packed, taus = forms.hessenberg(x)
    q = np.zeros_like(x) + np.eye(shape[-1], dtype=dtype)
    if shape[-1] > 1:
        q[..., 1:, 1:] = factorisations.householder_product(packed[..., 1:, :-1], taus)
    near(q @ np.triu(packed, -1) @ q.conj().swapaxes(-1, -2), x, shape[-1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [False, True])
def test_tridiagonal(dtype, lower):
    x = draw(dtype, 3, 5, 5)
    x = x + x.conj().swapaxes(-1, -2)
    read = np.tril(x) if lower else np.triu(x)
    _, diagonal, beside, _ = forms.tridiagonal(read, lower)
    for full, d, e in zip(x, diagonal, beside):
        near(np.linalg.eigvalsh(np.diag(d) + np.diag(e, 1) + np.diag(e, -1)), np.linalg.eigvalsh(full), 5)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("flags", list(product((False, True), repeat=4)), ids=str)
def test_large_triangular_systems_with_and_without_scipy(monkeypatch, flags, dtype):
    """The same, whatever is in the other triangle, and infinities where there is a zero on the diagonal."""
    pytest.importorskip("scipy")
    left, lower, _, unit = flags
    rng = np.random.default_rng(0)
    a = rng.normal(size=(2, 9, 9)) + 4 * np.eye(9)
    b = rng.normal(size=(2, 9, 3) if left else (2, 3, 9))
    a, b = a.astype(dtype), b.astype(dtype)
    if dtype == "complex128":
        a = a + 1j * rng.normal(size=a.shape)
    a[np.triu(np.ones(a.shape, bool), 1) if lower else np.tril(np.ones(a.shape, bool), -1)] = np.nan
    singular = a.copy()
    singular[:, 4, 4] = 0
    found = []
    for large in (1, 1 << 30):
        monkeypatch.setattr(factorisations, "LARGE", large)
        with np.errstate(all="ignore"):
            found.append([factorisations.triangular_solve(m, b, *flags[:3], True, unit) for m in (a, singular)])
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype and one.flags.c_contiguous
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert np.isfinite(found[0][0]).all() and np.isfinite(found[0][1]).all() == unit


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_factors_of_large_matrices_with_and_without_scipy(monkeypatch, dtype):
    """Within two units of the last place of the greatest element; NaN for those alone that have no factor."""
    pytest.importorskip("scipy")
    x = draw(dtype, 3, 40, 40)
    a = (x @ x.swapaxes(-1, -2) + 40 * np.eye(40)).astype(dtype)
    a[:, :, 3] = a[:, 3]
    broken, unknown = a.copy(), a.copy()
    broken[1, 5, 5] = -1
    unknown[2, 7, 0] = np.nan
    found = []
    for large in (1, 1 << 30):
        monkeypatch.setattr(factorisations, "LARGE", large)
        found.append([factorisations.cholesky(m) for m in (a, broken, unknown, a[:0])])
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape and one.flags.c_contiguous
        assert np.array_equal(np.isnan(one), np.isnan(other)) and not np.triu(one, 1)[:1].any()
        np.testing.assert_allclose(one, other, rtol=0, atol=2 * np.spacing(np.abs(found[0][0]).max()))
    assert np.isnan(found[0][1][1]).any() and not np.isnan(found[0][1][[0, 2]]).any()


# --- the greatest elements -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "float16", "int64"])
@pytest.mark.parametrize("k", [1, 7, 40])
def test_top_k_of_long_rows_is_that_of_a_sorted_row(dtype: str, k: int) -> None:
    rng = np.random.default_rng(k)
    rows = [np.round(rng.normal(size=size), 2) for size in (100_003, 60_000)]
    rows += [np.zeros(50_000), np.arange(50_001), -np.arange(60_000.0)]
    if np.dtype(dtype).kind == "f":
        signed, gaps, crowd = np.zeros(60_000), rows[1].copy(), rows[1].copy()
        signed[::3], gaps[[5, 40_000]], crowd[:30_000] = -0.0, [np.nan, np.inf], 1e4
        rows += [signed, gaps, crowd, np.full(50_000, -np.inf)]
    for row in rows:
        with np.errstate(all="ignore"), enable_x64(True):
            x = row.astype(dtype)
            found, positions = jit(lambda x: lax.top_k(x, k), backend="numpy")(x)
        keys = x.view(f"i{x.itemsize}").tolist() if x.dtype.kind == "f" else x.tolist()
        least = -(2 ** (8 * x.itemsize - 1))
        order = [least - key - 1 if x.dtype.kind == "f" and key < 0 else key for key in keys]
        expected = sorted(range(len(x)), key=lambda place: (-order[place], place))[:k]
        assert np.asarray(positions).tolist() == expected
        np.testing.assert_array_equal(np.asarray(found), x[expected])


# --- Convolutions of vectors, which are read where they are ---


def draws_of(*shape, dtype="float32"):
    return (3 * np.random.default_rng(sum(shape)).normal(size=shape)).astype(dtype)


@pytest.mark.parametrize("sizes", [(40, 7), (7, 40), (60, 21), (9, 9)])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32", "uint8", "float16"])
def test_convolutions_of_vectors_in_programs(dtype, name, mode, sizes):
    x, y = [abs(draws_of(size)).astype(dtype) for size in sizes]
    function = getattr(tnp, name)
    with tangrad.enable_x64(True):
        run = tangrad.jit(lambda x, y: function(x, y, mode=mode), backend="numpy")
        found = run(x, y)
        digits = 2e-2 if dtype == "float16" else 1e-5
        wide = [one.astype(np.result_type(dtype, "float32")) for one in (x, y)]
        expected = getattr(np, name)(*wide, mode)
        assert found.dtype == run.lower(x, y).out_info.dtype
        if mode != "same" or sizes[0] >= sizes[1]:  # else NumPy's middle is one further on
            np.testing.assert_allclose(found, expected, rtol=digits, atol=digits * np.abs(expected).max())


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_gradients_of_convolutions_read_vectors_where_they_are(dtype, mode):
    x, y = draws_of(3_000, dtype=dtype), draws_of(51, dtype=dtype)
    with tangrad.enable_x64(True):
        count = len(np.convolve(x, y, mode))
        weights = np.linspace(-1, 1, count).astype(dtype)
        gradient = tangrad.jit(
            tangrad.grad(lambda x, y: tnp.sum(tnp.convolve(x, y, mode=mode) * weights).real, (0, 1)), backend="numpy"
        )
        of_x, of_y = gradient(x, y)
        text = gradient.lower(x, y).compile().as_text()
    # The gradient is the transposed matrix of the convolution, whose columns are convolutions of unit vectors.
    by_x = np.array([np.convolve(one, y, mode) for one in np.eye(3_000, dtype=dtype)[:60]]) @ weights
    by_y = np.array([np.convolve(x, one, mode) for one in np.eye(51, dtype=dtype)]) @ weights
    np.testing.assert_allclose(of_x[:60], by_x, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(of_y, by_y, rtol=1e-4, atol=1e-4 * np.abs(by_y).max())
    assert "convolve" in text and "add_stretches" in text and "= stretches" not in text


def test_stretches_that_are_no_convolution():
    x, y = draws_of(40), draws_of(12, 5)
    rows = np.arange(12)[:, None] + np.arange(5) + 3
    for places in (rows, rows[::-1].copy(), 2 * rows, rows - 4, rows % 9):
        run = tangrad.jit(lambda x, y, places=places: (x[places] * y, x.at[places].add(y), x[places] @ y[0]))
        for found, expected in zip(run(x, y), (x[places] * y, _added(x, places, y), x[places] @ y[0])):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def _added(x, places, y):
    out = x.astype("float64")
    np.add.at(out, places, y)
    return out


def test_sums_of_outer_products_at_stretches():
    x, column, row = draws_of(40), draws_of(12), draws_of(5)
    places = np.arange(12)[:, None] + np.arange(5) + 3
    run = tangrad.jit(lambda x, column, row: x.at[places].add(column[:, None] * row), backend="numpy")
    np.testing.assert_allclose(run(x, column, row), _added(x, places, np.outer(column, row)), rtol=1e-5, atol=1e-5)
    assert "add_stretches" in run.lower(x, column, row).compile().as_text()
