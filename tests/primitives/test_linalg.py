"""Cholesky's factor, its update, triangular systems: values, derivatives and mapping, against JAX and NumPy."""

import itertools

import numpy as np
import pytest

import tangrad
from tangrad import enable_x64, lax
from tangrad import use_backend as backend_setting
from tests.primitives import reference
from tests.primitives.support import BACKENDS, agree_everywhere, assert_same, check_batching, check_derivative, draw

jax = pytest.importorskip("jax")

DTYPES = ("float32", "float64", "complex64", "complex128")
SIDES = [
    {"left_side": left, "lower": lower, "transpose_a": transposed, "unit_diagonal": unit}
    for left, lower, transposed, unit in itertools.product((False, True), repeat=4)
]


def positive(dtype, *shape, seed=0):
    """Hermitian, positive definite matrices."""
    x = draw(dtype, *shape, seed=seed)
    return x @ x.conj().swapaxes(-1, -2) + 2 * np.eye(shape[-1], dtype=x.dtype)


def triangular(dtype, *shape, seed=0):
    """Matrices whose triangles are well conditioned; what is beyond them must not be read."""
    return draw(dtype, *shape, seed=seed) + 4 * np.eye(shape[-1], dtype=dtype)


@pytest.fixture(params=BACKENDS)
def on(request):
    with backend_setting(request.param):
        yield request.param


# --- Cholesky ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(on, dtype):
    with enable_x64(True):
        for shape in ((1, 1), (5, 5), (2, 3, 4, 4), (0, 3, 3), (0, 0)):
            x = positive(dtype, *shape)
            factor = np.asarray(lax.linalg.cholesky(x))
            assert factor.dtype == x.dtype and factor.shape == x.shape
            np.testing.assert_allclose(factor, np.tril(factor))
            np.testing.assert_allclose(factor @ factor.conj().swapaxes(-1, -2), x, rtol=1e-4, atol=1e-4)


def test_what_cholesky_reads():
    """The lower triangle alone, or the symmetric part."""
    x = positive("float32", 4, 4)
    upper = np.triu(np.full((4, 4), 9, np.float32), 1)
    expected = np.linalg.cholesky(x)
    agree_everywhere(lambda x: lax.linalg.cholesky(x, symmetrize_input=False), expected, np.tril(x) + upper)
    agree_everywhere(lax.linalg.cholesky, expected, x + upper - upper.T)


def test_cholesky_of_what_has_none():
    """A matrix that is not positive definite gives NaN; the others in a batch are not touched."""
    x = positive("float32", 3, 4, 4)
    x[1] -= 100 * np.eye(4, dtype=np.float32)
    x[2, 0, 0] = np.nan
    expected = jax.jit(jax.lax.linalg.cholesky)(x)
    assert np.isnan(expected[1, 1, 0]) and expected[1, 0, 1] == 0
    agree_everywhere(lax.linalg.cholesky, expected, x)
    agree_everywhere(lax.linalg.cholesky, expected[1], x[1])


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_derivatives_of_cholesky(dtype):
    reference.check_derivatives(lambda api: api.lax.linalg.cholesky, (positive(dtype, 2, 3, 3),), slack=5)
    if dtype == "float32":
        check_derivative(lambda x: lax.linalg.cholesky(x), positive(dtype, 3, 3))
        with backend_setting("numpy"):
            reference.check_mapped(lax.linalg.cholesky, (3 * np.eye(3, dtype=np.float32),), (1,))


# --- its update ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cholesky_update(on, dtype):
    with enable_x64(True):
        for batch in ((), (3,), (2, 2)):
            factor = np.linalg.cholesky(positive(dtype, *batch, 5, 5)).swapaxes(-1, -2).copy()
            vector = draw(dtype, *batch, 5, seed=1)
            vector[..., 2] = 0
            found = np.asarray(tangrad.jit(lax.linalg.cholesky_update)(factor, vector))
            product = factor.swapaxes(-1, -2) @ factor + vector[..., None] * vector[..., None, :]
            assert found.dtype == dtype
            np.testing.assert_allclose(found, np.triu(found), atol=1e-5)
            np.testing.assert_allclose(found.swapaxes(-1, -2) @ found, product, rtol=1e-4, atol=1e-4)


