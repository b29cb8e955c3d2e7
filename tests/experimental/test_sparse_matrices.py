"""`COO`, `CSR` and `CSC` against the matrices that they stand for and against JAX's, and solvers against NumPy's."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import use_backend
from tangrad._sparse import solvers
from tangrad.experimental import sparse

DRAW = np.random.default_rng(3)
DENSE = np.array([[0, 1, 2, 0], [0, 0, 0, 0], [3, 0, 0, 4]], "float32")
FORMATS = ["COO", "CSR", "CSC"]


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def on(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib")
    with use_backend(request.param):
        yield request.param


def made(name):
    return getattr(sparse, name).fromdense(tnp.asarray(DENSE))


# --- formats --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_they_represent_the_matrix(name):
    matrix = made(name)
    assert (matrix.shape, matrix.nse, matrix.dtype, matrix.ndim) == ((3, 4), 4, np.float32, 2)
    assert repr(matrix) == f"{name}(float32[3, 4], nse=4)"
    assert np.array_equal(matrix.todense(), DENSE) and np.array_equal(matrix.T.todense(), DENSE.T)
    assert type(matrix.T.T) is type(matrix) and np.array_equal(matrix.T.T.todense(), DENSE)
    assert np.array_equal(matrix.to_bcoo().todense(), DENSE)
    assert np.array_equal((2 * matrix - matrix / 2).todense(), 1.5 * DENSE)
    assert np.array_equal(matrix.sum_duplicates().todense(), DENSE) and type(matrix.sum_duplicates()) is type(matrix)
    again = tangrad.tree.map(lambda leaf: leaf, matrix)
    assert type(again) is type(matrix) and again.flags == matrix.flags and np.array_equal(again.todense(), DENSE)


@pytest.mark.parametrize("name", FORMATS)
def test_products_and_derivatives(name):
    matrix = made(name)
    vector, other = np.arange(4, dtype="float32"), DRAW.normal(size=(4, 2)).astype("float32")
    for run in (lambda a, x: a @ x, tangrad.jit(lambda a, x: a @ x)):
        np.testing.assert_allclose(run(matrix, vector), DENSE @ vector)
        np.testing.assert_allclose(run(matrix, other), DENSE @ other, rtol=1e-6)
    np.testing.assert_allclose(np.ones(3, "float32") @ matrix, np.ones(3) @ DENSE)
    mapped = tangrad.vmap(lambda x: matrix @ x)(np.stack([vector, 2 * vector]))
    np.testing.assert_allclose(mapped, np.stack([DENSE @ vector, 2 * DENSE @ vector]))
    slope = tangrad.grad(lambda data: (matrix.like(data) @ vector).sum())(matrix.data)
    places = {float(value): float(column) for row in DENSE for column, value in enumerate(row) if value}
    assert slope.tolist() == [places[float(value)] for value in matrix.data]


@pytest.mark.parametrize("name", FORMATS)
def test_parts_are_those_of_jax(name):
    jax = pytest.importorskip("jax")
    theirs = getattr(pytest.importorskip("jax.experimental.sparse"), name).fromdense(jax.numpy.asarray(DENSE))
    ours = made(name)
    for part in ("data", *ours.coordinates):
        assert np.array_equal(getattr(ours, part), getattr(theirs, part)), part


@pytest.mark.parametrize("name", FORMATS)
def test_of_traced_matrices_so_many_elements_are_kept_as_is_said(name):
    kind = getattr(sparse, name)
    found = tangrad.jit(lambda dense: kind.fromdense(dense, nse=6))(DENSE)
    assert found.nse == 6 and np.array_equal(found.todense(), DENSE)
    with pytest.raises(ValueError, match="nse"):
        tangrad.jit(kind.fromdense)(DENSE)


def test_duplicates_add_up():
    matrix = sparse.COO((tnp.ones(3), tnp.asarray([0, 0, 1]), tnp.asarray([1, 1, 0])), shape=(2, 2))
    assert matrix.todense().tolist() == [[0, 2], [1, 0]] and matrix.sum_duplicates().nse == 2
    assert matrix.T.todense().tolist() == [[0, 1], [2, 0]]
    assert made("COO").rows_sorted and made("COO").T.cols_sorted and not made("COO").T.rows_sorted


@pytest.mark.parametrize("name", FORMATS)
def test_makers_know_them(name):
    eye, empty = sparse.eye(3, 4, 1, sparse_format=name.lower()), sparse.empty((2, 3), sparse_format=name.lower())
    assert type(eye).__name__ == type(empty).__name__ == name
    assert np.array_equal(eye.todense(), np.eye(3, 4, 1)) and np.array_equal(empty.todense(), np.zeros((2, 3)))


@pytest.mark.parametrize("name", ["coo", "csr"])
def test_functions(name):
    of = lambda function: getattr(sparse, f"{name}_{function}")
    matrix = of("fromdense")(tnp.asarray(DENSE))
    assert type(matrix).__name__ == name.upper() and np.array_equal(of("todense")(matrix), DENSE)
    assert np.array_equal(of("matvec")(matrix, np.ones(4, "float32")), DENSE.sum(1))
    assert np.array_equal(of("matvec")(matrix, np.ones(3, "float32"), transpose=True), DENSE.sum(0))
    assert np.array_equal(of("matmat")(matrix, np.eye(4, dtype="float32")), DENSE)
    assert np.array_equal(of("matmat")(matrix, np.eye(3, dtype="float32"), transpose=True), DENSE.T)


REFUSED = {
    "parts missing": (lambda: sparse.COO((np.ones(2), np.ones(2, int)), shape=(2, 2)), TypeError, "args must be"),
    "rank": (lambda: sparse.CSR.fromdense(np.ones(3)), ValueError, "CSR.fromdense expects a matrix"),
    "floats": (lambda: sparse.COO([np.ones(2)] * 3, shape=(2, 2)), TypeError, "row must be integers"),
    "pointers": (
        lambda: sparse.CSC((np.ones(2), np.zeros(2, int), np.zeros(2, int)), shape=(2, 2)),
        ValueError,
        r"must be of shapes \(\(2,\), \(2,\), \(3,\)\)",
    ),
    "batches": (lambda: sparse.CSR.from_bcoo(sparse.eye(2, n_batch=1)), ValueError, "without batch"),
    "axes": (lambda: made("CSR").transpose((0, 1)), NotImplementedError, "axes must be None or"),
    "another format": (lambda: sparse.coo_todense(made("CSR")), TypeError, "coo_todense expects a COO, got CSR"),
    "a matrix for a vector": (lambda: sparse.csr_matvec(made("CSR"), np.ones((4, 1))), ValueError, "1 dimensions"),
    "sizes": (lambda: made("COO") @ np.ones(3), ValueError, "differ"),
    "unknown format": (lambda: sparse.eye(2, sparse_format="dia"), ValueError, "sparse_format must be one of"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused(what):
    call, error, words = REFUSED[what]
    with pytest.raises(error, match=words):
        call()


# --- eigenvectors ---------------------------------------------------------------------------------------------------


def hermitian(dtype, values):
    size = len(values)
    turned = DRAW.normal(size=(size, size)) + (1j * DRAW.normal(size=(size, size)) if dtype == "complex64" else 0)
    q = np.linalg.qr(turned)[0]
    whole = (q * values) @ q.conj().T
    return ((whole + whole.conj().T) / 2).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(
    "values",
    [np.linspace(-5, 20, 40), np.r_[np.full(5, 3.0), np.linspace(0, 1, 35)], -np.linspace(1, 20, 40)],
    ids=["apart", "five times the same", "negative"],
)
def test_the_greatest_eigenvalues(dtype, values):
    matrix = hermitian(dtype, values)
    start = DRAW.normal(size=(40, 4)).astype(dtype)
    for run in (sparse.linalg.lobpcg_standard, tangrad.jit(sparse.linalg.lobpcg_standard)):
        found, vectors, steps = run(tnp.asarray(matrix), start)
        assert found.shape == (4,) and vectors.shape == (40, 4) and 0 < int(steps) <= 100
        np.testing.assert_allclose(found, np.sort(values)[::-1][:4], atol=2e-3)
        np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(4), atol=1e-5)
        np.testing.assert_allclose(matrix @ np.asarray(vectors), vectors * found, atol=2e-2)


def test_matrices_may_be_functions_or_sparse_and_steps_limited():
    diagonal = np.arange(1, 101, dtype="float32")
    start = DRAW.normal(size=(100, 3)).astype("float32")
    by_function = sparse.linalg.lobpcg_standard(lambda x: diagonal[:, None] * x, start)
    by_matrix = sparse.linalg.lobpcg_standard(sparse.CSR.fromdense(np.diag(diagonal)), start)
    np.testing.assert_allclose(by_function[0], [100, 99, 98], atol=0.2)
    np.testing.assert_allclose(by_function[0], by_matrix[0], rtol=1e-4)
    assert int(sparse.linalg.lobpcg_standard(lambda x: diagonal[:, None] * x, start, m=3)[2]) == 3
    assert int(sparse.linalg.lobpcg_standard(lambda x: diagonal[:, None] * x, start, tol=1.0)[2]) == 0


def test_steps_are_as_many_as_those_of_jax():
    jax = pytest.importorskip("jax")
    theirs = pytest.importorskip("jax.experimental.sparse.linalg").lobpcg_standard
    matrix, start = hermitian("float32", np.linspace(-5, 20, 40)), DRAW.normal(size=(40, 4)).astype("float32")
    ours = sparse.linalg.lobpcg_standard(tnp.asarray(matrix), start)
    expected = theirs(jax.numpy.asarray(matrix), jax.numpy.asarray(start))
    np.testing.assert_allclose(ours[0], expected[0], rtol=1e-4)
    assert abs(int(ours[2]) - int(expected[2])) <= 10


EIGENVALUES_REFUSED = {
    "too many": (np.eye(5), np.ones((5, 1)), ValueError, "0 < 5 k < 5, got 1"),
    "none": (np.eye(50), np.ones((50, 0)), ValueError, "0 < 5 k < 50, got 0"),
    "a vector": (np.eye(50), np.ones(50), ValueError, "two dimensions"),
    "another size": (np.eye(50), np.ones((49, 1)), ValueError, r"A must be of shape \(49, 49\)"),
    "not square": (lambda x: x[:3], np.ones((49, 1)), ValueError, r"makes \(3, 1\)"),
    "integers": (np.eye(50, dtype=int), np.ones((50, 1), int), TypeError, "X must be floating"),
    "dtypes": (np.eye(50, dtype="complex64"), np.ones((50, 1), "float32"), TypeError, "one dtype"),
}


@pytest.mark.parametrize("what", EIGENVALUES_REFUSED)
def test_eigenvalues_of_what_does_not_fit(what):
    matrix, start, error, words = EIGENVALUES_REFUSED[what]
    with pytest.raises(error, match=words):
        sparse.linalg.lobpcg_standard(matrix, start)


# --- systems --------------------------------------------------------------------------------------------------------

SYSTEM = (DRAW.normal(size=(6, 6)) * (DRAW.random((6, 6)) < 0.4) + 3 * np.eye(6)).astype("float32")
RIGHT = DRAW.normal(size=6).astype("float32")


@pytest.fixture(params=["by SciPy", "dense"])
def way(request, monkeypatch):
    if request.param == "dense":
        monkeypatch.setattr(solvers.importlib.util, "find_spec", lambda name: None)
    else:
        pytest.importorskip("scipy")


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_sparse_systems(way, dtype):
    matrix = sparse.CSR.fromdense(tnp.asarray(SYSTEM.astype(dtype)))
    solve = lambda data, b: sparse.linalg.spsolve(data, matrix.indices, matrix.indptr, b)
    right = RIGHT.astype(dtype)
    expected = np.linalg.solve(SYSTEM.astype(dtype), right)
    for run in (solve, tangrad.jit(solve)):
        found = run(matrix.data, right)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    mapped = tangrad.vmap(solve, (None, 0))(matrix.data, np.stack([right, 2 * right]))
    np.testing.assert_allclose(mapped, np.stack([expected, 2 * expected]), rtol=1e-4, atol=1e-5)


def test_derivatives_of_sparse_systems(way):
    matrix = sparse.CSR.fromdense(tnp.asarray(SYSTEM))

    def by_parts(data, b):
        return (sparse.linalg.spsolve(data, matrix.indices, matrix.indptr, b) ** 3).sum()

    def dense(data, b):
        return (tnp.linalg.solve(matrix.like(data).todense(), b) ** 3).sum()

    found = tangrad.jit(tangrad.grad(by_parts, (0, 1)))(matrix.data, RIGHT)
    expected = tangrad.grad(dense, (0, 1))(matrix.data, RIGHT)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    tangents = tnp.ones_like(matrix.data), tnp.ones(6)
    along = [tangrad.jvp(f, (matrix.data, tnp.asarray(RIGHT)), tangents)[1] for f in (by_parts, dense)]
    np.testing.assert_allclose(*along, rtol=1e-3)


def test_singular_systems_have_no_solution():
    pytest.importorskip("scipy")
    matrix = sparse.CSR((tnp.ones(1), tnp.zeros(1, int), tnp.asarray([0, 1, 1])), shape=(2, 2))
    assert np.isnan(sparse.linalg.spsolve(matrix.data, matrix.indices, matrix.indptr, np.ones(2, "float32"))).all()


def test_systems_that_do_not_fit():
    matrix = sparse.CSR.fromdense(tnp.asarray(SYSTEM))
    parts = matrix.data, matrix.indices, matrix.indptr
    for right, options, error, words in (
        (np.ones(5, "float32"), {}, ValueError, "CSR: of a matrix of shape"),
        (np.ones((6, 1), "float32"), {}, ValueError, "b must be a vector"),
        (np.ones(6, "float32"), {"reorder": 9}, ValueError, "reorder must be 0, 1, 2 or 3"),
        (np.ones(6, int), {}, TypeError, "one floating or complex dtype"),
    ):
        with pytest.raises(error, match=words):
            sparse.linalg.spsolve(*parts, right, **options)
