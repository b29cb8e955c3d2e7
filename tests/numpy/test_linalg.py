"""`numpy.linalg`: values, derivatives and mapping on both backends, against JAX and NumPy."""

from itertools import pairwise

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend
from tests.primitives import reference

jax = pytest.importorskip("jax")

BACKENDS = ("numpy", "xla")
SQUARE = (3, 3)


@pytest.fixture(params=BACKENDS)
def on(request):
    with use_backend(request.param):
        yield request.param


def regular(*shape, dtype="float32", seed=0):
    """Matrices far from singular, with distinct eigenvalues."""
    x = reference.normal(shape, dtype, seed)
    return x + 3 * np.diag(np.arange(1, shape[-1] + 1)).astype(dtype) if shape[-1] == shape[-2] else x


def hermitian(x):
    return x + x.conj().swapaxes(-1, -2)


# Functions of one square matrix, whose results do not depend on phases.
SQUARES = {
    "det": lambda api, x: api.numpy.linalg.det(x),
    "slogdet": lambda api, x: api.numpy.linalg.slogdet(x)[1],
    "slogdet qr": lambda api, x: api.numpy.linalg.slogdet(x, method="qr")[1],
    "inv": lambda api, x: api.numpy.linalg.inv(x),
    "solve": lambda api, x: api.numpy.linalg.solve(x, x[0]),
    "solve for many": lambda api, x: api.numpy.linalg.solve(x, api.numpy.stack([x, 2 * x])),
    "power": lambda api, x: api.numpy.linalg.matrix_power(x, -2),
    "pinv": lambda api, x: api.numpy.linalg.pinv(x),
    "pinv of tall": lambda api, x: api.numpy.linalg.pinv(x[:, :2]),
    "pinv of hermitian": lambda api, x: api.numpy.linalg.pinv(x + x.conj().T, hermitian=True),
    "eigvals": lambda api, x: api.numpy.sort(api.numpy.abs(api.numpy.linalg.eigvals(x))),
    "eigvalsh": lambda api, x: api.numpy.linalg.eigvalsh(x),
    "eigh": lambda api, x: api.numpy.abs(api.numpy.linalg.eigh(x)[1]),
    "svdvals": lambda api, x: api.numpy.linalg.svdvals(x),
    "svd": lambda api, x: api.numpy.abs(api.numpy.linalg.svd(x[:, :2], full_matrices=False)[0]),
    "svd of hermitian": lambda api, x: api.numpy.linalg.svd(x + x.conj().T, hermitian=True)[1],
    "qr": lambda api, x: api.numpy.linalg.qr(x)[1],
    "cholesky": lambda api, x: api.numpy.linalg.cholesky(x @ x.conj().T, upper=True),
    "lu": lambda api, x: api.lax.linalg.lu(1.0 * x)[0],
    "cond": lambda api, x: api.numpy.linalg.cond(x),
    "cond 1": lambda api, x: api.numpy.linalg.cond(x, 1),
    "nuclear norm": lambda api, x: api.numpy.linalg.norm(x, "nuc"),
    "spectral norm": lambda api, x: api.numpy.linalg.norm(x, -2),
    "lstsq": lambda api, x: api.numpy.linalg.lstsq(x[:, :2], x[:, 2])[0],
    "tensorinv": lambda api, x: api.numpy.linalg.tensorinv(x, 1),
}


@pytest.mark.parametrize("name", SQUARES)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_values_and_derivatives_agree_with_jax(name, dtype):
    if (name, dtype) == ("slogdet qr", "complex64"):
        x = regular(*SQUARE, dtype=dtype)
        np.testing.assert_allclose(tnp.linalg.slogdet(x, method="qr"), np.linalg.slogdet(x), rtol=1e-5)
        return  # jax has it for real matrices only
    reference.check_derivatives(lambda api: lambda x: SQUARES[name](api, x), (regular(*SQUARE, dtype=dtype),), slack=40)


@pytest.mark.parametrize("name", SQUARES)
def test_derivatives_agree_with_finite_differences(name):
    with enable_x64(True), use_backend("numpy"):
        x = regular(*SQUARE, dtype="float64")
        reference.check_finite_differences(lambda x: SQUARES[name](tangrad, hermitian(x)), (x,))


