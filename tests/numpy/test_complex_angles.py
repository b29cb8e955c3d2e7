"""The angle whose tangent is a quotient of complex numbers."""

import numpy
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend

Y = numpy.array([1 + 1j, -1 + 0.7j, 0.3 - 2j, 2 + 0j, -0.2 + 0.1j])
X = numpy.array([2 - 1j, 0.5 + 1j, 1 + 0.1j, -1 + 0j, -3 - 1j])


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_angles_of_complex_coordinates(dtype, backend):
    if backend == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    y, x = Y.astype(dtype), X.astype(dtype)
    tolerance = 1e-5 if dtype == "complex64" else 1e-12
    with use_backend(backend), enable_x64(True):
        for run in (tnp.arctan2, tangrad.jit(tnp.arctan2), tangrad.vmap(tnp.atan2)):
            angle = numpy.asarray(run(y, x))
            assert angle.dtype == dtype
            numpy.testing.assert_allclose(numpy.tan(angle), Y / X, rtol=tolerance, atol=tolerance)
        reals = numpy.asarray(tnp.arctan2(Y.real.astype(dtype), X.real.astype(dtype)))
        numpy.testing.assert_allclose(reals, numpy.arctan2(Y.real, X.real), rtol=tolerance, atol=tolerance)
        mixed = numpy.asarray(tnp.arctan2(y, 2.0))
        numpy.testing.assert_allclose(mixed, numpy.arctan(Y / 2), rtol=tolerance, atol=tolerance)
        slope = tangrad.vmap(tangrad.grad(tnp.arctan2, (0, 1), holomorphic=True))(y, x)
        numpy.testing.assert_allclose(slope[0], X / (X * X + Y * Y), rtol=10 * tolerance)
        numpy.testing.assert_allclose(slope[1], -Y / (X * X + Y * Y), rtol=10 * tolerance)
