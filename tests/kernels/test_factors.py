"""Decompositions by the kernel, beside LAPACK's."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.extend.lax import lu_p

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