@pytest.mark.parametrize("name", SQUARES)
def test_mapping(name):
    with use_backend("numpy"):
        reference.check_mapped(lambda x: SQUARES[name](tangrad, x), (regular(*SQUARE),), (0,), slack=40)


# --- results that have names, and batches --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_factors_make_the_matrix(on, dtype):
    with enable_x64(True):
        x = regular(2, 3, 3, dtype=dtype)
        close = {"rtol": 1e-3, "atol": 1e-3} if dtype in ("float32", "complex64") else {"rtol": 1e-9, "atol": 1e-9}
        q, r = tnp.linalg.qr(x)
        np.testing.assert_allclose(q @ r, x, **close)
        u, values, vh = tnp.linalg.svd(x[..., :2], full_matrices=False)
        np.testing.assert_allclose((u * values[..., None, :].astype(u.dtype)) @ vh, x[..., :2], **close)
        values, vectors = tnp.linalg.eig(x)
        np.testing.assert_allclose(x @ vectors, vectors * values[..., None, :], **close)
        values, vectors = tnp.linalg.eigh(hermitian(x))
        np.testing.assert_allclose(hermitian(x) @ vectors, vectors * values[..., None, :].astype(x.dtype), **close)
        u, values, vh = tnp.linalg.svd(hermitian(x), hermitian=True)
        np.testing.assert_allclose((u * values[..., None, :].astype(u.dtype)) @ vh, hermitian(x), **close)
        assert all(np.asarray(out).dtype == dtype for out in (q, r, u, vh, vectors))


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_log_determinants_are_made_of_inverses(on, order):
    """A⁻ᵀ, and of that -A⁻ᵀ Ȧᵀ A⁻ᵀ: nothing differentiates the factors, which takes several products of matrices."""
    x, t = regular(5, 5), regular(5, 5, seed=1)
    gradient = tangrad.grad(lambda x: tnp.linalg.slogdet(x)[1])
    taken = gradient if order == 1 else lambda x: tangrad.jvp(gradient, (x,), (t,))[1]
    inverse = np.linalg.inv(x.astype(np.float64))
    expected = inverse.T if order == 1 else -(inverse @ t @ inverse).T
    np.testing.assert_allclose(tangrad.jit(taken)(x), expected, rtol=1e-4, atol=1e-5)
    names = [equation.primitive.name for equation in tangrad.make_jaxpr(taken)(x).jaxpr.eqns]
    assert names.count("dot_general") == order - 1


def test_results_have_names(on):
    x = regular(*SQUARE)
    for function in ("qr", "svd", "eig", "eigh", "slogdet"):
        found, expected = getattr(tnp.linalg, function)(x), getattr(np.linalg, function)(x)
        assert type(found).__name__ == type(expected).__name__ and found._fields == expected._fields


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (0, 3, 3), (2, 0, 0)])
def test_nothing(on, shape):
    x = np.zeros(shape, np.float32)
    for mode in ("reduced", "complete"):
        for found, expected in zip(tnp.linalg.qr(x, mode), np.linalg.qr(x, mode)):
            assert found.shape == expected.shape
    for found, expected in zip(tnp.linalg.svd(x), np.linalg.svd(x)):
        np.testing.assert_array_equal(found, expected)
    assert tnp.linalg.pinv(x).shape == np.linalg.pinv(x).shape
    np.testing.assert_array_equal(tnp.linalg.matrix_rank(x), np.zeros(shape[:-2], int))
    if shape[-1] == shape[-2]:
        np.testing.assert_array_equal(tnp.linalg.det(x), np.linalg.det(x))
        assert tnp.linalg.inv(x).shape == shape
        for function in ("eig", "eigh", "slogdet"):
            for found, expected in zip(getattr(tnp.linalg, function)(x), getattr(np.linalg, function)(x)):
                assert found.shape == expected.shape


# --- matrices that are singular, or hold NaN -----------------------------------------------------------------------


