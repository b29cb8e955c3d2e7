"""The kernel against NumPy, under transformations, on both backends, and by the conformance kit."""

import numpy as onp
import pytest
from tangrad_rmsnorm.primitive import rms_norm_p
from tangrad_rmsnorm.samples import samples

import tangrad
import tangrad.numpy as np
from tangrad import nn
from tangrad.conformance import check


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def on(request):
    with tangrad.use_backend(request.param):
        yield request.param


def expected(x, eps=1e-6):
    return x / onp.sqrt((x.astype("float64") ** 2).mean(-1, keepdims=True) + eps)


X = onp.random.default_rng(0).normal(size=(3, 5)).astype("float32")


def test_values():
    onp.testing.assert_allclose(nn.rms_norm(X), expected(X), rtol=1e-5)
    onp.testing.assert_allclose(tangrad.jit(nn.rms_norm)(X[0]), expected(X[0]), rtol=1e-5)
    assert nn.rms_norm(np.ones((2, 0))).shape == (2, 0)
    assert nn.rms_norm(np.asarray(X, "bfloat16")).dtype == "bfloat16"
    with tangrad.enable_x64(True):
        onp.testing.assert_allclose(nn.rms_norm(X.astype("float64")), expected(X.astype("float64")), rtol=1e-12)


def test_transformations():
    onp.testing.assert_allclose(tangrad.vmap(nn.rms_norm, in_axes=1)(X), expected(X.T), rtol=1e-5)
    plain = lambda x: (x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6))[:, 0].sum()
    kernel = lambda x: nn.rms_norm(x)[:, 0].sum()
    onp.testing.assert_allclose(tangrad.jit(tangrad.grad(kernel))(X), tangrad.grad(plain)(X), rtol=1e-3, atol=1e-5)
    onp.testing.assert_allclose(
        tangrad.hessian(kernel)(X[:1, :3]), tangrad.hessian(plain)(X[:1, :3]), rtol=1e-3, atol=1e-4
    )


def test_the_kernel_is_what_runs(on):
    if on == "xla":
        assert "tangrad_rmsnorm.float32" in tangrad.jit(nn.rms_norm).lower(X).as_text()


@pytest.mark.parametrize("bad", [onp.float32(1), onp.int32([1])])
def test_refusals(bad):
    with pytest.raises(TypeError, match="rms_norm expects float32 or float64 with at least one dimension, got"):
        nn.rms_norm(bad)


def test_conformance():
    report = check(rms_norm_p, samples())
    assert report.cells and not report.failures, report.text()
