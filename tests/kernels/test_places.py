"""Rows at places, and counts of places, on NumPy by kernels."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tests.kernels.exercise import draw


@pytest.fixture
def on_numpy(kernels, with_and_without):
    """With and without the kernels, on NumPy, with 64 bits."""

    def run(function, *arguments):
        flat, tree = tangrad.tree.flatten(arguments)
        ours, before = with_and_without(lambda *flat: function(*tangrad.tree.unflatten(tree, flat)), *flat)
        for found, expected in zip(tangrad.tree.leaves(ours), tangrad.tree.leaves(before), strict=True):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            wide = "float64" if found.dtype == "bfloat16" else found.dtype
            numpy.testing.assert_array_equal(found.astype(wide), expected.astype(wide))

    with tangrad.use_backend("numpy"), tangrad.enable_x64(True):
        yield run


def places(size, dtype, outside=0, count=5000):
    low = 0 if dtype == "uint32" else -size - outside
    return numpy.random.default_rng(0).integers(low, size + outside, count).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bool", "complex64", "bfloat16"])
def test_rows(on_numpy, dtype):
    tables = [np.asarray(draw(shape, "float32")) for shape in ((900,), (70, 5), (31, 2, 3))]
    tables = [np.nan_to_num(table, posinf=9, neginf=-9).astype(dtype) for table in tables]

    def rows(table, at):
        taken = [np.take(table, at, 0, mode=mode) for mode in (None, "clip", "fill", "wrap")]
        return *taken, table[at.reshape(50, 100)], table.at[at].get(mode="fill", fill_value=3)

    lists = [[places(len(table), index, outside=7) for index in ("int32", "int64", "uint32")] for table in tables]
    on_numpy(
        lambda tables, lists: [[rows(table, at) for at in ats] for table, ats in zip(tables, lists)], tables, lists
    )


def test_programs_read_places_as_they_are(kernels):
    with kernels(), tangrad.use_backend("numpy"):
        text = tangrad.jit(lambda x, at: x[at]).lower(numpy.ones(9000), places(9000, "int32")).compile().as_text()
        assert "less" not in text
        few = tangrad.jit(lambda x, at: x[at]).lower(numpy.ones(9000), places(9000, "int32", count=9)).compile()
        assert "less" in few.as_text()


def test_places_that_something_else_needs(on_numpy):
    def function(x, at):
        wrapped = np.where(at < 0, at + 900, at)
        almost = np.where(at < 1, at + 900, at)
        return x[at], x[wrapped], wrapped, x.at[almost].get(mode="clip"), x[np.where(at < 0, at + 899, at)]

    on_numpy(function, numpy.arange(900.0), places(900, "int32"))


@pytest.mark.parametrize("size", [1, 3, 1000, 4500])
def test_counts(on_numpy, size):
    xs = [numpy.arange(size).astype(dtype) for dtype in ("int32", "int8", "float32", "float64")]
    add = lambda x, at: (x.at[at].add(1), x.at[at].add(3, mode="drop"), x.at[at].add(2, mode="clip"))
    ats = [places(size, index, outside=5) for index in ("int32", "int64", "uint32")]
    counts = lambda xs, ats: [(np.bincount(at, length=size), [add(x, at) for x in xs]) for at in ats]
    on_numpy(counts, xs, ats)


def test_many_places(on_numpy):
    at = places(1000, "int32", outside=100, count=1_500_001)
    on_numpy(lambda x, at: (np.bincount(at, length=1000), x[at], x.at[at].add(1)), numpy.arange(1000), at)


def test_gradients_and_batches(on_numpy):
    at = places(60, "int32")
    loss = lambda x, at: np.sum(x[at] ** 2)
    on_numpy(
        lambda x, at: (tangrad.grad(loss)(x, at), tangrad.vmap(lambda x: x[at])(x.T)),
        numpy.arange(180.0).reshape(60, 3),
        at,
    )
    on_numpy(lambda x, at: tangrad.vmap(lambda at: x[at])(at.reshape(10, 500)), numpy.arange(180.0).reshape(60, 3), at)
