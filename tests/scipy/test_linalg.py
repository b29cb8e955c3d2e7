"""`scipy.linalg` on both backends, against JAX and SciPy."""

import numpy as np
import pytest

import tangrad
import tangrad.scipy.linalg as linalg
from tangrad import enable_x64, use_backend
from tangrad.test_util import check_grads
from tests.primitives import reference

jax = pytest.importorskip("jax")
scipy_linalg = pytest.importorskip("scipy.linalg")

BACKENDS = ("numpy", "xla")


@pytest.fixture(params=BACKENDS)
def on(request):
    with use_backend(request.param):
        yield request.param


def regular(dtype="float32", size=3, seed=0):
    """A matrix with a positive definite Hermitian part, whose eigenvalues are distinct."""
    return reference.normal((size, size), dtype, seed) + 4 * np.diag(np.arange(1, size + 1)).astype(dtype)


def positive(api, x):
    return x @ x.conj().T


# Functions of a regular matrix that JAX has derivatives of, too.
DIFFERENTIABLE = {
    "solve": lambda api, x: api.scipy.linalg.solve(x, x[0]),
    "solve, positive": lambda api, x: api.scipy.linalg.solve(positive(api, x), x, assume_a="pos"),
    "solve_triangular": lambda api, x: api.scipy.linalg.solve_triangular(x, x[:, :2], trans=2, lower=True),
    "cho_solve": lambda api, x: api.scipy.linalg.cho_solve(api.scipy.linalg.cho_factor(positive(api, x)), x),
    "lu_solve": lambda api, x: api.scipy.linalg.lu_solve(api.scipy.linalg.lu_factor(1.0 * x), x, trans=1),
    "lu": lambda api, x: api.scipy.linalg.lu(1.0 * x)[1],
    "qr": lambda api, x: api.scipy.linalg.qr(x, mode="r")[0],
    "eigh": lambda api, x: api.scipy.linalg.eigh(x + x.conj().T, eigvals_only=True),
    "expm": lambda api, x: api.scipy.linalg.expm(x / 4),
    "polar": lambda api, x: api.scipy.linalg.polar(x, method="svd")[0],
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_values_and_derivatives_agree_with_jax(name):
    function = DIFFERENTIABLE[name]
    # Where vectors are complex their phases matter to jax; and its cotangents of complex positive definite systems do
    # not pair with its tangents, which ours do.
    dtype = "float32" if name in ("polar", "solve, positive") else "complex64"
    reference.check_derivatives(lambda api: lambda x: function(api, x), (regular(dtype),), slack=100)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_agree_with_finite_differences(name):
    with enable_x64(True), use_backend("numpy"):
        x = regular("float64")
        reference.check_finite_differences(lambda x: DIFFERENTIABLE[name](tangrad, x), (x,))


# --- against SciPy -------------------------------------------------------------------------------------------------

X, Y, C = regular("float64"), regular("float64", 4, 1), reference.normal((3, 4), "float64", 2)
S = X + X.T
BATCH = np.stack([X, X @ X + 1])

AGREE = {
    "hessenberg": lambda api: api.hessenberg(X, calc_q=True),
    "schur": lambda api: api.schur(X),
    "sqrtm": lambda api: api.sqrtm(X),
    "expm": lambda api: api.expm(X),
    "expm of a great matrix": lambda api: api.expm(30 * X - 400 * np.eye(3)),
    "expm_frechet": lambda api: api.expm_frechet(X, S),
    "funm": lambda api: api.funm(X, lambda x: x**3),
    "sylvester": lambda api: api.solve_sylvester(X, Y, C),
    "sylvester, complex": lambda api: api.solve_sylvester(X + 1j * S, Y, C),
    "sylvester, batches": lambda api: [
        api.solve_sylvester(BATCH, Y, C),
        api.solve_sylvester(X, Y, reference.normal((2, 3, 4), "float64", 7)),
    ],
    "lu": lambda api: api.lu(C),
    "lu, permuted": lambda api: api.lu(C.T, permute_l=True),
    "lu_factor": lambda api: api.lu_factor(X),
    "qr with pivoting": lambda api: api.qr(C, mode="economic", pivoting=True),
    "generalised eigenvalues": lambda api: [api.eigh(S, X @ X.T, type=kind)[0] for kind in (1, 2, 3)],
    "eigh_tridiagonal": lambda api: api.eigh_tridiagonal(
        Y[0], X[0], eigvals_only=True, select="i", select_range=(1, 2)
    ),
    "qr_multiply": lambda api: [
        api.qr_multiply(C.T, other, mode, pivoting)
        for pivoting in (False, True)
        for other, mode in ((C, "right"), (X, "left"), (Y[0], "right"))
    ],
    "qr_multiply, complex": lambda api: [
        api.qr_multiply(C + 1j * Y[:3], X + 1j * S, mode, conjugate=conjugate)
        for mode in ("left", "right")
        for conjugate in (False, True)
    ],
    "qr_multiply, batches": lambda api: [
        api.qr_multiply(BATCH, other, mode, pivoting)
        for pivoting in (False, True)
        for other, mode in ((X, "right"), (BATCH[:, :2, :3], "right"), (BATCH, "left"), (Y[0, :3], "right"))
    ],
    "polar": lambda api: api.polar(X),
    "polar, left": lambda api: api.polar(C, side="left"),
    "block_diag": lambda api: api.block_diag(X, [1.0, 2.0], 3.0, C),
    "toeplitz": lambda api: api.toeplitz(X[0], Y[0]),
    "toeplitz, complex": lambda api: api.toeplitz(X[0] + 1j),
    "hankel": lambda api: [api.hankel(X[0]), api.hankel(X[0], Y[0])],
    "circulant": lambda api: api.circulant(X[0]),
    "companion": lambda api: api.companion(Y[0]),
    "fiedler": lambda api: api.fiedler(Y[0]),
    "fiedler_companion": lambda api: [api.fiedler_companion(np.arange(1.0, n)) for n in (3, 4, 5, 6, 7)],
    "leslie": lambda api: api.leslie(Y[0], X[0]),
    "convolution_matrix": lambda api: [
        api.convolution_matrix(X[0], n, mode) for n in (2, 5) for mode in ("full", "same", "valid")
    ],
    "hilbert": lambda api: [api.hilbert(4), api.invhilbert(4)],
    "pascal": lambda api: [
        function(4, kind) * 1.0 for function in (api.pascal, api.invpascal) for kind in ("symmetric", "upper", "lower")
    ],
    "hadamard": lambda api: api.hadamard(4, "float64"),
    "helmert": lambda api: [api.helmert(4), api.helmert(3, full=True)],
    "dft": lambda api: [api.dft(4), api.dft(3, "n"), api.dft(5, "sqrtn")],
}


@pytest.mark.parametrize("name", AGREE)
def test_values_agree_with_scipy(on, name):
    with enable_x64(True):
        found, expected = [tangrad.tree.leaves(AGREE[name](api)) for api in (linalg, scipy_linalg)]
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert np.shape(one) == np.shape(other)
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_the_vectors_of_generalised_problems(on):
    with enable_x64(True):
        b = X @ X.T
        for kind, left, right in ((1, S, b), (2, S @ b, np.eye(3)), (3, b @ S, np.eye(3))):
            values, vectors = linalg.eigh(S, b, type=kind)
            np.testing.assert_allclose(left @ vectors, right @ vectors * np.asarray(values), rtol=1e-8, atol=1e-8)
            metric = np.linalg.inv(b) if kind == 3 else b
            np.testing.assert_allclose(vectors.T @ metric @ vectors, np.eye(3), atol=1e-8)


def test_complex_schur_from_a_real_one(on):
    with enable_x64(True):
        t, z = linalg.rsf2csf(*linalg.schur(np.array([[0.0, 2, 1], [-3, 0, 1], [1, 1, 2]])))
        np.testing.assert_allclose(z @ t @ z.conj().T, [[0.0, 2, 1], [-3, 0, 1], [1, 1, 2]], atol=1e-10)
        assert not np.tril(t, -1).any()


@pytest.mark.parametrize(
    "shapes", [((4, 4), (4, 4)), ((3, 4, 4), (4, 4)), ((4, 4), (3, 4, 4)), ((2, 1, 4, 4), (3, 4, 4))]
)
def test_complex_schur_is_scipys(on, shapes):
    draw = np.random.default_rng(5)
    forms = [draw.normal(size=shape) for shape in shapes]
    with enable_x64(True):
        t, z = linalg.schur(forms[0])[0], linalg.schur(forms[1])[1]
        found = linalg.rsf2csf(t, z)
        t, z = (np.broadcast_to(x, np.broadcast_shapes(*shapes)).reshape(-1, 4, 4) for x in (t, z))
        assert abs(np.tril(t, -1)).max() > 0.1  # a pair of complex eigenvalues, for a rotation
        expected = [np.stack(x) for x in zip(*map(scipy_linalg.rsf2csf, t, z), strict=True)]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(one).reshape(other.shape), other, atol=1e-10)


