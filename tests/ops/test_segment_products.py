"""Derivatives of products of segments, and of what multiplies arrays in places that repeat; zeros among the factors."""

import numpy
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend
from tangrad.ops import segment_prod

SEGMENTS = numpy.array([0, 2, 0, 5, 2, 2, -1, 0])  # 5 and -1 are none
FACTORS = {
    "no zero": [1.0, 2, 3, 4, 5, 6, 7, 8],
    "one zero": [0.0, 2, 3, 4, 1, 6, 7, 8],
    "two zeros": [1.0, 0, 3, 4, 0, 2, 7, 8],
    "all zeros": [0.0, 2, 0, 4, 5, 0, 7, 0],
}
ORDERS = {
    "gradient": tangrad.grad,
    "forward": tangrad.jacfwd,
    "hessian": tangrad.hessian,
    "reverse over reverse": lambda f: tangrad.jacrev(tangrad.grad(f)),
    "third": lambda f: tangrad.jacfwd(tangrad.hessian(f)),
}


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(request.param), enable_x64(True):
        yield request.param


def same(found, expected):
    for x, y in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected), strict=True):
        numpy.testing.assert_allclose(x, y, atol=1e-9)


def product_by_hand(factors, segment):
    product = 1.0
    for place in numpy.flatnonzero(segment == SEGMENTS):
        product = product * factors[place]
    return product


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("factors", FACTORS)
def test_products_of_segments(factors, order, backend):
    def by_segments(x):
        products = segment_prod(x, SEGMENTS, 4)
        return (products**2).sum() + products[0]

    def by_hand(x):
        return sum([product_by_hand(x, k) ** 2 for k in range(4)]) + product_by_hand(x, 0)

    x, derivative = numpy.array(FACTORS[factors]), ORDERS[order]
    same(tangrad.jit(derivative(by_segments))(x), tangrad.jit(derivative(by_hand))(x))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_rows_that_are_multiplied_more_than_once(dtype, backend):
    rows = numpy.array([0, 0, 2, -3])
    x = numpy.array([[1, 2], [3, 4], [0, 5]], dtype)
    factors = numpy.array([[2, 0], [0, 3], [1, 1], [4, 4]], dtype)

    def by_scatter(x, factors):
        return tnp.real(tnp.asarray(x).at[rows].multiply(factors) ** 2).sum()

    def by_hand(x, factors):
        first = x[0] * factors[0] * factors[1] * factors[3]
        return sum([tnp.real(row**2).sum() for row in (first, x[1], x[2] * factors[2])])

    same(tangrad.grad(by_scatter, (0, 1))(x, factors), tangrad.grad(by_hand, (0, 1))(x, factors))
    if dtype == "float64":
        same(tangrad.hessian(by_scatter, (0, 1))(x, factors), tangrad.hessian(by_hand, (0, 1))(x, factors))


def test_mapped_and_in_buckets(backend):
    x = numpy.array([FACTORS["one zero"], FACTORS["two zeros"]])
    for options in ({}, {"bucket_size": 3}, {"mode": "clip"}):
        slope = tangrad.grad(lambda x, options=options: segment_prod(x, abs(SEGMENTS), 6, **options).sum())
        same(tangrad.vmap(slope)(x), numpy.stack([slope(row) for row in x]))
    halves = numpy.asarray(
        tangrad.grad(lambda x: segment_prod(x, numpy.array([0, 0, 9]), 1, mode="clip")[0])(x[0, 1:4])
    )
    numpy.testing.assert_allclose(halves, [12.0, 8.0, 6.0])
