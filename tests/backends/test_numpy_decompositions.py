"""Decompositions on NumPy: by its own code, where SciPy is not installed, and with SciPy's functions where it is."""

from itertools import product

import numpy as np
import pytest

from tangrad._backend_numpy import linear_algebra
from tangrad._backend_numpy.decompositions import condensed, lapack, orthogonal_factors, schur_form, triangular_factors

DTYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture(params=["alone", "with SciPy"])
def installed(request, monkeypatch):
    """Whether SciPy is."""
    if request.param == "alone":
        monkeypatch.setattr(lapack, "function", lambda name, dtype: None)
    else:
        pytest.importorskip("scipy")
    return request.param


def draw(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def near(found, expected, size=1):
    precision = np.finfo(np.asarray(found).dtype).eps
    np.testing.assert_allclose(found, expected, rtol=0, atol=200 * precision * max(size, 1))


def unit_lower(factors):
    size = factors.shape[-2]
    lower = np.tril(factors, -1)[..., : min(factors.shape[-2:])]
    return lower + np.eye(size, lower.shape[-1], dtype=factors.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (3, 6), (70, 40), (2, 3, 33, 33), (1, 1), (0, 3), (2, 0, 0)])
def test_lu(installed, dtype, shape):
    x = draw(dtype, *shape)
    factors, pivots, order = triangular_factors.lu(x)
    upper = np.triu(factors)[..., : min(shape[-2:]), :]
    near(unit_lower(factors) @ upper, np.take_along_axis(x, order[..., None], -2), shape[-1])
    # Of complex numbers those with the greatest sum of both parts' sizes are chosen.
    limit = 1.415 if np.dtype(dtype).kind == "c" else 1.0001
    assert pivots.dtype == order.dtype == np.int32 and (np.abs(np.tril(factors, -1)) <= limit).all()
    np.testing.assert_array_equal(triangular_factors.permutation(pivots, shape[-2]), order)


def test_lu_of_singular_matrices(installed):
    """A column of zeros is left as it is; NaN spreads without an error."""
    factors, _, _ = triangular_factors.lu(np.float32([[0, 1], [0, 2]]))
    np.testing.assert_array_equal(np.triu(factors)[:, 0], [0, 0])
    assert np.isnan(triangular_factors.lu(np.full((2, 2), np.nan, np.float32))[0]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (3, 6), (7, 4), (2, 3, 3), (1, 1), (0, 3)])
def test_qr_with_pivoting(installed, dtype, shape):
    x = draw(dtype, *shape)
    for full in (False, True):
        q, r, order = orthogonal_factors.qr(x, True, full)
        near(q @ r, np.take_along_axis(x, order[..., None, :], -1), shape[-1])
        identity = np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], q.shape[-1], q.shape[-1]))
        near(q.conj().swapaxes(-1, -2) @ q, identity, shape[-1])
    sizes = np.abs(np.diagonal(r, 0, -2, -1))
    assert (np.diff(sizes, axis=-1) <= 1e-4).all() and not np.tril(r, -1).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_reflections(dtype):
    """The product of LAPACK's reflections is Q, also where some of them are none."""
    x = draw(dtype, 6, 4)
    x[:, 1] = 0
    packed, taus = orthogonal_factors.geqrf(x)
    near(orthogonal_factors.householder_product(packed, taus) @ np.triu(packed[:4]), x, 6)


SPECIAL = {
    "rotation": [[0, 1, 0], [-1, 0, 0], [0, 0, 2]],
    "cycle": [[0, 0, 1], [1, 0, 0], [0, 1, 0]],  # usual shifts stand still on it
    "zeros": [[0, 0], [0, 0]],
    "defective": [[2, 1, 0], [0, 2, 1], [0, 0, 2]],
    "equal diagonal": [[1, 2], [3, 1]],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6, 6), (25, 25), (2, 3, 3), (1, 1), (0, 0), *SPECIAL])