def test_derivatives_of_the_complex_schur_form(on):
    a = np.array([[2.0, 5, 1, 1], [-3, 2, 1, 2], [0, 0, 1.0, 1], [0, 0, 0, 1]])  # the last two eigenvalues are the same

    def size(x):
        return sum((abs(x) ** 3).sum() for x in linalg.rsf2csf(x * (a != 0), tangrad.numpy.eye(4)))

    with enable_x64(True):
        check_grads(size, (a,), order=1)
        check_grads(tangrad.vmap(size), (np.stack([a, 2 * a]),), order=1)
    assert [x.item() for x in linalg.rsf2csf(np.eye(1), np.eye(1))] == [1, 1]
    assert [x.shape for x in linalg.rsf2csf(np.zeros((0, 0)), np.zeros((2, 0, 0)))] == [(2, 0, 0)] * 2
    with pytest.raises(ValueError, match="the same size, got shapes"):
        linalg.rsf2csf(np.eye(3), np.eye(2))


def test_expm_of_batches_and_limits(on):
    x = np.stack([regular(), 0 * regular(), np.diag(np.float32([1e9, 0, 0]))])
    found = np.asarray(linalg.expm(x))
    np.testing.assert_allclose(found[0], scipy_linalg.expm(x[0]), rtol=1e-3)
    np.testing.assert_array_equal(found[1], np.eye(3))
    assert np.isnan(found[2]).all()
    assert linalg.expm(np.zeros((0, 0), np.float32)).shape == (0, 0)
    np.testing.assert_allclose(
        linalg.expm(x[0] / 4, upper_triangular=True), scipy_linalg.expm(np.triu(x[0] / 4)), rtol=1e-4, atol=1e-5
    )


