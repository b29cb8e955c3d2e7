"""Sums of many numbers keep their digits: running ones, reductions of any axes and layout, products of matrices."""

import itertools
import math

import numpy
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax, ops, use_backend
from tangrad._backend_numpy import totals
from tangrad._backend_numpy.running import FEW, PIECE, SHORT, running_totals

COUNT = 200_000
BACKENDS = ("numpy", "xla")
# Beside the last digit of the dtype: some dozens of roundings, where one after another would leave thousands.
FLOATS = {"float32": 1e-5, "float64": 1e-13, "complex64": 1e-5, "bfloat16": 2e-2}


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(request.param), enable_x64(True):
        yield request.param


def close(found, expected, dtype):
    found, expected = numpy.asarray(found, "complex128"), numpy.asarray(expected, "complex128")
    numpy.testing.assert_allclose(found, expected, rtol=FLOATS[dtype])


def tenths(dtype, shape=(COUNT,)):
    """Many 0.1, as numbers in memory, and how much that is in the dtype."""
    x = tnp.asarray(numpy.ascontiguousarray(numpy.broadcast_to(numpy.asarray(tnp.asarray(0.1, dtype)), shape)))
    return x, complex(x.ravel()[0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_running_sums(dtype, backend):
    x, tenth = tenths(dtype)
    expected = tenth * (numpy.arange(COUNT) + 1)
    for run in (lax.cumsum, tnp.cumsum, tnp.nancumsum, tnp.cumulative_sum, tnp.add.accumulate):
        close(run(x), expected, dtype)
    close(lax.cumsum(x, reverse=True), expected[::-1], dtype)
    close(tangrad.vjp(tnp.cumsum, x)[1](x)[0], expected[::-1], dtype)
    columns = tangrad.jit(lambda x: lax.cumsum(x, axis=0))(tenths(dtype, (COUNT // 2, 2))[0])
    close(columns, numpy.stack([expected[: COUNT // 2]] * 2, 1), dtype)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_reductions_of_narrow_floats_are_rounded_once(dtype, axis, backend):
    rng = numpy.random.default_rng(0)
    terms = tnp.asarray(rng.uniform(0, 1 if dtype.endswith("16") else 0.02, (1001, 999)), dtype)
    factors = tnp.asarray(1 + rng.choice([-0.125, 0.125], (1001, 999)) * (rng.random((1001, 999)) < 0.03), dtype)
    for name, x in (("sum", terms), ("prod", factors)):
        exact = getattr(numpy, name)(numpy.asarray(x).astype("float64"), axis)
        digits = 2.0 ** (numpy.floor(numpy.log2(exact)) - tnp.finfo(dtype).nmant)
        for reduce in (getattr(lax, f"reduce_{name}"), tangrad.jit(getattr(lax, f"reduce_{name}"), static_argnums=1)):
            found = numpy.asarray(reduce(x, (axis,))).astype("float64")
            normal = exact >= float(tnp.finfo(dtype).smallest_normal)
            assert (abs(found - exact) <= digits * 0.51)[normal].all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_log_sums(dtype, backend):
    x = tnp.zeros(COUNT, dtype)
    expected = numpy.log(numpy.arange(COUNT) + 1.0)
    close(lax.cumlogsumexp(x)[1:], expected[1:], dtype)
    close(tnp.logaddexp.accumulate(x)[1:], expected[1:], dtype)
    close(tnp.logaddexp.reduce(x), expected[-1], dtype)
    close(tnp.logaddexp2.accumulate(x)[1:], expected[1:] / math.log(2), dtype)
    close(tnp.logaddexp2.reduce(x), expected[-1] / math.log(2), dtype)


@pytest.mark.parametrize("spread", [1.0, 1e3, math.inf])
def test_log_sums_of_numbers_far_apart(spread):
    """Exponentials of some are out of range, of others infinite or 0."""
    rng = numpy.random.default_rng(0)
    x = rng.normal(size=(2, 40_000, 2)) * min(spread, 1e3)
    if spread == math.inf:
        x[0, :5], x[1, 30_000], x[0, 7_000, 0], x[1, 39_000, 1] = -math.inf, -math.inf, math.inf, math.nan
    with numpy.errstate(all="ignore"):
        expected = numpy.logaddexp.accumulate(x, 1)
    for array, near in ((x, 1e-12), (x.astype("float32"), 1e-6)):
        with use_backend("numpy"), enable_x64(True):
            found = numpy.asarray(lax.cumlogsumexp(array, axis=1))
        assert found.dtype == array.dtype
        numpy.testing.assert_allclose(found, expected, rtol=near, atol=near)


def test_log_sums_by_methods(backend):
    x = numpy.random.default_rng(0).normal(size=(3, 4, 5))
    mask = x > 0
    for ours, theirs in ((tnp.logaddexp, numpy.logaddexp), (tnp.logaddexp2, numpy.logaddexp2)):
        close(ours.accumulate(x, 1), theirs.accumulate(x, 1), "float64")
        for axis in (0, -1, (0, 2), None):
            options = {"axis": axis, "keepdims": True}
            close(ours.reduce(x, **options), theirs.reduce(x, **options), "float64")
            close(ours.reduce(x, axis, initial=2.0), theirs.reduce(x, axis, initial=2.0), "float64")
            close(
                ours.reduce(x, axis, where=mask, initial=-9.0),
                theirs.reduce(x, axis, where=mask, initial=-9.0),
                "float64",
            )
        assert float(ours.reduce(numpy.zeros(0))) == -math.inf
        assert ours.accumulate(numpy.arange(3)).dtype == ours.reduce(numpy.arange(3)).dtype == "float64"


@pytest.mark.parametrize("dtype", FLOATS)
def test_reductions(dtype, backend):
    x, tenth = tenths(dtype, (COUNT // 2, 2))
    close(tnp.sum(x, 0), [tenth * COUNT / 2] * 2, dtype)
    close(tnp.mean(x, 0), [tenth] * 2, dtype)
    close(tnp.sum(x.T, 1), [tenth * COUNT / 2] * 2, dtype)
    close(tangrad.jit(lambda x: (x + x).sum(0))(x), [tenth * COUNT] * 2, dtype)
    close(tnp.sum(x[:, :1]), tenth * COUNT / 2, dtype)
    close(tnp.sum(tnp.full((COUNT, 3), x[0, 0]), 0), [tenth * COUNT] * 3, dtype)
    if dtype in ("float32", "float64"):
        assert tnp.var(x, 0).max() < FLOATS[dtype] ** 2
        products = numpy.asarray(tnp.einsum("ij,ij->j", x, x), "float64")
        numpy.testing.assert_allclose(products, tenth.real**2 * COUNT / 2, rtol=1e-4)  # BLAS has few partial sums


SIZES = (1, SHORT, SHORT + 1, FEW - 5, FEW + 1, PIECE // 4, PIECE // 4 + 1, PIECE // 2 + SHORT + 7)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", SIZES)
def test_pieces_of_running_totals(size, dtype):
    rng = numpy.random.default_rng(size)
    for shape, axis in (((size,), 0), ((size, 3), 0), ((3, size), 1), ((2, size, 2), 1)):
        x = (rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0)).astype(dtype)
        expected = numpy.cumsum(x.astype("clongdouble"), axis)
        for array in (x, numpy.ascontiguousarray(x.T).T):
            found = running_totals(numpy.add, array, axis, array.dtype)
            assert found.dtype == dtype
            tolerance = 1e-3 if dtype in ("float32", "complex64") else 1e-11
            numpy.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
            turned = running_totals(numpy.add, numpy.flip(array, axis), axis, array.dtype)
            numpy.testing.assert_allclose(
                turned, numpy.cumsum(numpy.flip(x, axis).astype("clongdouble"), axis), rtol=0, atol=tolerance
            )


SHAPES = [(700,), (600, 3), (3, 600), (20, 30, 40), (1000, 2, 3), (5, 600, 1, 4), (1, 700, 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_in_parts(shape):
    base = numpy.random.default_rng(0).normal(size=shape)
    subsets = [axes for size in range(len(shape)) for axes in itertools.combinations(range(len(shape)), size + 1)]
    for order in itertools.permutations(range(len(shape))):
        stored = numpy.ascontiguousarray(base.transpose(order)).transpose(numpy.argsort(order))
        for axes, x in itertools.product(subsets, (stored, stored[::-1], numpy.broadcast_to(stored[:1], shape))):
            found, expected = totals.sum_in_parts(x, axes, x.dtype), numpy.sum(x, axes)
            assert numpy.shape(found) == expected.shape
            numpy.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("dtype", [*FLOATS, "float16"])
def test_long_runs_of_updates(dtype):
    """Of the NumPy backend: XLA adds one update after another."""
    with use_backend("numpy"), enable_x64(True):
        count = 30_000
        x, tenth = tenths(dtype, (count,))
        expected, near = tenth * count, {"float16": 1e-3, "float64": 1e-11}.get(dtype) or FLOATS[dtype]
        check = lambda found, expected: numpy.testing.assert_allclose(
            numpy.asarray(found, "complex128"), expected, rtol=near
        )
        zeros = tnp.zeros(count, "int32")
        for size in (2, 40 * count):  # widened whole, and only where updates meet
            check(ops.segment_sum(x, zeros, size)[0], expected)
            check(tnp.zeros(size, dtype).at[zeros].subtract(x)[0], -expected)
        check(tnp.bincount(zeros, x, length=2)[0], expected)
        check(tnp.zeros((2, 3), dtype).at[zeros, zeros + 1].add(x)[0, 1], expected)
        check(tnp.zeros((2, 3), dtype).at[:, zeros].add(x)[:, 0], [expected] * 2)
        check(tangrad.vjp(lambda y: y[zeros], x[:2])[1](x)[0], [expected, 0])
        for period in (2, 16):  # runs among places that are met once, in a sequence that repeats itself
            places = numpy.where(numpy.arange(8 * count) % period, numpy.arange(8 * count), 0)
            found = tnp.zeros(8 * count + 1, dtype).at[places].add(x[0])
            check(found[0], tenth * (8 * count // period))
            check(found[1], tenth)
        untouched = tnp.array([0.0, -0.0, numpy.nan, 1.0], dtype).at[zeros].add(x, mode="drop")
        assert numpy.signbit(numpy.asarray(untouched[1], "complex128").real)
        assert numpy.isnan(untouched[2])
