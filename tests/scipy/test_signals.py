"""`scipy.signal`, `fft`, `ndimage`, `interpolate`, `cluster` and `integrate`, against SciPy."""

import importlib

import numpy as np
import pytest

import tangrad
from tangrad import enable_x64, use_backend
from tests.primitives import reference

scipy = pytest.importorskip("scipy")

WAVE = reference.normal(40, "float64")
WAVES = reference.normal((3, 40), "float64", 1)
SHORT = reference.normal(5, "float64", 2)
PLANE = reference.normal((6, 7), "float64", 3)
KERNEL = reference.normal((3, 4), "float64", 4)
COMPLEX = WAVE + 1j * WAVES[0]
PLACES = reference.normal((2, 20), "float64", 5) * 6
GRID = (np.array([0.0, 1.0, 2.5]), np.array([-1.0, 0.0, 2.0, 3.0]))
ON_GRID = reference.normal((3, 4, 2), "float64", 6)


class Api:
    """The modules of one of the two packages, by the names that the cases use."""

    def __init__(self, package):
        for name in ("signal", "fft", "ndimage", "interpolate", "cluster.vq", "integrate"):
            setattr(self, name.replace(".", "_"), importlib.import_module(f"{package}.{name}"))


OURS, THEIRS = Api("tangrad.scipy"), Api("scipy")

