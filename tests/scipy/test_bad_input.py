"""Bad input of `tangrad.scipy` is named by function and argument; input at the edge has SciPy's results."""

import re

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad.scipy import fft, interpolate, linalg, ndimage, signal, special, stats
from tangrad.scipy.cluster.vq import vq
from tangrad.scipy.spatial.transform import Rotation

V = np.array([1.0, 2.0, 3.0], "float32")
R = np.arange(6.0, dtype="float32").reshape(2, 3)
A = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]], "float32")
NOTHING = np.zeros(0, "float32")
SPECTRA = np.ones((3, 4), "float32")
TURNS = np.ones((2, 3), "float32")

ERRORS = [
    # linear algebra
    (lambda: linalg.cho_solve(A, V), ValueError, "cho_solve: c_and_lower must be a pair, the result of cho_factor"),
    (lambda: linalg.lu_solve(A, V), ValueError, "lu_solve: lu_and_piv must be a pair, the result of lu_factor"),
    (lambda: linalg.lu_solve((A, np.array([0, 1])), V), ValueError, "lu_solve: piv must have as many elements as lu"),
    (lambda: linalg.expm(A, max_squarings=1.5), TypeError, "expm: max_squarings must be an integer, got 1.5"),
    (lambda: linalg.expm_frechet(A, A, method="foo"), ValueError, "expm_frechet: method must be 'SPS'"),
    (lambda: linalg.solve_sylvester(A, A, A, method="foo"), ValueError, "solve_sylvester: method must be 'schur'"),
    (lambda: linalg.funm(A, lambda x: x[0]), ValueError, "funm: func must return an array of the shape (3,), got ()"),
    (lambda: linalg.toeplitz(R, A), ValueError, "toeplitz got shapes that do not broadcast together: (2,), (3,)"),
    (lambda: linalg.convolution_matrix(NOTHING, 2), ValueError, "convolution_matrix: a must have elements"),
    # signals
    (lambda: signal.detrend(V, bp=[1.5]), TypeError, "detrend: bp must be integers, got [1.5]"),
    (lambda: signal.stft(V, fs=0.0, nperseg=2), ValueError, "stft: fs must not be 0"),
    (lambda: signal.istft(SPECTRA, fs=0), ValueError, "istft: fs must not be 0"),
    (
        lambda: signal.istft(SPECTRA, nperseg=4, nfft=2),
        ValueError,
        "nfft must not be less than nperseg, 4, got 2",
    ),
    (lambda: signal.istft(SPECTRA, nperseg=7), ValueError, "istft: nfft must not be less than nperseg, 7, got 4"),
    (lambda: ndimage.map_coordinates(R[:0], [V, V], 1), ValueError, "map_coordinates: input has no elements"),
    # between samples
    (
        lambda: interpolate.RegularGridInterpolator((NOTHING,), NOTHING),
        *(ValueError, "points[0] must not be empty"),
    ),
    (
        lambda: interpolate.RegularGridInterpolator((V,), V, fill_value=1j),
        *(ValueError, "fill_value must be real, as values are, got 1j"),
    ),
    (
        lambda: interpolate.RegularGridInterpolator((V, V), A)(V),
        *(ValueError, "places must have 2 coordinates along the last axis, got shape (3,)"),
    ),
    # others
    (lambda: vq(R, R[:0]), ValueError, "vq: code_book must have a vector at least"),
    (lambda: stats.gaussian_kde(V).integrate_kde(V), TypeError, "integrate_kde takes another estimate"),
    (lambda: Rotation.concatenate([1]), TypeError, "Rotation.concatenate takes rotations, got 1"),
    (lambda: Rotation.from_rotvec(TURNS).apply(A), ValueError, "Rotation.apply: 2 rotations do not fit 3 vectors"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS, ids=[message for *_, message in ERRORS])
def test_message(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


# What the call is, and what SciPy has for it, or JAX where SciPy raises.
RESULTS = {
    "erfcx": (lambda: special.erfcx(np.array([np.inf, -np.inf, np.nan])), [0, np.inf, np.nan]),
    "dawsn": (lambda: special.dawsn(np.array([np.inf, -np.inf, np.nan])), [0, 0, np.nan]),
    "wofz": (lambda: special.wofz(np.array([np.inf, -np.inf])), [0, 0]),
    "vq of complex vectors": (lambda: vq(R * 1j, R)[1], np.sqrt([5 + 5, 50 + 5])),
    "sqrtm": (lambda: linalg.sqrtm(np.zeros((0, 0))), np.zeros((0, 0))),
    "funm": (lambda: linalg.funm(np.zeros((0, 0)), tnp.exp), np.zeros((0, 0))),
    "toeplitz": (lambda: linalg.toeplitz(V[:2], R), [[[1, 1, 2], [2, 1, 1]], [[1, 4, 5], [2, 1, 4]]]),
    "hankel": (lambda: linalg.hankel(V[:2], R), [[[1, 2, 1], [2, 1, 2]], [[1, 2, 4], [2, 4, 5]]]),
    "toeplitz of a number": (lambda: linalg.toeplitz(2.0), [[2]]),
    "circulant of a number": (lambda: linalg.circulant(2.0), [[2]]),
    "fiedler of a number": (lambda: linalg.fiedler(2.0), [[0]]),
    "companion": (lambda: linalg.companion(np.array([[0.0, 0.0, 0.0]])), [[[np.nan] * 2, [1, 0]]]),
    "leslie": (lambda: linalg.leslie(V, np.array([np.nan, 1.0])), [[1, 2, 3], [np.nan, 0, 0], [0, 1, 0]]),
    "fiedler_companion": (lambda: linalg.fiedler_companion(A[:1, :2]), [[[-0.25]]]),
    "fiedler_companion of several": (
        lambda: linalg.fiedler_companion(np.stack([V, 2 * V])),
        [[[-2, -3], [1, 0]]] * 2,
    ),
    "convolution_matrix": (
        lambda: linalg.convolution_matrix(np.stack([V, 2 * V]), 2, "valid"),
        [[[2, 1], [3, 2]], [[4, 2], [6, 4]]],
    ),
    "fftconvolve": (lambda: signal.fftconvolve(R, R, axes=()), R * R),
    "dct of complex numbers": (lambda: fft.dct(np.array([1, 1j]), norm="ortho"), np.array([1 + 1j, 1 - 1j]) / 2**0.5),
    "idct of complex numbers": (lambda: fft.idctn(np.array([2 + 2j, 0])), [0.5 + 0.5j] * 2),
    "dctn along one axis": (lambda: fft.dctn(R, axes=0), [[6, 10, 14], [-4.242641] * 3]),
    "empty welch": (lambda: signal.welch(NOTHING)[1], []),
    "empty csd": (lambda: signal.csd(V, NOTHING)[1], []),
    "empty stft": (lambda: signal.stft(NOTHING)[2], []),
    "one place": (lambda: interpolate.RegularGridInterpolator((V, V), A)(np.array([1.5, 1.0])), [2.5]),
    "a list of places": (lambda: interpolate.RegularGridInterpolator((V,), V)(np.array([1.5, 2.5])), [1.5, 2.5]),
    "places one after another": (
        lambda: interpolate.RegularGridInterpolator((V, V), A)(np.array([1.0, 1.0, 3.0, 3.0])),
        [4, 5],
    ),
    "a tuple of numbers": (lambda: interpolate.RegularGridInterpolator((V, V), A)((1.5, 1.0)), 2.5),
}


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("name", RESULTS)
def test_result(name, backend):
    call, expected = RESULTS[name]
    with tangrad.use_backend(backend):
        found = np.asarray(call())
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_dtypes_are_those_of_jax(backend):
    with tangrad.use_backend(backend):
        _, times, spectra = signal.stft(V, nperseg=2)
        assert times.dtype == "float32" and isinstance(times, tangrad.Array)
        assert signal.istft(spectra, nperseg=2)[0].dtype == "float32"
        assert signal.csd(V, None, nperseg=2)[1].dtype == "float32"
        assert signal.csd(V, V, nperseg=2)[1].dtype == "complex64"
        for found in linalg.hessenberg(np.zeros((0, 0), "int8"), calc_q=True):
            assert found.dtype == "int8" and found.shape == (0, 0)
