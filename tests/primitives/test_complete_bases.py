"""Derivatives of orthogonal factors with columns that complete the basis, of matrices with more rows than columns."""

import numpy
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax, use_backend

STEP = 1e-6


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(request.param), enable_x64(True):
        yield request.param


def draw(shape, dtype, seed):
    rng = numpy.random.default_rng(seed)
    return rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype == "complex128" else 0)


def complete(x):
    return tuple(tnp.linalg.qr(x, mode="complete"))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(5, 2), (4, 3), (3, 1), (2, 4, 2)], ids=str)
def test_tangents_are_finite_differences(shape, dtype, backend):
    x, tangent = draw(shape, dtype, 0), draw(shape, dtype, 1)
    found = tangrad.jvp(tangrad.jit(complete), (x,), (tangent,))[1]
    ahead, behind = complete(x + STEP * tangent), complete(x - STEP * tangent)
    for slope, high, low in zip(found, ahead, behind, strict=True):
        numpy.testing.assert_allclose(slope, (high - low) / (2 * STEP), atol=1e-7)


def test_gradients_and_what_they_change_by(backend):
    x, direction = draw((4, 2), "float64", 0), draw((4, 2), "float64", 1)
    loss = lambda x: sum([(numpy.arange(3.0, 3.0 + part.shape[1]) * part**2 * part).sum() for part in complete(x)])
    slope = tangrad.grad(loss)
    difference = (loss(x + STEP * direction) - loss(x - STEP * direction)) / (2 * STEP)
    numpy.testing.assert_allclose((slope(x) * direction).sum(), difference, rtol=1e-6)
    change = (slope(x + STEP * direction) - slope(x - STEP * direction)) / (2 * STEP)
    numpy.testing.assert_allclose(tangrad.jvp(slope, (x,), (direction,))[1], change, rtol=1e-5, atol=1e-6)


def test_with_an_order_of_columns(backend):
    x, tangent = draw((4, 2), "float64", 0), draw((4, 2), "float64", 1)
    factors = lambda x: lax.linalg.qr(x, pivoting=True, full_matrices=True)[:2]
    found = tangrad.jvp(factors, (x,), (tangent,))[1]
    for slope, high, low in zip(found, factors(x + STEP * tangent), factors(x - STEP * tangent), strict=True):
        numpy.testing.assert_allclose(slope, (high - low) / (2 * STEP), atol=1e-7)
