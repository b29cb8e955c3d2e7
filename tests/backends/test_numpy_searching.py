"""Places of many values among sorted keys, and counts, on NumPy: what buckets give is what a search gives."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad._backend_numpy import searching
from tangrad._backend_numpy.lower import indexing

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
    monkeypatch.setattr(searching, "MANY", 0)
    monkeypatch.setattr(searching, "BLOCK", 256)


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
            assert (searching.places(keys, given, side) == keys.searchsorted(given, side)).all()


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
        assert (searching.places(keys, values, side) == keys.searchsorted(values, side)).all()


def test_keys_out_of_order_do_no_harm(small_blocks):
    keys = np.random.default_rng(0).normal(size=100)
    values = np.linspace(-9, 9, 1000)
    for given in (keys, keys[::-1], np.append(np.nan, keys)):
        found = searching.places(given, values, "left")
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