# --- messages ------------------------------------------------------------------------------------------------------

EYE, WIDE = np.eye(3, dtype=np.float32), np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "assume_a", lambda: linalg.solve(EYE, EYE, assume_a="diagonal")),
        (ValueError, "trans must be", lambda: linalg.solve_triangular(EYE, EYE, trans="H")),
        (ValueError, "as many rows as a", lambda: linalg.solve_triangular(EYE, WIDE)),
        (ValueError, "c must be square", lambda: linalg.cho_solve((WIDE, True), WIDE)),
        (ValueError, "lu must be square", lambda: linalg.lu_solve((WIDE, EYE[0]), WIDE)),
        (ValueError, "mode must be", lambda: linalg.qr(EYE, mode="thin")),
        (ValueError, "type must be", lambda: linalg.eigh(EYE, EYE, type=4)),
        (NotImplementedError, "eigvals", lambda: linalg.eigh(EYE, eigvals=(0, 1))),
        (ValueError, "output must be", lambda: linalg.schur(EYE, "upper")),
        (ValueError, "side must be", lambda: linalg.polar(EYE, "both")),
        (ValueError, "method must be", lambda: linalg.polar(EYE, method="newton")),
        (ValueError, "A must be square", lambda: linalg.expm(WIDE)),
        (ValueError, "must have one shape", lambda: linalg.expm_frechet(EYE, EYE[:2, :2])),
        (ValueError, "one matrix", lambda: linalg.sqrtm(EYE[None])),
        (NotImplementedError, "blocksize", lambda: linalg.sqrtm(EYE, 64)),
        (ValueError, "C must have shape", lambda: linalg.solve_sylvester(EYE, EYE, WIDE)),
        (ValueError, "at most two dimensions", lambda: linalg.block_diag(EYE[None])),
        (ValueError, "at least two coefficients", lambda: linalg.companion(EYE[0, :1])),
        (ValueError, "one element less", lambda: linalg.leslie(EYE[0], EYE[0])),
        (ValueError, "power of 2", lambda: linalg.hadamard(3)),
        (ValueError, "not be negative", lambda: linalg.hilbert(-1)),
        (TypeError, "n must be an integer", lambda: linalg.hilbert(2.5)),
        (ValueError, "scale must be", lambda: linalg.dft(3, "2n")),
        (ValueError, "kind must be", lambda: linalg.pascal(3, "left")),
    ],
)
def test_messages(error, message, call):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "matrix", [np.zeros((2, 2)), np.eye(3), np.diag([0.0, 0, 4]), [[0, 0, 1], [0, 0, 0], [0, 0, 4]]]
)
def test_functions_of_matrices_with_repeated_eigenvalues(on, matrix):
    """Singular ones too, as long as they have a basis of eigenvectors."""
    matrix = np.asarray(matrix, np.float32)
    root = np.asarray(linalg.sqrtm(matrix))
    np.testing.assert_allclose(root @ root, matrix, atol=1e-6)
    np.testing.assert_allclose(linalg.funm(matrix, lambda x: x**2), matrix @ matrix, atol=1e-6)


