"""Convolutions and pooling on NumPy: patches, the way round, parts, layouts of memory."""

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad import use_backend as backend_setting
from tangrad.backends.numpy.windows import convolution, pooling
from tangrad.backends.numpy.windows.convolution import Convolution
from tangrad.backends.numpy.windows.fractional import FractionalConvolution

LAYOUTS = {"last": ("NHWC", "HWIO", "NHWC"), "first": ("NCHW", "OIHW", "NCHW")}


@pytest.fixture(autouse=True)
def on_numpy():
    with backend_setting("numpy"):
        yield


def images(layout, batch=4, features=3, size=8, out=5, window=3):
    """Images and a kernel in a layout."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch, size, size, features)).astype(np.float32)
    w = rng.normal(size=(window, window, features, out)).astype(np.float32)
    if layout == "first":
        x, w = x.transpose(0, 3, 1, 2).copy(), w.transpose(3, 2, 0, 1).copy()
    return x, w


def convolve(layout, strides=(1, 1), padding="SAME", lhs_dilation=None):
    return lambda x, w: lax.conv_general_dilated(
        x, w, strides, padding, lhs_dilation, dimension_numbers=LAYOUTS[layout]
    )


def total(values):
    return lax.reduce_sum(values, tuple(range(values.ndim)))


@pytest.mark.parametrize("features", [1, 16])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
def test_the_gradient_of_the_kernel_uses_the_same_patches(layout, strides, features):
    x, w = images(layout, features=features)

    def loss(w, x):
        out = convolve(layout, strides)(x, w)
        return total(lax.mul(out, out))

    text = tangrad.jit(tangrad.value_and_grad(loss)).lower(w, x).compile().as_text()
    assert text.count("patches") == 1


def test_kernels_of_one_place_need_no_patches():
    for layout in LAYOUTS:
        x, w = images(layout, window=1)
        text = tangrad.jit(convolve(layout)).lower(x, w).compile().as_text()
        assert "patches" not in text
        features = 3 if layout == "last" else 1
        expected = np.tensordot(x, w.reshape(3, 5) if layout == "last" else w.reshape(5, 3).T, ((features,), (0,)))
        found = convolve(layout)(x, w)
        found = found if layout == "last" else lax.transpose(found, (0, 2, 3, 1))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_batches_in_parts(monkeypatch, layout):
    x, w = images(layout, batch=7)

    def both(x, w):
        out, pull = tangrad.vjp(convolve(layout, (2, 1)), x, w)
        return out, pull(lax.sin(out))

    expected = both(x, w)
    monkeypatch.setattr(convolution, "MOST_PATCHES", 3 * 8 * 4 * 27 * 4)
    tangrad.clear_caches()
    found = tangrad.jit(both)(x, w)
    assert "patches" not in tangrad.jit(both).lower(x, w).compile().as_text()
    for ours, theirs in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)
    tangrad.clear_caches()


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("features", [2, 24])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_ways_round_agree(layout, features, dilation):
    x, w = images(layout, features=8, out=features)
    params = {
        "window_strides": (1, 1),
        "padding": ((2, 1), (-1, 2)),
        "lhs_dilation": (dilation, 1),
        "rhs_dilation": (1, 2),
        "dimension_numbers": lax.conv_dimension_numbers(x.shape, w.shape, LAYOUTS[layout]),
        "feature_group_count": 1,
        "batch_group_count": 1,
    }
    found = convolve_with(Convolution, x, w, params)
    np.testing.assert_allclose(found, convolve_with(FractionalConvolution, x, w, params), rtol=1e-4, atol=1e-4)


class OnArrays(convolution.Arrays):
    """What a lowering context does with values, done with arrays."""

    @staticmethod
    def call(function, *arrays, **_):
        return getattr(function, "make", function)(*arrays)

    @staticmethod
    def full(shape, value, dtype):
        return np.full(shape, value, dtype)


def convolve_with(kind, x, w, params):
    out = lax.conv_general_dilated(x, w, *[params[name] for name in list(params)[:5]]).shape
    return kind(x.shape, w.shape, out, x.dtype, **params).emit(OnArrays, x, w)


def test_operands_in_any_order_of_memory():
    x, w = images("last")

    def program(x, w):
        turned = lax.transpose(x, (0, 2, 1, 3)), lax.rev(w, (0, 1))
        out = convolve("last")(*turned)
        return lax.reduce_window(out, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def gradients(x, w):
        return tangrad.grad(lambda x, w: total(lax.sin(program(x, w))), (0, 1))(x, w)

    for function in (program, gradients):
        eager, jitted = function(x, w), tangrad.jit(function)(x, w)
        for ours, theirs in zip(tangrad.tree.leaves(jitted), tangrad.tree.leaves(eager)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("window", [pooling.MANY, pooling.MANY + 1, 31, 64])
@pytest.mark.parametrize("dilation", [1, 2])
def test_long_windows(window, dilation):
    """Partial results are shared between windows."""
    x = np.random.default_rng(0).normal(size=(3, 200)).astype(np.float32)
    places = np.arange(200 - (window - 1) * dilation)[:, None] + np.arange(window) * dilation
    for operation, init, expected in (
        (lax.add, 0.0, x[:, places].sum(-1)),
        (lax.max, -np.inf, x[:, places].max(-1)),
        (lax.mul, 1.0, x[:, places].astype(np.float64).prod(-1)),
    ):
        found = lax.reduce_window(x, init, operation, (1, window), window_dilation=(1, dilation))
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_pooling_does_not_write_over_its_operand():
    x = np.ones((2, 4), np.float32)
    for window, strides in (((1, 1), (1, 1)), ((1, 1), (1, 2)), ((1, 2), (1, 2))):
        pool = tangrad.jit(
            lambda x, w=window, s=strides: lax.mul(lax.reduce_window(x, 0.0, lax.add, w, s), np.float32(3))
        )
        pool(x)
        assert (x == 1).all()