# Functions of (the modules, an array), and the array.
DIFFERENTIABLE = {
    **{
        f"{name}, {mode}": (lambda api, x, name=name, mode=mode: getattr(api.signal, name)(x, SHORT, mode), WAVE)
        for name in ("convolve", "correlate", "fftconvolve")
        for mode in ("full", "same", "valid")
    },
    "convolve, the longer one last": (lambda api, x: api.signal.convolve(x, WAVE, "valid"), SHORT),
    "convolve, even": (lambda api, x: api.signal.convolve(x, WAVE[:4], "same"), WAVE),
    "convolve through fft": (lambda api, x: api.signal.convolve(x, SHORT, method="fft"), WAVE),
    "convolve, two dimensions": (lambda api, x: api.signal.convolve(x, KERNEL, "same"), PLANE),
    "correlate, two dimensions": (lambda api, x: api.signal.correlate(x, KERNEL, "same"), PLANE),
    **{
        f"{name}, {mode}, {boundary}": (
            lambda api, x, name=name, mode=mode, boundary=boundary: getattr(api.signal, name)(
                x, KERNEL, mode, boundary, 1.5 if boundary == "fill" else 0
            ),
            PLANE,
        )
        for name in ("convolve2d", "correlate2d")
        for mode in ("full", "same", "valid")
        for boundary in ("fill", "wrap", "symm")
    },
    "fftconvolve along an axis": (lambda api, x: api.signal.fftconvolve(x, WAVES[:1, :4], axes=1), WAVES),
    "detrend": (lambda api, x: api.signal.detrend(x, bp=[7, 20]), WAVES),
    "detrend, short parts": (lambda api, x: api.signal.detrend(x, bp=[1, 3, 6]), WAVES),
    "detrend, constant": (lambda api, x: api.signal.detrend(x, 0, "constant"), WAVES),
    "welch": (lambda api, x: api.signal.welch(x, 2.0, nperseg=16)[1], WAVES),
    "welch, median": (
        lambda api, x: api.signal.welch(x, window=("tukey", 0.3), nperseg=7, average="median")[1],
        WAVES,
    ),
    "welch, an axis, longer transforms": (lambda api, x: api.signal.welch(x, nperseg=9, nfft=12, axis=0)[1], WAVES.T),
    "welch, weights": (lambda api, x: api.signal.welch(x, window=SHORT, detrend=False, scaling="spectrum")[1], WAVES),
    **{
        f"dct, type {kind}, {norm}": (
            lambda api, x, kind=kind, norm=norm: api.fft.dct(x, kind, norm=norm) + api.fft.idct(x, kind, norm=norm),
            WAVES,
        )
        for kind in (1, 2, 3, 4)
        for norm in (None, "ortho", "forward")
    },
    "dct, other sizes": (lambda api, x: api.fft.dct(x, 2, 50, 0) @ api.fft.idct(x, 3, 50, 0).T, WAVES),
    "dctn": (lambda api, x: api.fft.dctn(x, 2, (4, 9)) + api.fft.idctn(x, 2, (4, 9), norm="ortho"), PLANE),
    "dctn, an axis": (lambda api, x: api.fft.dctn(x, axes=(0,)), PLANE),
    "trapezoid": (lambda api, x: api.integrate.trapezoid(x, WAVE[:7] * 2), PLANE),
    **{
        f"map_coordinates, {mode}": (
            lambda api, x, mode=mode: api.ndimage.map_coordinates(x, PLACES, order=1, mode=mode, cval=0.7),
            PLANE,
        )
        for mode in ("nearest", "wrap", "reflect", "mirror", "constant")
        if mode not in ("constant", "wrap")  # SciPy means something else by these: see below
    },
    "linear interpolation": (
        lambda api, x: api.interpolate.RegularGridInterpolator(GRID, x, bounds_error=False)(
            np.array([[0.3, 0.1], [2.5, 3.0], [9.0, 0.0]])
        )[:2],
        ON_GRID,
    ),
    "linear interpolation, beyond": (
        lambda api, x: api.interpolate.RegularGridInterpolator(GRID, x, bounds_error=False, fill_value=None)(
            np.array([[[0.3, 0.1]], [[9.0, -5.0]]])
        ),
        ON_GRID,
    ),
    "nearest of the grid": (
        lambda api, x: api.interpolate.RegularGridInterpolator((GRID[0][::-1], GRID[1]), x, "nearest", False, 1.0)(
            (np.array([0.3, 2.4, -7.0]), 0.4)
        ),
        ON_GRID,
    ),
    "distances": (lambda api, x: api.cluster_vq.vq(x, PLANE[:3])[1], PLANE),
}
PLAIN = {
    "convolve, complex": lambda api: api.signal.convolve(COMPLEX, 1j * SHORT, "same"),
    "correlate, complex": lambda api: api.signal.correlate(COMPLEX, COMPLEX[:6], "full"),
    "fftconvolve, complex": lambda api: api.signal.fftconvolve(COMPLEX, SHORT, "valid"),
    "stft": lambda api: api.signal.stft(WAVES, 3.0, nperseg=8),
    "stft, odd": lambda api: api.signal.stft(WAVE, nperseg=9, noverlap=7, window="hamming", padded=False),
    "stft, complex, an axis": lambda api: api.signal.stft(
        COMPLEX[:, None], nperseg=6, axis=0, boundary=None, return_onesided=False
    ),
    **{
        f"stft, {boundary}": lambda api, boundary=boundary: api.signal.stft(WAVE, nperseg=8, boundary=boundary)
        for boundary in ("odd", "even", "constant")
    },
    "csd": lambda api: api.signal.csd(WAVES, WAVES[::-1, :33], nperseg=10, window=("kaiser", 4.0)),
    "csd, complex": lambda api: api.signal.csd(
        COMPLEX, WAVE, nperseg=10, average="median", detrend="linear", return_onesided=False
    ),
    "istft": lambda api: api.signal.istft(api.signal.stft(WAVES, nperseg=8)[2], 2.0, nperseg=8)[1],
    "istft, axes": lambda api: api.signal.istft(
        np.moveaxis(np.asarray(api.signal.stft(WAVES, nperseg=7, noverlap=5)[2]), -1, 0),
        time_axis=0,
        noverlap=5,
        nperseg=7,
        freq_axis=2,
    ),
    "istft, complex": lambda api: api.signal.istft(
        api.signal.stft(COMPLEX, nperseg=8, return_onesided=False)[2], input_onesided=False
    ),
    **{
        f"window {window}, {size}": lambda api, window=window, size=size: api.signal.welch(
            WAVE, window=window, nperseg=size
        )[1]
        for size in (11, 12)
        for window in (
            *("boxcar", "hann", "hamming", "blackman", "nuttall", "blackmanharris", "flattop", "bartlett", "triang"),
            *("cosine", ("kaiser", 5.0), ("gaussian", 2.0), ("tukey", 0.4)),
        )
    },
    "nearest elements": lambda api: api.ndimage.map_coordinates(PLANE, PLACES, order=0, mode="nearest"),
    "integers between two": lambda api: api.ndimage.map_coordinates(
        np.arange(-3, 3), [np.array([0.5, 1.5, 3.5, 4.5])], order=1
    ),
    "integers": lambda api: api.ndimage.map_coordinates(np.arange(9), [PLACES[0] + 4], order=1, mode="reflect"),
    "codes": lambda api: api.cluster_vq.vq(PLANE, PLANE[::2]),
    "codes of numbers": lambda api: api.cluster_vq.vq(WAVE, SHORT),
}


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param):
        yield request.param


def agree(found, expected):
    for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected), strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_values_and_derivatives(on, name):
    function, x = DIFFERENTIABLE[name]
    with enable_x64(True):
        agree(function(OURS, x), function(THEIRS, x))
        ours = lambda x: function(OURS, x)
        agree(tangrad.jit(tangrad.vmap(ours))(np.stack([x, x]))[1], ours(x))
        if on == "numpy":
            reference.check_finite_differences(ours, (x,))


@pytest.mark.parametrize("name", PLAIN)
def test_values(on, name):
    with enable_x64(True):
        agree(PLAIN[name](OURS), PLAIN[name](THEIRS))