def test_cholesky_update_agrees_with_jax():
    factor, vector = np.linalg.cholesky(positive("float32", 4, 4)).T.copy(), draw("float32", 4)
    expected = jax.jit(jax.lax.linalg.cholesky_update)(factor, vector)
    agree_everywhere(lax.linalg.cholesky_update, expected, factor, vector)
    agree_everywhere(lax.linalg.cholesky_update, factor, factor, 0 * vector)


def test_derivatives_of_cholesky_update():
    factor, vector = np.linalg.cholesky(positive("float64", 3, 3)).T.copy(), draw("float32", 3)
    upper = np.triu(np.ones((3, 3)))
    check_derivative(lambda r, w: lax.linalg.cholesky_update(lax.mul(r, upper), w), factor, vector)
    check_batching(lax.linalg.cholesky_update, factor.astype(np.float32), vector)


# --- triangular systems --------------------------------------------------------------------------------------------


def solved(a, b, left_side=False, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False):
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = a - a * np.eye(a.shape[-1], dtype=a.dtype) + np.eye(a.shape[-1], dtype=a.dtype)
    a = a.swapaxes(-1, -2) if transpose_a else a
    a = a.conj() if conjugate_a else a
    return (
        np.linalg.solve(a, b) if left_side else np.linalg.solve(a.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2)
    )


@pytest.mark.parametrize("params", SIDES)
def test_triangular_systems(on, params):
    with enable_x64(True):
        for dtype, conjugated in (("float32", False), ("complex128", False), ("complex128", True)):
            a = triangular(dtype, 2, 4, 4)
            b = draw(dtype, 2, 4, 3, seed=1) if params["left_side"] else draw(dtype, 2, 3, 4, seed=1)
            found = lax.linalg.triangular_solve(a, b, conjugate_a=conjugated, **params)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, solved(a, b, conjugate_a=conjugated, **params), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
def test_large_triangular_systems(on, size):
    rng = np.random.default_rng(0)
    a = np.linalg.cholesky(np.cov(rng.normal(size=(size, 4 * size + 2))).reshape(size, size)).astype(np.float32)
    b = rng.normal(size=(size, 2)).astype(np.float32)
    for params in ({"lower": True}, {"lower": True, "transpose_a": True}):
        found = lax.linalg.triangular_solve(a, b, left_side=True, **params)
        np.testing.assert_allclose(found, solved(a, b, True, **params), rtol=1e-3, atol=1e-3)


def test_vectors_and_narrow_floats(on):
    a, b = triangular("float32", 2, 3, 3), draw("float32", 2, 3)
    for left in (False, True):
        found = lax.linalg.triangular_solve(a, b, left_side=left, lower=True)
        wide = b[..., None] if left else b[..., None, :]
        np.testing.assert_allclose(found, solved(a, wide, left, True).reshape(2, 3), rtol=1e-4, atol=1e-4)
    a, b = triangular("float16", 3, 3), draw("float16", 3, 2)
    found = lax.linalg.triangular_solve(a, b, left_side=True)
    assert found.dtype == np.float16
    expected = solved(a.astype(np.float32), b.astype(np.float32), True)
    np.testing.assert_allclose(np.asarray(found, np.float32), expected, rtol=0.03, atol=0.03)
    nothing = np.zeros((0, 0), np.float32), np.zeros((0, 2), np.float32)
    assert lax.linalg.triangular_solve(*nothing, left_side=True).shape == (0, 2)


def test_zeros_on_the_diagonal(on):
    """They are divided by, as anything else is; what does not depend on them is right."""
    a, b = np.float32([[2, 1, 1], [0, 0, 1], [0, 0, 4]]), np.float32([[3], [2], [4]])
    found = np.asarray(lax.linalg.triangular_solve(a, b, left_side=True))
    assert found[2] == 1 and not np.isfinite(found[:2]).any()


@pytest.mark.parametrize("columns", [2, 5])  # either order of the products
@pytest.mark.parametrize(("dtype", "option"), [("float32", "transpose_a"), ("complex64", "conjugate_a")])
@pytest.mark.parametrize("left_side", [False, True])
def test_derivatives_of_triangular_systems(left_side, dtype, option, columns):
    a, b = triangular(dtype, 4, 4), draw(dtype, *((4, columns) if left_side else (columns, 4)), seed=1)
    params = {"left_side": left_side, "lower": True, option: True}

    def function(api):
        return lambda a, b: api.lax.linalg.triangular_solve(a, b, **params)

    reference.check_derivatives(function, (a, b), slack=5)


