"""Fourier transforms: values in both precisions and any number of dimensions; what a transform is transposed to."""

import re
import sys

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax
from tangrad import use_backend as backend_setting
from tangrad._backend_numpy.lower import fft as numpy_fft
from tests.primitives.support import BACKENDS, agree_everywhere, check_batching, check_derivative, draw

# Name -> NumPy's function, which before NumPy 2 gives double precision, and the dtypes of operand and result.
KINDS = {
    "FFT": (np.fft.fftn, "complex64", "complex64"),
    "IFFT": (np.fft.ifftn, "complex64", "complex64"),
    "RFFT": (np.fft.rfftn, "float32", "complex64"),
    "IRFFT": (np.fft.irfftn, "complex64", "float32"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [(7,), (64,), (2, 3, 2, 2), (2, 3, 2, 1, 2, 3, 2)], ids=str)
def test_values(kind, lengths):
    """More than three dimensions too, which XLA transforms in turn."""
    reference, taken, given = KINDS[kind]
    x = draw(taken, 2, *lax.FftType.from_any(kind).sizes(lengths)[0])
    expected = reference(x, lengths, tuple(range(-len(lengths), 0))).astype(given)
    agree_everywhere(lambda x: lax.fft(x, kind, lengths), expected, x, tolerance=1e-4)


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("shape", [(2, 9, 16), (1, 8, 2), (3, 5, 7)], ids=str)
def test_large_transforms_by_scipy(monkeypatch, shape, installed):
    """The same in the same precision, with NaN where it was, and by NumPy where there is no SciPy."""
    pytest.importorskip("scipy")
    monkeypatch.setattr(numpy_fft, "LARGE", 0)
    if not installed:
        monkeypatch.setitem(sys.modules, "scipy.fft", None)
    numpy_fft._scipy.cache_clear()
    tangrad.clear_caches()
    with backend_setting("numpy"):
        real, complex_ = draw("float32", *shape), draw("complex64", *shape)
        spoilt = np.where(np.arange(shape[-1]) == 1, np.float32(np.nan), real)
        for name in ("fft", "ifft", "irfft", "rfft", "fft2", "irfft2", "rfft2", "fftn", "irfftn", "rfftn"):
            for x in (real, spoilt) if name.startswith("r") else (complex_,):
                found = np.asarray(getattr(tnp.fft, name)(x))
                with np.errstate(all="ignore"):
                    expected = getattr(np.fft, name)(x)
                assert found.dtype == ("float32" if name.startswith("ir") else "complex64")
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-5)
    numpy_fft._scipy.cache_clear()
    tangrad.clear_caches()


def test_transforms_by_scipy_run_in_as_many_threads_as_are_asked_for(monkeypatch):
    scipy_fft = pytest.importorskip("scipy.fft")
    monkeypatch.setattr(numpy_fft, "LARGE", 0)
    asked, own = [], scipy_fft.fft
    monkeypatch.setattr(scipy_fft, "fft", lambda x, **options: (asked.append(options["workers"]), own(x, **options))[1])
    numpy_fft._scipy.cache_clear()
    tangrad.clear_caches()
    x = draw("complex64", 4, 16)
    with backend_setting("numpy"):
        for count in (1, 3):
            with numpy_fft.threads.numpy_threads(count):
                np.testing.assert_allclose(np.asarray(tnp.fft.fft(x)), np.fft.fft(x), rtol=1e-5, atol=2e-5)
    assert asked == [1, 3]
    numpy_fft._scipy.cache_clear()
    tangrad.clear_caches()


