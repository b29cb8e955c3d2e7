"""Running totals by the kernel: their values, their roundings, and what is made of them."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tests.kernels.exercise import draw

FLOATS, INTEGERS = ("float32", "float64"), ("int32", "int64", "uint32", "uint64")
# The shape, and the axis.
PLACES = [
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
@pytest.mark.parametrize(("shape", "axis"), PLACES)
def test_integers_wrap_as_before(backend, with_and_without, shape, axis, dtype):
    each = [total(axis, shape[0] % 2 == 0, function) for function in (lax.cumsum, lax.cummax, lax.cummin)]
    for ours, before in zip(*with_and_without(lambda x: [run(x) for run in each], draw(shape, dtype)), strict=True):
        assert ours.dtype == before.dtype and numpy.array_equal(ours, before)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "axis"), PLACES)
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
def test_under_transformations(backend, with_and_without, dtype):
    x = draw((20, 30, 11), "int32").astype(dtype) % 7
    for function in (
        tangrad.vmap(total(0), in_axes=1, out_axes=2),
        tangrad.vmap(tangrad.vmap(total(0))),
        lambda x: lax.scan(lambda carry, row: (carry + total(1)(row), total(0)(row)), np.zeros_like(x[0]), x),
        lambda x: total(2)(x.T),
        lambda x: total(0)(x[::2, 1:, ::-1]),
    ):
        tangrad.tree.map(numpy.testing.assert_array_equal, *with_and_without(function, x))


def test_derivatives(backend, with_and_without):
    x = numpy.random.default_rng(2).normal(size=(50, 100))
    loss = lambda x: np.sum(np.sin(total(0)(x)) * total(1, True)(x))
    for function in (tangrad.grad(loss), lambda x: tangrad.jvp(tangrad.grad(loss), (x,), (np.cos(x),))[1]):
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
