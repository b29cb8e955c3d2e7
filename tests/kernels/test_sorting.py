"""Sorting and the greatest elements by the kernels: what they give is what was given before, to the bit but in NaN."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad.core import dtypes
from tests.kernels.exercise import NAMES, draw

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
    for function in (tangrad.grad(loss), lambda x: tangrad.jvp(tangrad.grad(loss), (x,), (np.cos(x),))[1]):
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