@pytest.mark.parametrize("backend", BACKENDS)
def test_double_precision(backend):
    with enable_x64(True), backend_setting(backend):
        x = draw("float64", 3, 101)
        half = tnp.fft.rfft(x)
        assert half.dtype == np.complex128 and tnp.fft.fft(x).dtype == np.complex128
        np.testing.assert_allclose(half, np.fft.rfft(x), rtol=1e-12, atol=1e-12)
        back = tnp.fft.irfft(half, 101)
        assert back.dtype == np.float64
        np.testing.assert_allclose(back, x, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("length", [1, 2, 5, 6])
def test_derivatives_through_halves(length):
    """Of real functions; the second half of the spectrum counts where it is not written down."""
    x = draw("float64", 3, length)
    check_derivative(lambda x: tnp.abs(tnp.fft.rfft(tnp.sin(x)) + 3) ** 2, x)
    check_derivative(lambda x: tnp.abs(tnp.fft.rfft2(tnp.sin(x)) + 3) ** 2, x)
    check_derivative(lambda x: tnp.sin(tnp.fft.irfft(x * (1 + 2j) + 1j, 2 * length - 1)), x)
    check_derivative(lambda x: tnp.sin(tnp.fft.irfft2(x * x * 1j, (3, max(2 * length - 2, 1)))), x)


def test_mapped_axes():
    x = draw("float32", 2, 4, 3)
    check_batching(lambda x: tnp.fft.rfft2(x, axes=(0, 1)), x)
    check_batching(lambda x: tnp.fft.fft(x, axis=0), x)


def test_a_transform_is_its_own_transpose():
    """And that of the half spectrum of ones: the cotangent of each element is the sum over what it goes into."""
    z = draw("complex64", 5)
    (back,) = tangrad.linear_transpose(lambda z: lax.fft(z, "FFT", (5,)), z)(z)
    np.testing.assert_allclose(back, np.fft.fft(z), rtol=1e-5, atol=1e-5)
    ones = np.ones(3, np.complex64)
    (back,) = tangrad.linear_transpose(lambda x: lax.fft(x, "RFFT", (4,)), np.ones(4, np.float32))(ones)
    np.testing.assert_allclose(back, np.exp(-0.5j * np.pi * np.outer(range(4), range(3))).sum(1).real, atol=1e-6)


@pytest.mark.parametrize("shape", [(6,), (3, 7), (4, 2, 5), (2, 1, 3, 4, 2)], ids=str)
def test_a_half_spectrum_goes_back_as_one(shape):
    """No transform of complex numbers and zeros, of which a half is dropped: the real one costs half, as forwards."""
    z = draw("complex64", *lax.FftType.from_any("IRFFT").sizes(shape)[0])
    back = tangrad.linear_transpose(lambda x: lax.fft(x, "RFFT", shape), np.ones(shape, np.float32))
    padded = np.pad(z, [(0, size - here) for size, here in zip(shape, z.shape)])
    np.testing.assert_allclose(back(z)[0], np.fft.fftn(padded).real, rtol=1e-4, atol=1e-4)
    assert re.findall(r"FftType\.(\w+)", str(tangrad.make_jaxpr(back)(z))) == ["IRFFT"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_empty_arrays(backend):
    with backend_setting(backend):
        assert tnp.fft.rfft(np.ones((0, 4), np.float32)).shape == (0, 3)
        assert tnp.fft.fft2(np.ones((3, 0, 4), np.float32)).shape == (3, 0, 4)
        np.testing.assert_array_equal(tnp.fft.fft(np.ones((2, 0), np.float32), 3), np.zeros((2, 3)))
        for kind, last in (("RFFT", 4), ("IRFFT", 3)):  # no points along another dimension
            x = np.zeros((2, 0, last), KINDS[kind][1])
            gradient = tangrad.grad(lambda x, kind=kind: tnp.abs(lax.fft(x, kind, (0, 4))).sum())(x)
            assert gradient.shape == x.shape


# --- how wide the results are ----------------------------------------------------------------------------------------

WIDTHS = {"complex64": "bool int8 int16 int32 uint8 uint32 float32", "complex128": "int64 uint64 float64"}


@pytest.mark.parametrize("name", ["fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft", "rfft2", "rfftn", "ihfft"])
def test_64_bits_are_made_of_64_bits_only(name):
    with tangrad.enable_x64():
        for expected, given in WIDTHS.items():
            for dtype in given.split():
                x = tangrad.ShapeDtypeStruct((2, 4), dtype)
                found = tangrad.eval_shape(getattr(tangrad.numpy.fft, name), x).dtype
                assert found.name == expected, dtype
                if not name.startswith(("i", "r")):
                    inverse = getattr(tangrad.numpy.fft, "ir" + name)
                    assert tangrad.eval_shape(inverse, x).dtype.itemsize * 2 == found.itemsize
