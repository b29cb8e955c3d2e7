"""Parts, shapes and layouts of sparse arrays against the dense ones that they stand for: also jitted, mapped, with
derivatives; layouts are JAX's."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import use_backend
from tangrad.experimental import sparse
from tangrad.experimental.sparse import BCOO, BCSR

from .test_sparse import CUBE, A, close, holes

LAYOUTS = {
    "sparse": {},
    "batches": {"n_batch": 1},
    "dense": {"n_dense": 1},
    "all kinds": {"n_batch": 1, "n_dense": 1},
    "batches alone": {"n_batch": 3},
}
SQUARE = np.float32([[0, 2, 0, 1], [3, 0, 0, 0], [0, 0, 4, 5]])


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param):
        yield request.param


# Operations on arrays (2, 3, 4), of dense and of sparse ones.
INDICES = {
    "first": 1,
    "last": (..., -1),
    "middle": (slice(None), 2),
    "element": (1, 2, 3),
    "steps": (slice(None), slice(0, 3, 2), slice(1, 4, 2)),
    "backwards": (slice(None, None, -1), slice(2, 0, -1)),
    "new": (None, 0, ..., None),
    "nothing": (slice(2, 2),),
    "rows": np.array([1, 0, 1]),
    "elements": (np.array([[1], [0]]), np.array([2, 0])),
}
STRUCTURE = {
    **{f"[{name}]": (lambda x, api, at=at: x[at]) for name, at in INDICES.items()},
    "slice": lambda x, api: (
        sparse.bcoo_slice(x, start_indices=(0, 1, 1), limit_indices=(2, 3, 4), strides=(1, 1, 2))
        if api is sparse
        else x[0:2, 1:3, 1:4:2]
    ),
    "dynamic slice": lambda x, api: (
        sparse.bcoo_dynamic_slice(x, (1, 9, -1), (1, 2, 3)) if api is sparse else x[1:2, 1:3, 0:3]
    ),
    "rev": lambda x, api: sparse.bcoo_rev(x, (0, 1, 2)) if api is sparse else x[::-1, ::-1, ::-1],
    "squeeze": lambda x, api: (
        sparse.bcoo_squeeze(x[:1, 1:2, 3:], dimensions=(0, -2, 2)) if api is sparse else x[0, 1, 3]
    ),
    "broadcast": lambda x, api: (
        sparse.bcoo_broadcast_in_dim(x, shape=(5, 2, 3, 4), broadcast_dimensions=(1, 2, 3))
        if api is sparse
        else np.broadcast_to(x, (5, 2, 3, 4))
    ),
    "broadcast between": lambda x, api: (
        sparse.bcoo_broadcast_in_dim(x[:, :1], shape=(2, 3, 2, 4), broadcast_dimensions=(0, 1, 3))
        if api is sparse
        else np.broadcast_to(x[:, :1, None], (2, 3, 2, 4))
    ),
    **{
        f"concatenate {axis}": lambda x, api, axis=axis: (
            sparse.bcoo_concatenate([x, 2 * x, -x], dimension=axis)
            if api is sparse
            else np.concatenate([x, 2 * x, -x], axis)
        )
        for axis in range(3)
    },
    "total": lambda x, api: x.sum(),
    "sums": lambda x, api: x.sum((0, 2)),
    "quotient": lambda x, api: x / np.arange(1, 5, dtype="float32"),
}


# Those that are written alike for arrays that are traced.
OF_TRACED = [name for name in STRUCTURE if name.startswith("[") or name in ("total", "sums", "quotient")]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", STRUCTURE)
def test_structure(on, name, layout):
    mat = BCOO.fromdense(CUBE, **LAYOUTS[layout])
    program = lambda mat: STRUCTURE[name](mat, sparse)
    expected = STRUCTURE[name](CUBE, np)
    close(program(mat), expected)
    close(tangrad.jit(program)(mat), expected)
    # All of these are linear: with the gradient of <w, f(x)>, <gradient, x> is that, and what is not kept has none.
    weights = np.arange(1.0, np.size(expected) + 1, dtype="float32").reshape(np.shape(expected))
    slope = sparse.grad(lambda mat: (sparse.todense(program(mat)) * weights).sum())(mat)
    np.testing.assert_allclose((sparse.todense(slope) * CUBE).sum(), (expected * weights).sum(), rtol=1e-4)
    if name in OF_TRACED:
        of_dense = tangrad.grad(lambda x: (STRUCTURE[name](x, tnp) * weights).sum())(tnp.asarray(CUBE))
        close(slope, np.where(mat.like(tnp.ones_like(mat.data)).todense() != 0, of_dense, 0))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_places_that_are_traced(on, layout):
    mat = BCOO.fromdense(CUBE, **LAYOUTS[layout])
    at = tangrad.jit(lambda mat, i, j: mat[i, :, j])
    for i, j in ((0, 1), (1, -2)):
        close(at(mat, i, j), CUBE[i, :, j])


RESHAPES = [
    ("sparse", (24,)),
    ("sparse", (6, -1)),
    ("sparse", (1, 4, 6)),
    ("batches", (2, 12)),
    ("batches", (1, 2, 6, 2)),
    ("dense", (6, 4)),
    ("dense", (6, 2, 2)),
    ("all kinds", (2, 3, 2, 2)),
    ("batches alone", (4, 6)),
]


@pytest.mark.parametrize(("layout", "shape"), RESHAPES)
def test_reshape(on, layout, shape):
    mat = BCOO.fromdense(CUBE, **LAYOUTS[layout])
    close(mat.reshape(shape), CUBE.reshape(shape))
    close(tangrad.jit(lambda mat: mat.reshape(*shape))(mat), CUBE.reshape(shape))
    close(sparse.bcoo_reshape(mat, new_sizes=mat.reshape(shape).shape), CUBE.reshape(shape))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("counts", [(0, 0), (1, 0), (0, 1), (2, 1), (0, 3), (3, 0)])
def test_layouts_are_changed(on, layout, counts):
    mat = BCOO.fromdense(CUBE, **LAYOUTS[layout])
    found = sparse.bcoo_update_layout(mat, n_batch=counts[0], n_dense=counts[1], on_inefficient=None)
    assert (found.n_batch, found.n_dense) == counts
    close(found, CUBE)


def test_mapped(on):
    """The dimension that is mapped is the first batch."""
    mat, rows = BCOO.fromdense(CUBE, n_batch=1), BCSR.fromdense(CUBE, n_batch=1)
    vector = np.arange(1.0, 5, dtype="float32")
    close(tangrad.vmap(lambda mat: mat @ vector)(mat), CUBE @ vector)
    close(tangrad.vmap(lambda mat: mat @ vector)(rows), CUBE @ vector)
    doubled = tangrad.vmap(lambda mat: (2 * mat)[::-1])(mat)
    assert (doubled.shape, doubled.n_batch) == ((2, 3, 4), 1)
    close(doubled, 2 * CUBE[:, ::-1])
    close(tangrad.vmap(lambda x: BCOO.fromdense(x, nse=12))(CUBE), CUBE)
    close(tangrad.lax.scan(lambda total, mat: (total + (mat @ vector).sum(), None), 0.0, mat)[0], (CUBE @ vector).sum())
    assert [part.shape for part in mat] == [(3, 4)] * 2 and len(mat) == 2


def test_what_stands_outside_stays_outside(on):
    """Coordinates beyond the array stand for nothing, also in what is made of it."""
    mat = BCOO((np.float32([1, 9, 9, 9]), np.array([[0, 1], [1, 0], [0, 4], [5, 5]])), shape=(1, 4))
    dense = np.float32([[0, 1, 0, 0]])
    close(mat, dense)
    for found, expected in [
        (mat[0], dense[0]),
        (mat[:, ::-1], dense[:, ::-1]),
        (mat[:, 1:], dense[:, 1:]),
        (mat.reshape(4), dense[0]),
        (sparse.bcoo_concatenate([mat, mat], dimension=0), np.concatenate([dense, dense])),
        (sparse.bcoo_broadcast_in_dim(mat, shape=(3, 4), broadcast_dimensions=(0, 1)), dense.repeat(3, 0)),
        (mat.update_layout(n_batch=1, on_inefficient=None), dense),
        (mat.update_layout(n_dense=1, on_inefficient=None), dense),
        (mat.sum(0), dense[0]),
        (mat.sum(), 1),
        (BCSR.from_bcoo(mat), dense),
    ]:
        close(found if not isinstance(found, BCSR) else found.to_bcoo(), expected)


NUMBERS = {
    "matrices": (A, A.T, (((1,), (0,)), ((), ()))),
    "two dimensions": (CUBE, CUBE, (((2, 0), (2, 0)), ((), ()))),
    "batches": (CUBE, CUBE, (((2,), (2,)), ((0,), (0,)))),
    "batches behind": (CUBE, CUBE, (((0,), (0,)), ((2,), (2,)))),
    "outer": (A[0], A[1], (((), ()), ((), ()))),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_contractions(on, name):
    lhs, rhs, numbers = NUMBERS[name]
    expected = np.asarray(tangrad.lax.dot_general(tnp.asarray(lhs), tnp.asarray(rhs), numbers))
    product = lambda a, b: sparse.bcoo_dot_general(a, b, dimension_numbers=numbers)
    a, b = BCOO.fromdense(lhs), BCOO.fromdense(rhs)
    for pair in ((a, rhs), (lhs, b), (a, b), (BCOO.fromdense(lhs, n_batch=1), rhs)):
        close(product(*pair), expected)
        close(tangrad.jit(product)(*pair), expected)
    places = np.stack(np.unravel_index(np.arange(0, expected.size, 2), expected.shape), -1)
    sampled = lambda a, b: sparse.bcoo_dot_general_sampled(a, b, places, dimension_numbers=numbers)
    close(tangrad.jit(sampled)(lhs, rhs), expected.ravel()[::2])
    weights = np.arange(1.0, len(places) + 1, dtype="float32")
    dense = lambda a: (tangrad.lax.dot_general(a, tnp.asarray(rhs), numbers).ravel()[::2] * weights).sum()
    slope = tangrad.grad(lambda a: (sampled(a, rhs) * weights).sum())(tnp.asarray(lhs))
    close(slope, tangrad.grad(dense)(tnp.asarray(lhs)))


# --- rows ------------------------------------------------------------------------------------------------------------

ROWS = {
    "matrix": (A, {}),
    "with room": (A, {"nse": 10}),
    "batches": (CUBE, {"n_batch": 1}),
    "dense": (CUBE, {"n_dense": 1}),
    "empty rows": (np.float32([[0, 0], [0, 3], [0, 0]]), {}),
    "nothing": (np.zeros((2, 3), "float32"), {}),
}


def test_places_that_booleans_mark(on):
    mat, marks = BCOO.fromdense(CUBE), np.arange(CUBE.shape[0]) % 2 == 1
    for marked in (marks, tnp.asarray(marks), np.zeros_like(marks)):
        close(mat[marked], CUBE[np.asarray(marked)])
        close(mat[marked, 1:], CUBE[np.asarray(marked), 1:])
    both = np.flip(CUBE != 0, 1)[..., 0]
    close(mat[both], CUBE[both])
    with pytest.raises(NotImplementedError, match="in front of slices"):
        mat[:, np.ones(CUBE.shape[1], bool)]


def test_parts_of_matrices_by_rows(on):
    mat, batches = BCSR.fromdense(A), BCSR.fromdense(CUBE, n_batch=1)
    for index in (None, slice(1, 3), (slice(None), slice(None, None, 2)), (..., slice(None, None, -1))):
        assert isinstance(mat[index], BCSR)
        close(mat[index].todense(), A[index])
    for index in (1, -1, (slice(1, 2), slice(0, 2)), (slice(None), None)):
        close(batches[index].todense(), CUBE[index])
    with pytest.raises(ValueError, match="2 sparse dimensions"):
        mat[0]


@pytest.mark.parametrize("n_batch", [0, 1])
def test_values_at_coordinates_that_are_there_twice(on, n_batch):
    indices = np.array([[0], [2], [0], [9]], np.int32)
    values, shape, dense = np.ones(4, np.float32), (3,), np.float32([5, 6, 7])
    found = [[5, 7, 0, 0], [5, 7, 5, 0]]
    if n_batch:
        indices, values = np.stack([indices, indices[::-1]]), np.ones((2, 4), np.float32)
        shape, dense = (2, 3), np.stack([dense, dense + 1])
        found = [[found[0], [0, 6, 8, 0]], [found[1], [0, 6, 8, 6]]]
    mat = BCOO((values, indices), shape=shape)
    extract = lambda mat, dense, unique: sparse.bcoo_extract(mat, dense, assume_unique=unique).data
    for run in (extract, tangrad.jit(extract, static_argnums=2)):
        assert run(mat, dense, False).tolist() == run(mat, dense, None).tolist() == found[0]
        assert run(mat, dense, True).tolist() == found[1]
    none = BCOO((np.arange(6.0).reshape(3, 2), np.zeros((3, 2, 0), int)), shape=(3,))
    assert extract(none, none.todense(), False).tolist() == [[1, 0], [5, 0], [9, 0]]


@pytest.mark.parametrize("name", ROWS)
def test_matrices_by_rows(on, name):
    dense, layout = ROWS[name]
    mat = sparse.bcsr_fromdense(dense, **layout)
    assert mat.shape == dense.shape and mat.n_sparse == 2 and mat.dtype == dense.dtype
    close(sparse.bcsr_todense(mat), dense)
    close(tangrad.jit(lambda mat: mat.todense())(mat), dense)
    nse = mat.nse
    close(tangrad.jit(lambda x: BCSR.fromdense(x, **{**layout, "nse": nse}).todense())(dense), dense)
    close(sparse.bcsr_extract(mat.indices, mat.indptr, dense), mat.data)
    close((-mat).todense(), -dense)
    close((2 * mat).todense(), 2 * dense)
    close((mat + mat).todense(), 2 * dense)
    close(sparse.bcsr_sum_duplicates(BCSR.from_bcoo(mat.to_bcoo() + (-3 * mat).to_bcoo())).todense(), -2 * dense)
    close(
        sparse.bcsr_concatenate([mat, mat], dimension=mat.n_batch).todense(), np.concatenate([dense] * 2, mat.n_batch)
    )
    shape, axes = (2, *dense.shape), tuple(range(1, dense.ndim + 1))
    wide = sparse.bcsr_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=axes)
    close(wide.todense(), np.broadcast_to(dense, shape))
    slope = sparse.grad(lambda mat: (mat.todense() ** 3).sum())(mat)
    close(slope.todense(), 3 * dense**2)
    if not mat.n_dense:
        other = holes(dense.shape[-1], 3)
        close(mat @ other, dense @ other)
        close(mat @ other[:, 0], dense @ other[:, 0])
        close(tangrad.jit(lambda mat: mat @ other)(mat), dense @ other)
        close(mat.T.todense() if mat.ndim == 2 else mat.todense(), dense.T if mat.ndim == 2 else dense)


def test_rows_of_scipy():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    theirs = scipy_sparse.csr_matrix(A)
    mat = BCSR.from_scipy_sparse(theirs)
    np.testing.assert_array_equal(mat.indptr, theirs.indptr)
    np.testing.assert_array_equal(BCSR.fromdense(A).indices, theirs.indices)
    close(mat.todense(), A)


# --- Jacobians -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
@pytest.mark.parametrize("layout", ["sparse", "batches", "dense"])
def test_jacobians(on, name, layout):
    mat = BCOO.fromdense(SQUARE, **LAYOUTS[layout])
    jacobian, of_dense = getattr(sparse, name), getattr(tangrad, name)
    function = lambda x, v: {"a": tnp.sin(x) @ v, "b": (x**2).sum()}
    vector = np.arange(1.0, 5, dtype="float32")
    of_sparse = lambda mat, v: function(sparse.todense(mat), v)
    found = jacobian(of_sparse, (0, 1))(mat, vector)
    expected = of_dense(function, (0, 1))(tnp.asarray(SQUARE), vector)
    there = np.asarray(mat.like(tnp.ones_like(mat.data)).todense())
    for key in ("a", "b"):
        close(found[key][0], expected[key][0] * there)
        close(found[key][1], expected[key][1])
    jitted = tangrad.jit(jacobian(lambda mat: (of_sparse(mat, vector)["a"], 1.0), has_aux=True))(mat)
    close(jitted[0], expected["a"][0] * there)
    by_rows = jacobian(lambda mat: mat @ vector)(BCSR.fromdense(SQUARE))
    assert isinstance(by_rows, BCSR) and by_rows.shape == (3, 3, 4)
    close(by_rows.todense(), np.einsum("ij,k->ijk", np.eye(3), vector) * (SQUARE != 0))


# --- what is refused -------------------------------------------------------------------------------------------------

with use_backend("numpy"):
    M = BCOO.fromdense(SQUARE)
BAD = {
    "index beyond": (lambda: M[3], IndexError, "index 3 is out of bounds for a dimension of size 3"),
    "many indices": (lambda: M[0, 0, 0], IndexError, "too many indices: 3"),
    "mask": (
        lambda: M[np.array([True, False])],
        IndexError,
        "of shape \\(2,\\) stands for dimensions of sizes \\(3, 4\\)",
    ),
    "mask behind": (
        lambda: M[0, np.ones(3, bool)],
        IndexError,
        "of shape \\(3,\\) stands for dimensions of sizes \\(4,\\)",
    ),
    "mask of all": (lambda: M[np.ones((4, 3), bool)], IndexError, "stands for dimensions"),
    "mask behind a slice": (lambda: M[:, np.ones(4, bool)], NotImplementedError, "must stand in front"),
    "float": (lambda: M[1.5], IndexError, "of type float"),
    "array behind": (lambda: M[:, np.array([0, 1])], NotImplementedError, "must stand in front"),
    "two dots": (lambda: M[..., ...], IndexError, "single ellipsis"),
    "limits": (
        lambda: sparse.bcoo_slice(M, start_indices=(0, 2), limit_indices=(3, 9)),
        ValueError,
        "are not within the shape",
    ),
    "count": (lambda: sparse.bcoo_slice(M, start_indices=(0,), limit_indices=(3, 4)), ValueError, "1 start_indices"),
    "sizes": (lambda: sparse.bcoo_dynamic_slice(M, (0, 0), (4, 4)), ValueError, "slice_sizes"),
    "dimension": (lambda: sparse.bcoo_rev(M, (2,)), ValueError, "dimensions \\(2,\\) of an array of shape \\(3, 4\\)"),
    "twice": (lambda: sparse.bcoo_rev(M, (0, -2)), ValueError, "name one twice"),
    "squeeze": (lambda: sparse.bcoo_squeeze(M, dimensions=(0,)), ValueError, "not all of size 1"),
    "reshape": (lambda: M.reshape(5, 3), ValueError, "cannot have the shape"),
    "mixed": (lambda: BCOO.fromdense(SQUARE, n_batch=1).reshape(6, 2), ValueError, "stay apart"),
    "broadcast": (
        lambda: sparse.bcoo_broadcast_in_dim(M, shape=(5, 4), broadcast_dimensions=(0, 1)),
        ValueError,
        "broadcast_dimensions \\(0, 1\\)",
    ),
    "concatenate": (lambda: sparse.bcoo_concatenate([M, M[:, 1:]], dimension=0), ValueError, "shapes must be equal"),
    "dense one": (lambda: sparse.bcoo_concatenate([M, SQUARE], dimension=0), TypeError, "expects a BCOO"),
    "inefficient": (
        lambda: M.update_layout(n_batch=1),
        sparse.SparseEfficiencyError,
        "15 values to be kept instead of 5",
    ),
    "layout": (lambda: M.update_layout(n_batch=2, n_dense=1), ValueError, "n_batch=2 and n_dense=1"),
    "number": (lambda: M + 1, NotImplementedError, "would have no zeros"),
    "rows of a cube": (lambda: BCSR.from_bcoo(BCOO.fromdense(CUBE)), ValueError, "2 sparse dimensions, got 3"),
    "rows": (lambda: BCSR.fromdense(CUBE), ValueError, "no rows and columns left"),
    "indptr": (
        lambda: BCSR((np.ones(2), np.zeros(2, int), np.zeros(2, int)), shape=(2, 2)),
        ValueError,
        "indptr must be of shapes",
    ),
    "two arrays": (lambda: BCSR((np.ones(2), np.zeros(2, int)), shape=(2, 2)), TypeError, "data, indices, indptr"),
    "format": (
        lambda: sparse.eye(3, sparse_format="lil"),
        ValueError,
        "one of \\['bcoo', 'bcsr', 'coo', 'csc', 'csr'\\], got 'lil'",
    ),
    "sparse result": (lambda: sparse.jacrev(lambda mat: 2 * mat)(M), TypeError, "must be dense"),
    "sampled": (
        lambda: sparse.bcoo_dot_general_sampled(
            A, A.T, np.zeros((3, 1), int), dimension_numbers=(((1,), (0,)), ((), ()))
        ),
        ValueError,
        "are not those of a result",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, kind, words = BAD[name]
    with use_backend("numpy"), pytest.raises(kind, match=words):
        call()


def test_a_warning_instead():
    with use_backend("numpy"), pytest.warns(sparse.SparseEfficiencyWarning, match="15 values"):
        sparse.bcoo_update_layout(M, n_batch=1, on_inefficient="warn")
