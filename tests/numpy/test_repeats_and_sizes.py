"""Results of a fixed size, updates of elements that an index names twice, keys made like keys, odd ends and axes."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import use_backend

BACKENDS = ["numpy", "xla"]


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib")
    with use_backend(request.param):
        yield request.param


def both(function, *args):
    """The result of a function, which it has under jit too."""
    found = function(*args)
    jitted = tangrad.jit(function)(*args)
    for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(jitted), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    return found


# --- sets of complex numbers, with NaN in either part ----------------------------------------------------------------


def test_sets_of_complex_numbers_with_nan(backend):
    parts = np.array([0, 1, 2, 3, np.nan], "float32")
    x = (parts[:, None] + 1j * parts).astype("complex64").reshape(-1)  # 16 numbers, 9 with NaN
    x = np.random.default_rng(0).permutation(x)
    y = x[:20]

    def check(found, expected):
        assert np.isnan(found).tolist() == np.isnan(expected).tolist()  # the latter are the last ones
        np.testing.assert_array_equal(found[~np.isnan(expected)], expected[~np.isnan(expected)])

    values, first, inverse, counts = map(
        np.asarray, tnp.unique(x, return_index=True, return_inverse=True, return_counts=True)
    )
    expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    check(values, expected[0])
    assert first[-1] == np.isnan(x).argmax()  # NumPy has another one's
    for one, other in ((first[:-1], expected[1][:-1]), (inverse, expected[2]), (counts, expected[3])):
        np.testing.assert_array_equal(one, other)
    assert len(tnp.unique_counts(x).values) == len(x)
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        expected = getattr(np, name)(x, y)
        check(np.asarray(getattr(tnp, name)(x, y)), expected)
        sized = tangrad.jit(lambda x, y, size, name=name: getattr(tnp, name)(x, y, size=size), static_argnums=2)
        check(np.asarray(sized(x, y, len(expected))), expected)
    for method in ("auto", "sort", "compare_all"):
        np.testing.assert_array_equal(both(lambda x, y, m=method: tnp.isin(x, y, method=m), x, y), np.isin(x, y))


# --- sizes below the true one --------------------------------------------------------------------------------------

CUT_OFF = [
    ([3, 1, 2, 2], 2, [1, 2], [1, 2], [2, 0, 1, 1], [1, 2]),
    ([3, 1, 2, 2], 1, [1], [1], [2, 0, 1, 1], [1]),
    ([3, 1, 2, 2], 0, [], [], [2, 0, 1, 1], []),
    ([5, 5, 5], 1, [5], [0], [0, 0, 0], [3]),
    ([3, 1, 2, 2], 5, [1, 2, 3, 1, 1], [1, 2, 0, 1, 1], [2, 0, 1, 1], [1, 2, 1, 0, 0]),
]


@pytest.mark.parametrize(("given", "size", "values", "first", "inverse", "counts"), CUT_OFF)
def test_unique_of_fewer_than_there_are(backend, given, size, values, first, inverse, counts):
    found = both(lambda x: tnp.unique(x, True, True, True, size=size), tnp.asarray(given))
    assert [part.tolist() for part in found] == [values, first, inverse, counts]
    x = tnp.asarray(given)
    assert tnp.unique_all(x, size=size).counts.tolist() == counts
    assert tnp.unique_counts(x, size=size).counts.tolist() == counts
    assert tnp.unique_inverse(x, size=size).inverse_indices.tolist() == inverse


def test_unique_rows_of_fewer_than_there_are(backend):
    rows = tnp.asarray([[3, 1], [2, 2], [3, 1], [4, 0], [4, 0]])
    values, inverse, counts = both(
        lambda x: tnp.unique(x, return_inverse=True, return_counts=True, axis=0, size=2), rows
    )
    assert values.tolist() == [[2, 2], [3, 1]]
    assert inverse.tolist() == [1, 0, 1, 2, 2] and counts.tolist() == [1, 2]


def test_unique_with_nan_of_fewer_than_there_are(backend):
    x = tnp.asarray([1.0, np.nan, 2.0, np.nan, 1.0, 0.0])
    _, inverse, counts = tnp.unique(x, return_inverse=True, return_counts=True, size=3)
    assert inverse.tolist() == [1, 3, 2, 3, 1, 0] and counts.tolist() == [1, 2, 1]
    assert tnp.unique_counts(x, size=4).counts.tolist() == [1, 2, 1, 1]


@pytest.mark.parametrize("size", [None, 2, 3, 5])
def test_difference_of_what_is_unique_keeps_the_order(backend, size):
    x, y = tnp.asarray([5, 3, 1, 4]), tnp.asarray([3])
    expected = [5, 1, 4] if size is None else ([5, 1, 4] + [9, 9])[:size]
    assert tnp.setdiff1d(x, y, assume_unique=True, size=size, fill_value=9).tolist() == expected
    if size is not None:
        found = tangrad.jit(lambda x, y: tnp.setdiff1d(x, y, True, size=size, fill_value=9))(x, y)
        assert found.tolist() == expected


@pytest.mark.parametrize(("fill", "dtype"), [(2.5, "float32"), (np.inf, "float32"), (1j, "complex64"), (7, "int32")])
def test_fillings_of_another_kind_widen(backend, fill, dtype):
    x, y = tnp.asarray([0, 3, 0, 1]), tnp.asarray([3, 1, 9])
    expected = {
        "nonzero": (lambda x, y: tnp.nonzero(x, size=3, fill_value=fill)[0], [1, 3, fill]),
        "where": (lambda x, y: tnp.where(x, size=3, fill_value=fill)[0], [1, 3, fill]),
        "flatnonzero": (lambda x, y: tnp.flatnonzero(x, size=3, fill_value=fill), [1, 3, fill]),
        "argwhere": (lambda x, y: tnp.argwhere(x, size=3, fill_value=fill)[:, 0], [1, 3, fill]),
        "intersect1d": (lambda x, y: tnp.intersect1d(x, y, size=3, fill_value=fill), [1, 3, fill]),
        "setxor1d": (lambda x, y: tnp.setxor1d(x, y, size=3, fill_value=fill), [0, 9, fill]),
    }
    for name, (function, wanted) in expected.items():
        found = both(function, x, y)
        assert (str(found.dtype), found.tolist()) == (dtype, wanted), name


@pytest.mark.parametrize("assume_unique", [False, True])
def test_nothing_common_is_filled_with_zeros(backend, assume_unique):
    x, y = tnp.asarray([1, 2, 3]), tnp.asarray([4, 5])
    assert both(lambda x, y: tnp.intersect1d(x, y, assume_unique, size=2), x, y).tolist() == [0, 0]
    values, first, second = both(lambda x, y: tnp.intersect1d(x, y, assume_unique, True, size=2), x, y)
    assert (values.tolist(), first.tolist(), second.tolist()) == ([0, 0], [3, 3], [2, 2])
    assert tnp.intersect1d(x, tnp.asarray([2, 5]), assume_unique, size=2).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([np.nan, 1.0, np.nan], [2.0], [1.0, 2.0, np.nan]),
        ([1.0, 3.0], [np.nan, 1.0, np.nan, np.nan], [3.0, np.nan]),
        ([np.nan, 1.0, np.nan], [np.nan, np.nan, 1.0], [np.nan, np.nan]),
        ([], [np.nan, np.nan], [np.nan]),
    ],
)
def test_nan_in_either_array_counts_once(backend, first, second, expected):
    np.testing.assert_array_equal(np.setxor1d(first, second), expected)
    x, y = tnp.asarray(first), tnp.asarray(second)
    np.testing.assert_array_equal(tnp.setxor1d(x, y), expected)
    for size in (2, 5):
        found = both(lambda x, y, size=size: tnp.setxor1d(x, y, size=size, fill_value=9), x, y)
        np.testing.assert_array_equal(found, [*expected, *[9.0] * 5][:size])


def test_repeats_of_nothing(backend):
    x = tnp.zeros((2, 0))
    assert both(lambda x: tnp.repeat(x, 2, axis=1, total_repeat_length=3), x).shape == (2, 0)
    assert tnp.repeat(x, tnp.zeros(0, int), axis=1, total_repeat_length=0).shape == (2, 0)
    assert tnp.repeat(x, 2, total_repeat_length=3).shape == (0,)
    with pytest.raises(ValueError, match=r"repeats of shape \(3,\) does not fit axis 1"):
        tnp.repeat(x, np.ones(3, int), axis=1, total_repeat_length=3)


# --- once for each time ----------------------------------------------------------------------------------------------


def test_apply_is_done_once_for_each_time_that_an_element_is_named(backend):
    x = tnp.arange(4.0)
    assert both(lambda x: x.at[np.array([1, 1, 3])].apply(lambda v: v + 1), x).tolist() == [0, 3, 2, 4]
    assert both(lambda x: x.at[np.array([1, -3, 3, 9])].apply(lambda v: v * 2), x).tolist() == [0, 4, 2, 6]
    assert both(lambda x: x.at[[1, 7, 7],].apply(lambda v: v + 1, mode="clip"), x).tolist() == [0, 2, 2, 5]
    assert both(lambda x: x.at[np.array([4, 0])].apply(lambda v: v + 1, mode="wrap"), x).tolist() == [2, 1, 2, 3]
    assert both(lambda x: x.at[np.array([True, False, True, True])].apply(tnp.negative), x).tolist() == [0, 1, -2, -3]
    assert x.at[1:3].apply(lambda v: v + 1).tolist() == [0, 2, 3, 3]
    twice = np.array([1, 1])
    assert x.at[twice].apply(lambda v: v + 1, unique_indices=True).tolist() == [0, 2, 2, 3]  # a promise not kept


def test_apply_to_rows_columns_and_single_elements(backend):
    m, twice = tnp.arange(6.0).reshape(2, 3), np.array([1, 1])
    assert both(lambda m: m.at[twice].apply(lambda v: v + 1), m).tolist() == [[0, 1, 2], [5, 6, 7]]
    assert both(lambda m: m.at[:, twice].apply(lambda v: v + 1), m).tolist() == [[0, 3, 2], [3, 6, 5]]
    assert both(lambda m: m.at[..., None, twice].apply(lambda v: v + 1), m).tolist() == [[0, 3, 2], [3, 6, 5]]
    pairs = np.array([[0, 0], [1, 0]]), np.array([[2, 2], [0, 1]])
    assert both(lambda m: m.at[pairs].apply(lambda v: v + 1), m).tolist() == [[0, 2, 4], [4, 4, 5]]


@pytest.mark.parametrize("count", [3, 40])
def test_apply_at_places_that_are_not_known(backend, count):
    places = tnp.asarray([1, 3] + [1] * (count - 2))
    found = tangrad.jit(lambda x, i: x.at[i].apply(lambda v: v + 1))(tnp.arange(4.0), places)
    assert found.tolist() == [0, count, 2, 4]
    assert tnp.arange(4.0).at[np.asarray(places)].apply(lambda v: v + 1).tolist() == found.tolist()
    rows = tangrad.vmap(lambda x, i: x.at[i].apply(lambda v: v + 1))(tnp.zeros((2, 4)), tnp.asarray([[1, 1], [0, 3]]))
    assert rows.tolist() == [[0, 2, 0, 0], [1, 0, 0, 1]]


def test_derivative_of_what_is_applied_twice(backend):
    x = tnp.arange(1.0, 4.0)
    cube = [1.0, 4 * 2.0**3, 1.0]  # d (x²)² / dx
    known = tangrad.grad(lambda x: x.at[np.array([1, 1])].apply(tnp.square).sum())(x)
    unknown = tangrad.jit(tangrad.grad(lambda x, i: x.at[i].apply(tnp.square).sum()))(x, tnp.asarray([1, 1]))
    np.testing.assert_allclose(known, cube, rtol=1e-6)
    np.testing.assert_allclose(unknown, cube, rtol=1e-6)


# --- ends, axes and keys -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "stop"), [(0, 4), (4, 0), (0, 0), (-1, 4), (0, -4)])
def test_no_geometric_sequence_holds_zero(backend, start, stop):
    assert np.isnan(np.asarray(tnp.geomspace(start, stop, 3))).all()


def test_geometric_sequences_have_their_ends():
    assert tnp.geomspace(-2, -16, 4)[-1] == -16 and tnp.geomspace(3, 7, 5)[0] == 3
    mixed = np.asarray(tnp.geomspace(np.array([1.0, 0.0]), np.array([4.0, 8.0]), 3))
    np.testing.assert_allclose(mixed[:, 0], [1, 2, 4], rtol=1e-6)
    assert np.isnan(mixed[:, 1]).all()


@pytest.mark.parametrize("name", ["nanmedian", "nanquantile", "nanpercentile"])
def test_in_the_middle_of_nothing_is_nan(backend, name):
    function, shares = getattr(tnp, name), () if "median" in name else (0.5,)
    assert np.isnan(np.asarray(function(tnp.zeros((0, 3)), *shares, axis=0))).tolist() == [True] * 3
    assert np.isnan(np.asarray(function(tnp.zeros(0, int), *shares)))
    assert function(tnp.zeros((2, 0), "float16"), *shares, axis=1, keepdims=True).aval.str_short() == "f16[2,1]"
    assert function(tnp.zeros((3, 0)), *shares, axis=0).shape == (0,)
    if shares:
        assert function(tnp.zeros((0, 3)), np.array([0.25, 0.5]), axis=0).shape == (2, 3)


@pytest.mark.parametrize("made", [tangrad.random.key, tangrad.jit(tangrad.random.key)])
def test_arrays_like_random_keys(backend, made):
    key = made(1)
    words = [(tnp.zeros_like, 0), (tnp.ones_like, 1), (tnp.empty_like, 0), (lambda k: tnp.full_like(k, 7), 7)]
    words += [(lambda k: tangrad.lax.full_like(k, 7), 7), (tangrad.lax.zeros_like_array, 0)]
    words += [(lambda k: tnp.full((), 7, k.dtype), 7), (lambda k: tangrad.lax.full((), 7, k.dtype), 7)]
    words += [(lambda k: tnp.zeros((), k.dtype), 0), (lambda k: tnp.ones((), k.dtype), 1)]
    for function, word in words:
        found = both(lambda k, f=function: tangrad.random.key_data(f(k)), key)
        assert found.tolist() == [word, word]
        assert function(key).dtype == key.dtype
    assert tnp.full_like(key, key) == key
    keys = tangrad.random.split(key, 3)
    assert tnp.zeros_like(keys).shape == (3,) and tnp.ones_like(keys, shape=(2, 2)).shape == (2, 2)
    with pytest.raises(TypeError, match="integers"):
        tnp.full_like(key, 1.5)


def test_a_state_with_keys_is_mapped_over():
    state = {"key": tangrad.random.key(3), "weights": tnp.ones(2)}
    found = tangrad.tree.map(tnp.zeros_like, state)
    assert found["key"].dtype == state["key"].dtype and found["weights"].tolist() == [0, 0]
    rbg = tangrad.random.key(0, impl="rbg")
    assert tangrad.random.key_data(tnp.ones_like(rbg)).tolist() == [1] * 4


# --- what is taken for what ----------------------------------------------------------------------------------------


def test_keys_of_a_sort_in_an_array_of_numpy(backend):
    keys = np.array([[1, 2, 0], [3, 1, 1]])
    assert tnp.lexsort(keys).tolist() == np.lexsort(keys).tolist() == tnp.lexsort(tnp.asarray(keys)).tolist()
    solid = np.arange(12).reshape(2, 2, 3) % 5
    assert tnp.lexsort(solid, axis=0).tolist() == np.lexsort(solid, axis=0).tolist()
    assert tnp.lexsort(np.array([3, 1, 1])).tolist() == 0


@pytest.mark.parametrize("given", [np.ones(2, "float32"), np.ones(2), [1.0, 1.0], (1, 1)])
def test_an_array_is_made_without_a_copy_where_that_can_be(given):
    found = tnp.array(given, copy=False)
    assert found.tolist() == [1, 1]
    assert tnp.array(found, copy=False) is found
    assert tnp.array(found, "int8", copy=False).dtype == "int8"


@pytest.mark.parametrize(("data", "whole"), [(1.5, 1), (np.float32(2.7), 2), (0.0, 0), (True, 1)])
def test_floats_are_folded_into_keys_without_their_fraction(backend, data, whole):
    key = tangrad.random.key(0)
    expected = tangrad.random.key_data(tangrad.random.fold_in(key, whole)).tolist()
    assert both(lambda d: tangrad.random.key_data(tangrad.random.fold_in(key, d)), data).tolist() == expected
    with pytest.raises(OverflowError):
        tangrad.random.fold_in(key, -1.5)
    with pytest.raises(TypeError):
        tangrad.random.fold_in(key, 1j)


def test_types_in_words_short_and_long():
    aval = tnp.ones((2, 3)).aval
    assert aval.str_short() == aval.str_short(short_dtypes=True) == "f32[2,3]"
    assert aval.str_short(short_dtypes=False) == "float32[2,3]"
    assert tangrad.random.key(0).aval.str_short(short_dtypes=True) == "key<fry>[]"


@pytest.mark.parametrize("name", ["intersect1d", "setxor1d", "setdiff1d", "union1d"])
def test_what_fills_up_keeps_the_type(name):
    x = tnp.asarray([True, True])
    assert getattr(tnp, name)(x, ~x, size=3).dtype == bool