@pytest.mark.parametrize("left_side", [False, True])
def test_higher_derivatives_and_mapping_of_triangular_systems(left_side):
    a, b = triangular("float32", 3, 3), draw("float32", 3, 3, seed=1)
    params = {"left_side": left_side, "lower": True}
    check_derivative(lambda a, b: lax.linalg.triangular_solve(a, b, unit_diagonal=True, **params), a, b)
    check_batching(lambda a, b: lax.linalg.triangular_solve(a, b, **params), a, b)


# --- messages ------------------------------------------------------------------------------------------------------

A = np.eye(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "must be a square matrix", lambda: lax.linalg.cholesky(A[:2])),
        (ValueError, "at least 2 dimensions", lambda: lax.linalg.cholesky(A[0])),
        (TypeError, "does not accept dtype int32", lambda: lax.linalg.cholesky(np.eye(3, dtype=np.int32))),
        (TypeError, "does not accept dtype float16", lambda: lax.linalg.cholesky(A.astype(np.float16))),
        (ValueError, "must be of one size", lambda: lax.linalg.cholesky_update(A, A[0, :2])),
        (TypeError, "does not accept dtype complex64", lambda: lax.linalg.cholesky_update(A + 0j, A[0] + 0j)),
        (ValueError, "as many rows as a", lambda: lax.linalg.triangular_solve(A, A[:2], left_side=True)),
        (ValueError, "as many columns as a", lambda: lax.linalg.triangular_solve(A, A[:, :2])),
        (ValueError, "must agree", lambda: lax.linalg.triangular_solve(A[None], np.stack([A, A]))),
        (TypeError, "one dtype", lambda: lax.linalg.triangular_solve(A, A + 0j)),
    ],
)
def test_messages(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_the_public_module():
    import tangrad.lax.linalg as linalg

    assert linalg.cholesky is lax.linalg.cholesky
    assert {"cholesky", "cholesky_update", "triangular_solve"} <= set(dir(linalg))
    assert_same(linalg.cholesky(4 * A), 2 * A)


# --- tridiagonal systems that are singular -------------------------------------------------------------------------

SINGULAR = {
    "zero": ([0, 0, 0], [0, 0, 0], [0, 0, 0]),
    "of rank 1": ([0, 1], [1, 3], [3, 0]),
    "a batch, one of them regular": ([[0, 1, 1], [0, 1, -6]], [[0, 0, 0], [1, -1, 5]], [[0, 0, 0], [2, 1, 0]]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SINGULAR)
def test_tridiagonal_systems_with_perturbed_pivots(on, name, dtype):
    with enable_x64(True), jax.enable_x64(True):
        diagonals = [np.array(x, dtype) for x in SINGULAR[name]]
        right = np.arange(1, 1 + 2 * diagonals[0].size, dtype=dtype).reshape(*diagonals[0].shape, 2)
        found = np.asarray(lax.linalg.tridiagonal_solve(*diagonals, right, perturb_singular=True))
        assert np.isfinite(found).all()
        expected = np.asarray(jax.lax.linalg.tridiagonal_solve(*diagonals, right, perturb_singular=True))
        np.testing.assert_allclose(abs(found), abs(expected), rtol=1e-5)  # 0 and -0 are moved apart
        plain = np.asarray(lax.linalg.tridiagonal_solve(*diagonals, right))
        assert not np.isfinite(plain.reshape(-1, *plain.shape[-2:])[0]).all()


def test_perturbed_tridiagonal_systems_are_differentiated_and_mapped(on):
    dl, d, du, b = draw("float32", 4), draw("float32", 4, seed=1) + 3, draw("float32", 4, seed=2), draw("float32", 4, 2)
    solve = lambda *args: lax.linalg.tridiagonal_solve(*args, perturb_singular=True)
    ours, plain = [
        tangrad.grad(lambda *args, function=function: function(*args).sum(), (0, 1, 2, 3))(dl, d, du, b)
        for function in (solve, lax.linalg.tridiagonal_solve)
    ]
    for found, expected in zip(ours, plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    many = tangrad.vmap(solve, (None, None, None, 0))(dl, d, du, np.stack([b, 2 * b]))
    np.testing.assert_allclose(many[1], 2 * solve(dl, d, du, b), rtol=1e-5)