def test_what_is_beyond_an_array():
    """Beyond the last element "constant" goes over to its value, and "wrap" to the first element, in one step."""
    x = np.float32([1.0, 3.0, 5.0])
    places = [np.float32([-0.5, 2.25, 7.0])]
    found = [OURS.ndimage.map_coordinates(x, places, 1, mode, 9.0) for mode in ("constant", "wrap")]
    np.testing.assert_allclose(found[0], [5.0, 6.0, 9.0])
    np.testing.assert_allclose(found[1], [3.0, 4.0, 3.0])


def test_programs_are_compiled_by_xla():
    def program(x):
        _, density = OURS.signal.welch(x, nperseg=16)
        return (
            OURS.signal.istft(OURS.signal.stft(x, nperseg=8)[2])[1],
            density,
            OURS.signal.convolve(x, x[:5]),
            OURS.fft.dct(x),
        )

    x = WAVE.astype("float32")
    expected = tangrad.jit(program)(x)
    with use_backend("xla"):
        reference.close(tangrad.jit(program)(x), expected, 3)


def test_interpolators_are_trees():
    made = OURS.interpolate.RegularGridInterpolator(GRID, ON_GRID)
    assert len(tangrad.tree.leaves(made)) == 4
    found = tangrad.jit(lambda f, x: f(x))(made, np.float32([[0.5, 0.5]]))
    np.testing.assert_allclose(found, made(np.float32([[0.5, 0.5]])), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: OURS.signal.convolve(WAVE, PLANE), ValueError, "as many dimensions"),
        (lambda: OURS.signal.convolve(WAVE, SHORT, "no"), ValueError, "mode"),
        (lambda: OURS.signal.convolve(WAVE, SHORT, method="no"), ValueError, "method"),
        (lambda: OURS.signal.convolve(PLANE, np.ones((2, 9)), "valid"), ValueError, "valid"),
        (lambda: OURS.signal.convolve2d(WAVE, SHORT), ValueError, "two dimensions"),
        (lambda: OURS.signal.convolve2d(PLANE, KERNEL, boundary="no"), ValueError, "boundary"),
        (lambda: OURS.signal.detrend(WAVE, type="no"), ValueError, "type"),
        (lambda: OURS.signal.detrend(WAVE, bp=50), ValueError, "bp"),
        (lambda: OURS.signal.welch(WAVE, window="no"), ValueError, "window"),
        (lambda: OURS.signal.welch(WAVE, nperseg=8, noverlap=8), ValueError, "noverlap"),
        (lambda: OURS.signal.welch(WAVE, nperseg=8, nfft=4), ValueError, "nfft"),
        (lambda: OURS.signal.welch(WAVE, average="no"), ValueError, "average"),
        (lambda: OURS.signal.stft(WAVE, boundary="no"), ValueError, "boundary"),
        (lambda: OURS.signal.istft(WAVE), ValueError, "Zxx"),
        (lambda: OURS.fft.dct(WAVE, 5), ValueError, "type"),
        (lambda: OURS.fft.dct(WAVE, norm="no"), ValueError, "norm"),
        (lambda: OURS.fft.dct(None), TypeError, "dct requires arrays"),
        (lambda: OURS.fft.dctn(PLANE, s=(2,), axes=(0, 1)), ValueError, "s must have"),
        (lambda: OURS.ndimage.map_coordinates(PLANE, [WAVE], 1), ValueError, "coordinates"),
        (lambda: OURS.ndimage.map_coordinates(WAVE, [WAVE], 3), NotImplementedError, "order"),
        (lambda: OURS.ndimage.map_coordinates(WAVE, [WAVE], 1, "no"), NotImplementedError, "mode"),
        (lambda: OURS.interpolate.RegularGridInterpolator(GRID, PLANE), ValueError, r"points\[0\]"),
        (lambda: OURS.interpolate.RegularGridInterpolator((np.zeros(3),), np.zeros(3)), ValueError, "in order"),
        (lambda: OURS.interpolate.RegularGridInterpolator(GRID, ON_GRID, "no"), ValueError, "method"),
        (lambda: OURS.cluster_vq.vq(PLANE, WAVE), ValueError, "obs and code_book"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosine_transforms_of_complex_numbers_are_those_of_the_parts(kind):
    """Of which JAX has the second, and SciPy all."""
    import scipy.fft

    given = np.array([[1 + 1j, 2, 3], [0.5, -1j, 2 - 3j]], np.complex64)
    for norm in (None, "ortho"):
        for ours, theirs in ((OURS.fft.dct, scipy.fft.dct), (OURS.fft.idct, scipy.fft.idct)):
            assert np.allclose(ours(given, kind, norm=norm), theirs(given, kind, norm=norm), atol=1e-5)
    assert np.allclose(OURS.fft.dctn(given), scipy.fft.dctn(given), atol=1e-5)


def test_times_are_arrays_of_the_default_dtype():
    for result in (OURS.signal.stft(WAVE, nperseg=8)[:2], OURS.signal.istft(np.ones((5, 5), np.complex64))[:1]):
        assert [str(one.dtype) for one in result] == ["float32"] * len(result)
        assert all([isinstance(one, tangrad.Array) for one in result])