def test_functions_of_matrices_that_are_not_there(on):
    """The first has no root; on the second the recurrence says nothing, where the square is defined."""
    assert np.isnan(linalg.sqrtm(np.float32([[0, 1], [0, 0]]))).all()
    assert np.isnan(linalg.funm(np.float32([[1, 1], [0, 1]]), lambda x: x**2)).any()
    np.testing.assert_allclose(linalg.sqrtm(np.float32([[1, 1], [0, 1]])), [[1, 0.5], [0, 1]], atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("lower", [False, True])
def test_one_triangle_is_read_by_cholesky(on, dtype, lower):
    whole = positive(np, regular(dtype))
    keep, other = (np.tril, np.triu) if lower else (np.triu, np.tril)
    half = keep(whole) + 1000 * other(np.ones_like(whole), 1 if lower else -1)  # SciPy leaves the other triangle alone
    expected = scipy_linalg.cholesky(half, lower=lower)
    near = {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(linalg.cholesky(half, lower=lower), expected, **near)
    np.testing.assert_allclose(linalg.cho_factor(half, lower=lower)[0], expected, **near)
    found = tangrad.jit(tangrad.vmap(lambda x: linalg.cho_factor(x, lower=lower)[0]))(np.stack([half, whole]))
    np.testing.assert_allclose(found, np.stack([expected, expected]), **near)
    solved = linalg.solve(half, half[0], assume_a="pos", lower=lower)
    np.testing.assert_allclose(solved, scipy_linalg.solve(whole, half[0]), rtol=1e-3, atol=1e-3)
