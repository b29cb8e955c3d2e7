"""Against direct sums; derivatives against those of direct sums; both backends; the conformance kit."""

import numpy as onp
import pytest
from tangrad_finufft.primitives import TABLE
from tangrad_finufft.samples import samples

import tangrad
import tangrad.numpy as np
from tangrad.conformance import check
from tangrad.numpy.fft import nufft1, nufft2, nufft3

DIMS = (1, 2, 3)


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def on(request):
    with tangrad.use_backend(request.param):
        yield request.param


def draw(*shape, seed=0):
    return onp.random.default_rng(seed).uniform(-3, 3, shape).astype("float32")


def complex_draw(*shape, seed=1):
    return (draw(*shape, seed=seed) + 1j * draw(*shape, seed=seed + 100)).astype("complex64")


def grid(modes):
    return np.stack([k.ravel() for k in np.meshgrid(*[np.arange(n) - n // 2 for n in modes], indexing="ij")])


def direct(points, frequencies, sign):
    phases = sum(k[:, None] * x[None] for k, x in zip(frequencies, points, strict=True))
    return np.exp(1j * sign * phases)


@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("sign", [1, -1])
def test_values(dims, sign):
    modes = (6, 5, 4)[:dims]
    x, s = tuple(draw(dims, 9)), tuple(2 * draw(dims, 7, seed=5))
    c, f = complex_draw(2, 9), complex_draw(2, *modes)
    e = direct(x, grid(modes), sign)
    onp.testing.assert_allclose(nufft1(x, c, modes, sign=sign), (c @ e.T).reshape(2, *modes), rtol=1e-3, atol=1e-3)
    onp.testing.assert_allclose(nufft2(x, f, sign=sign), f.reshape(2, -1) @ e, rtol=1e-3, atol=2e-3)
    got = tangrad.jit(lambda x, c, s: nufft3(x, c, s, sign=sign))(x, c, s)
    onp.testing.assert_allclose(got, c @ direct(x, s, sign).T, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dims", DIMS)
def test_gradients(dims):
    modes = (6, 5, 4)[:dims]
    x, s, c, f = draw(dims, 9), draw(dims, 7, seed=5), complex_draw(9), complex_draw(*modes)
    weights = draw(9, seed=7)
    pairs = [
        (lambda x, c: nufft1(tuple(x), c, modes).ravel(), lambda x, c: direct(x, grid(modes), 1) @ c, (x, c)),
        (lambda x, f: nufft2(tuple(x), f), lambda x, f: f.ravel() @ direct(x, grid(modes), 1), (x, f)),
        (lambda x, c, s: nufft3(tuple(x), c, tuple(s)), lambda x, c, s: direct(x, s, 1) @ c, (x, c, s)),
    ]

    def total(function):
        return lambda *args: (abs(function(*args)) ** 2 * np.resize(weights, function(*args).shape)).sum() * 1e-2

    for ours, sums, args in pairs:
        every = tuple(range(len(args)))
        got, expected = tangrad.jit(tangrad.grad(total(ours), every))(*args), tangrad.grad(total(sums), every)(*args)
        for one, other in zip(got, expected, strict=True):
            scale = float(abs(other).max())
            onp.testing.assert_allclose(one / scale, other / scale, atol=2e-3)


def test_batches_are_one_call_or_one_for_each(on):
    x, c = tuple(draw(1, 9)), complex_draw(3, 9)
    expected = nufft1(x, c, (6,))
    onp.testing.assert_allclose(tangrad.vmap(lambda c: nufft1(x, c, (6,)))(c), expected, rtol=1e-4, atol=1e-4)
    many = np.stack([x[0], x[0] + 1, x[0] * 2])
    each = np.stack([nufft1((one,), row, (6,)) for one, row in zip(many, c, strict=True)])
    mapped = tangrad.jit(tangrad.vmap(lambda x, c: nufft1((x,), c, (6,))))(many, c)
    onp.testing.assert_allclose(mapped, each, rtol=1e-4, atol=1e-4)


def test_points_out_of_range_and_not_finite():
    c = complex_draw(2)
    onp.testing.assert_allclose(
        nufft1((draw(2) + onp.float32(8 * onp.pi),), c, (4,)), nufft1((draw(2),), c, (4,)), rtol=1e-3, atol=1e-3
    )
    assert onp.isnan(nufft1((onp.float32([0, onp.nan]),), c, (4,))).all()
    assert onp.isnan(tangrad.jit(lambda x, f: nufft2((x,), f))(onp.float32([onp.inf]), c)).all()
    assert not onp.asarray(nufft1((draw(0),), c[:0], (4,))).any()
    assert onp.isnan(nufft3((draw(2) * onp.float32(1e30),) * 2, c, (draw(3) * onp.float32(1e30),) * 2)).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nufft1((draw(3),), draw(3), (4,)), TypeError, r"expects complex numbers as strengths.* got f32\[3\]"),
        (lambda: nufft1((draw(2),), complex_draw(3), (4,)), ValueError, r"2 points do not go with c64\[3\] in 1 dim"),
        (lambda: nufft1((draw(3),), complex_draw(3), (4, 4)), ValueError, r"modes \(4, 4\) do not say sizes"),
        (lambda: nufft1(draw(3), complex_draw(3), (4,)), TypeError, r"points is a tuple of one, two or three arrays"),
        (lambda: nufft1((draw(3),), complex_draw(3), 4), TypeError, r"modes is a tuple of sizes.* got 4"),
        (lambda: nufft1((draw(3),), complex_draw(3), (4.5,)), TypeError, r"float.* integer"),
        (lambda: nufft2((draw(3), draw(4)), complex_draw(2, 2)), ValueError, r"different shapes, \[\(3,\), \(4,\)\]"),
        (lambda: nufft2((), complex_draw(2)), TypeError, r"points is a tuple of one, two or three arrays"),
        (lambda: nufft2((draw(3),), complex_draw(2), sign=2), ValueError, r"sign is 1 or -1, got 2"),
        (lambda: nufft2((draw(3),), complex_draw(2), eps=0), ValueError, r"eps is a relative error between 0 and 1"),
        (lambda: nufft2((draw(3),), complex_draw(2), eps="x"), ValueError, r"eps is a relative error.* got 'x'"),
        (lambda: nufft3((draw(3),), complex_draw(3), None), TypeError, r"frequencies is a tuple.* got None"),
        (lambda: nufft3((draw(3),), complex_draw(3), (draw(2),) * 2), ValueError, r"1 coordinates of points and 2 of"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert nufft1((draw(3),), complex_draw(3), (4,)).shape == (4,)


def test_conformance(on):
    if on == "numpy":  # the kit goes through the backends itself
        for primitive in (TABLE[1, 1], TABLE[2, 1], TABLE[3, 1]):  # all of them: tangrad conformance --distribution ...
            report = check(primitive, [one for one in samples() if one.primitive is primitive])
            assert report.cells and not report.failures, report.text()