def test_schur(installed, dtype, shape):
    x = np.asarray(SPECIAL[shape], dtype) if isinstance(shape, str) else draw(dtype, *shape)
    size = x.shape[-1]
    t, z = schur_form.schur(x, True)
    near(z @ t @ z.conj().swapaxes(-1, -2), x, 5 * size)
    near(z.conj().swapaxes(-1, -2) @ z, np.broadcast_to(np.eye(size), x.shape), 5 * size)
    beside = np.diagonal(t, -1, -2, -1)
    if np.dtype(dtype).kind == "c":
        assert not np.tril(t, -1).any()
    else:
        assert not np.tril(t, -2).any()
        # No two blocks of two rows touch, and each has eigenvalues that are not real.
        assert not (beside[..., 1:] * beside[..., :-1]).any()
        above = np.diagonal(t, 1, -2, -1)
        assert (above[beside != 0] * beside[beside != 0] < 0).all()


def test_schur_of_nan(installed):
    assert np.isnan(schur_form.schur(np.full((3, 3), np.nan), True)[0]).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_schur_of_numbers_that_overflow(monkeypatch, dtype):
    """They are finite before the first reflection, and not after it: NaN, as for whatever fails."""
    monkeypatch.setattr(lapack, "function", lambda name, dtype: None)
    big = np.finfo(dtype).max
    x = np.array([[[1, big, 2], [-big, 3, big], [big, 1, 1]], np.eye(3)], dtype)
    with np.errstate(all="ignore"):  # as when a program calls it
        t, z = schur_form.schur(x, True)
    assert np.isnan(t[0]).any() and np.isnan(z[0]).any()
    near(z[1] @ t[1] @ z[1].conj().T, x[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (2, 3, 3), (2, 2), (1, 1)])
def test_hessenberg(installed, dtype, shape):
    x = draw(dtype, *shape)
    packed, taus = condensed.hessenberg(x)
    q = np.zeros_like(x) + np.eye(shape[-1], dtype=dtype)
    if shape[-1] > 1:
        q[..., 1:, 1:] = orthogonal_factors.householder_product(packed[..., 1:, :-1], taus)
    near(q @ np.triu(packed, -1) @ q.conj().swapaxes(-1, -2), x, shape[-1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [False, True])
def test_tridiagonal(dtype, lower):
    x = draw(dtype, 3, 5, 5)
    x = x + x.conj().swapaxes(-1, -2)
    read = np.tril(x) if lower else np.triu(x)
    _, diagonal, beside, _ = condensed.tridiagonal(read, lower)
    for full, d, e in zip(x, diagonal, beside):
        near(np.linalg.eigvalsh(np.diag(d) + np.diag(e, 1) + np.diag(e, -1)), np.linalg.eigvalsh(full), 5)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("flags", list(product((False, True), repeat=4)), ids=str)
def test_large_triangular_systems_with_and_without_scipy(monkeypatch, flags, dtype):
    """The same, whatever is in the other triangle, and infinities where there is a zero on the diagonal."""
    pytest.importorskip("scipy")
    left, lower, _, unit = flags
    rng = np.random.default_rng(0)
    a = rng.normal(size=(2, 9, 9)) + 4 * np.eye(9)
    b = rng.normal(size=(2, 9, 3) if left else (2, 3, 9))
    a, b = a.astype(dtype), b.astype(dtype)
    if dtype == "complex128":
        a = a + 1j * rng.normal(size=a.shape)
    a[np.triu(np.ones(a.shape, bool), 1) if lower else np.tril(np.ones(a.shape, bool), -1)] = np.nan
    singular = a.copy()
    singular[:, 4, 4] = 0
    found = []
    for large in (1, 1 << 30):
        monkeypatch.setattr(linear_algebra, "LARGE", large)
        with np.errstate(all="ignore"):
            found.append([linear_algebra.triangular_solve(m, b, *flags[:3], True, unit) for m in (a, singular)])
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype and one.flags.c_contiguous
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert np.isfinite(found[0][0]).all() and np.isfinite(found[0][1]).all() == unit