def test_singular_matrices(on):
    x = np.zeros((3, 3), np.float32)
    assert not np.isfinite(np.asarray(tnp.linalg.inv(x))).any()
    assert not np.isfinite(np.asarray(tnp.linalg.solve(x, x[0]))).any()
    assert tnp.linalg.det(x) == 0
    sign, size = tnp.linalg.slogdet(x)
    assert sign == 0 and size == -np.inf
    assert tnp.linalg.matrix_rank(np.ones((3, 3), np.float32)) == 1
    for order in (1, "fro"):
        assert tnp.linalg.cond(x, order) == np.inf or np.isnan(tnp.linalg.cond(x, order))
    np.testing.assert_array_equal(tnp.linalg.pinv(x), x)
    # A regular matrix beside it is not touched.
    both = tnp.linalg.inv(np.stack([x, 2 * np.eye(3, dtype=np.float32)]))
    np.testing.assert_array_equal(both[1], np.eye(3) / 2)


def test_nan_stays_with_its_matrix(on):
    x = np.stack([hermitian(regular(*SQUARE)), np.full(SQUARE, np.nan, np.float32)])
    for function in ("eigvals", "eigvalsh", "svdvals", "inv", "det", "pinv"):
        good, bad = np.asarray(getattr(tnp.linalg, function)(x))
        assert np.isfinite(good).all() and np.isnan(bad).all(), function


@pytest.mark.parametrize("shape", [(20_000, 2), (2, 20_000)])
def test_the_gradient_of_pinv_makes_no_square_of_the_longer_side(on, shape):
    gradient = tangrad.grad(lambda x: (tnp.linalg.pinv(x) * np.ones(shape[::-1], np.float32)).sum())
    texts = str(tangrad.make_jaxpr(gradient)(np.ones(shape, np.float32)))
    assert "[20000,20000]" not in texts and "20000" in texts
    x = 3 * np.eye(9)[:, :2] + reference.normal((9, 2), "float64", 4)
    x = x if shape[0] > shape[1] else x.T
    with enable_x64(True):
        reference.check_finite_differences(lambda x: tnp.linalg.pinv(x) ** 2, (x,))


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_the_derivative_of_determinants_of_any_rank(on, rank):
    x = np.diag(np.float32([2, 3, 5][:rank] + [0] * (3 - rank)))
    cofactors = [np.prod([x[k, k] for k in range(3) if k != i]) for i in range(3)]
    np.testing.assert_allclose(tangrad.grad(tnp.linalg.det)(x), np.diag(cofactors), atol=1e-5)


def test_repeated_values(on):
    """Sums of singular values and eigenvalues have derivatives where these are equal; vectors have none."""
    x = np.eye(3, dtype=np.float32)
    for function in (tnp.linalg.svdvals, tnp.linalg.eigvalsh):
        np.testing.assert_allclose(tangrad.grad(lambda x, f=function: f(x).sum())(x), x, atol=1e-6)
    np.testing.assert_allclose(tangrad.grad(lambda x: tnp.linalg.pinv(x).sum())(x), -np.ones_like(x), atol=1e-6)
    assert np.isnan(np.asarray(tangrad.grad(lambda x: tnp.linalg.eigh(x)[1].sum())(x))).any()


def test_second_derivatives():
    with enable_x64(True), use_backend("numpy"):
        x = regular(*SQUARE, dtype="float64")
        for name in ("det", "inv", "pinv of tall", "slogdet", "eigvalsh", "svdvals", "qr"):

            def slope(x, name=name):
                return tangrad.jvp(lambda x: SQUARES[name](tangrad, x), (x,), (np.ones(SQUARE),))[1]

            reference.check_finite_differences(slope, (x,), step=1e-5, slack=10)


# --- messages ------------------------------------------------------------------------------------------------------

ONES = np.ones((2, 3), np.float32)
EYE = np.eye(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "inv: a must be square", lambda: tnp.linalg.inv(ONES)),
        (ValueError, "det: a must be square", lambda: tnp.linalg.det(ONES)),
        (ValueError, "solve: a must be square", lambda: tnp.linalg.solve(ONES, ONES)),
        (ValueError, "solve: b must have as many rows", lambda: tnp.linalg.solve(EYE, ONES)),
        (ValueError, "before the last two", lambda: tnp.linalg.solve(EYE[None].repeat(2, 0), EYE[None].repeat(3, 0))),
        (ValueError, "eigh: UPLO", lambda: tnp.linalg.eigh(EYE, "Q")),
        (ValueError, "eig: x must be a square", lambda: tnp.linalg.eig(ONES)),
        (ValueError, "qr: mode", lambda: tnp.linalg.qr(ONES, "thin")),
        (ValueError, "at least 2 dimensions", lambda: tnp.linalg.qr(ONES[0])),
        (ValueError, "pinv: a must have at least two", lambda: tnp.linalg.pinv(ONES[0])),
        (ValueError, "rtol and rcond", lambda: tnp.linalg.pinv(ONES, 0.1, rcond=0.1)),
        (ValueError, "rtol and tol", lambda: tnp.linalg.matrix_rank(ONES, 0.1, tol=0.1)),
        (ValueError, "slogdet: method", lambda: tnp.linalg.slogdet(EYE, method="svd")),
        (ValueError, "lstsq: b must have one or two", lambda: tnp.linalg.lstsq(ONES, ONES[None])),
        (ValueError, "as many rows", lambda: tnp.linalg.lstsq(ONES, ONES[0])),
        (ValueError, "ind must be positive", lambda: tnp.linalg.tensorinv(EYE, 0)),
        (ValueError, "as many elements", lambda: tnp.linalg.tensorinv(ONES, 1)),
        (ValueError, "tensorsolve", lambda: tnp.linalg.tensorsolve(ONES, ONES)),
        (ValueError, "an empty matrix", lambda: tnp.linalg.cond(np.zeros((0, 0), np.float32))),
        (ValueError, "is not a norm of matrices", lambda: tnp.linalg.norm(EYE, 3)),
        (ValueError, "subset_by_index", lambda: tnp.linalg.svd(EYE, full_matrices=False, subset_by_index=(2, 5))),
        (TypeError, "takes numbers", lambda: tnp.linalg.inv(tangrad.random.key(0))),
        (NotImplementedError, "full_matrices", lambda: tangrad.jvp(tnp.linalg.svd, (ONES,), (ONES,))),
        (NotImplementedError, "enable_eigvec_derivs", lambda: tangrad.jvp(tnp.linalg.eig, (EYE,), (EYE,))),
    ],
)
def test_messages(error, message, call):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("order", [1, 2, np.inf, "nuc", "fro"])
def test_norms_of_nothing_are_zero(on, order):
    for shape in ((0, 0), (0, 3), (3, 0), (2, 0, 3)):
        found = tnp.linalg.norm(tnp.zeros(shape), order, axis=(-2, -1))
        np.testing.assert_array_equal(found, np.linalg.norm(np.zeros(shape[:-2] + (1, 1)), order, axis=(-2, -1)))
    assert float(tnp.linalg.norm(tnp.zeros(0), np.inf)) == 0


def test_chains_of_products_take_the_least_work(on):
    """Cormen, Leiserson, Rivest, Stein, Introduction to Algorithms, an exercise of 14.2: 2,010 multiplications."""
    sizes = (5, 10, 3, 12, 5, 50, 6)
    arrays = [reference.normal(shape, "float32", seed) for seed, shape in enumerate(pairwise(sizes))]
    jaxpr = tangrad.make_jaxpr(tnp.linalg.multi_dot)(arrays)
    work = sum(
        int(np.prod(eqn.invars[0].aval.shape)) * eqn.outvars[0].aval.shape[1]
        for eqn in jaxpr.eqns
        if eqn.primitive.name == "dot_general"
    )
    assert work == 2010
    np.testing.assert_allclose(tnp.linalg.multi_dot(arrays), np.linalg.multi_dot(arrays), rtol=1e-4)
    vectors = [arrays[0][0], *arrays[1:-1], arrays[-1][:, 0]]
    np.testing.assert_allclose(tnp.linalg.multi_dot(vectors), np.linalg.multi_dot(vectors), rtol=1e-4)


@pytest.mark.parametrize("shapes", [[(2, 2, 2)] * 3, [(2, 2), (2,), (2, 2)], [(2, 3), (2, 3)], [(), (2, 2)]], ids=str)
def test_chains_that_do_not_fit(shapes):
    with pytest.raises(ValueError, match="multi_dot"):
        tnp.linalg.multi_dot([np.ones(shape, np.float32) for shape in shapes])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_determinants_of_narrow_floats(dtype):
    found = tnp.linalg.det(tnp.asarray([[2, 1], [1, 3]], dtype))
    assert found.dtype == dtype and float(found) == 5.0
