"""Sparse arrays against the dense ones that they stand for, on both backends, jitted, mapped, differentiated."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import use_backend
from tangrad.experimental import sparse
from tangrad.experimental.sparse import BCOO

DRAW = np.random.default_rng(7)


def holes(*shape):
    dense = DRAW.normal(size=shape).astype("float32")
    dense[DRAW.random(shape) < 0.6] = 0
    return dense


A, B, V, CUBE, STACK = holes(3, 4), holes(4, 5), DRAW.normal(size=4).astype("float32"), holes(2, 3, 4), holes(2, 4, 5)
LAYOUTS = {
    "matrix": (A, {}),
    "with room": (A, {"nse": 10}),
    "cube": (CUBE, {}),
    "batches": (CUBE, {"n_batch": 1}),
    "two batches": (CUBE, {"n_batch": 2}),
    "dense": (CUBE, {"n_dense": 1}),
    "all kinds": (CUBE, {"n_batch": 1, "n_dense": 1}),
    "nothing": (np.zeros((2, 3), "float32"), {}),
    "integers": ((A * 10).astype("int32"), {}),
    "truth": (A > 0, {}),
}


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param):
        yield request.param


def close(found, expected):
    if isinstance(found, BCOO):
        assert found.shape == np.shape(expected)
        found = found.todense()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", LAYOUTS)
def test_conversions_and_structure(on, name):
    dense, layout = LAYOUTS[name]
    mat = sparse.bcoo_fromdense(dense, **layout)
    assert (mat.n_batch, mat.n_dense) == (layout.get("n_batch", 0), layout.get("n_dense", 0))
    assert mat.n_batch + mat.n_sparse + mat.n_dense == mat.ndim == dense.ndim and mat.dtype == dense.dtype
    close(mat, dense)
    close(sparse.bcoo_todense(tangrad.jit(lambda mat: mat)(mat)), dense)
    nse = mat.nse
    close(tangrad.jit(lambda dense: sparse.bcoo_fromdense(dense, **{**layout, "nse": nse}))(dense), dense)
    order = [
        *range(mat.n_batch),
        *range(mat.n_batch, mat.ndim - mat.n_dense)[::-1],
        *range(mat.ndim - mat.n_dense, mat.ndim),
    ]
    turned = sparse.bcoo_transpose(mat, permutation=order)
    close(turned, dense.transpose(order))
    ordered = turned.sort_indices()
    close(ordered, dense.transpose(order))
    indices = np.asarray(ordered.indices)
    batches = [indices[place].tolist() for place in np.ndindex(indices.shape[:-2])]
    assert all(rows == sorted(rows) for rows in batches)
    for axes in [(0,), (dense.ndim - 1,), tuple(range(dense.ndim))]:
        if dense.dtype != bool:
            close(sparse.bcoo_reduce_sum(mat, axes=axes), dense.sum(axes))


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name != "truth"])
def test_arithmetic(on, name):
    dense, layout = LAYOUTS[name]
    mat = BCOO.fromdense(dense, **layout)
    other = np.flip(dense, -1).copy()
    close(-mat, -dense)
    close(mat * 2, dense * 2)
    close(2 * mat + mat, dense * 3)
    close(mat - mat, dense * 0)
    close(mat + other, dense + other)
    close(mat * other, dense * other)
    close(sparse.bcoo_multiply_dense(mat, dense[..., :1]), dense * dense[..., :1])
    close(sparse.bcoo_extract(mat, other), np.where(mat.like(tnp.ones_like(mat.data)).todense() != 0, other, 0))
    doubled = (mat + mat).sum_duplicates()
    close(doubled, dense * 2)
    assert doubled.nse == (0 if not dense.any() else BCOO.fromdense(dense, **{**layout, "nse": None}).nse)
    close(tangrad.jit(lambda mat: (mat + mat).sum_duplicates())(mat), dense * 2)


def test_products(on):
    a, b, v = BCOO.fromdense(A, nse=9), BCOO.fromdense(B), BCOO.fromdense(V)
    cube, batched, stack = BCOO.fromdense(CUBE), BCOO.fromdense(CUBE, n_batch=1), BCOO.fromdense(STACK)
    for found, expected in [
        (a @ V, A @ V),
        (a @ B, A @ B),
        (A @ b, A @ B),
        (V @ b, V @ B),
        (a @ b, A @ B),
        (a @ v, A @ V),
        (v @ b, V @ B),
        (a.T @ A, A.T @ A),
        (cube @ V, CUBE @ V),
        (batched @ B, CUBE @ B),
        (cube @ STACK, CUBE @ STACK),
        (batched @ STACK, CUBE @ STACK),
        (CUBE @ stack, CUBE @ STACK),
        (cube @ stack, CUBE @ STACK),
        (A @ stack, A @ STACK),
        (a @ STACK, A @ STACK),
        (tangrad.jit(lambda a, b: a @ b)(a, b), A @ B),
        (a * a, A * A),
        (sparse.bcoo_multiply_sparse(cube, cube), CUBE * CUBE),
    ]:
        close(found, expected)
    numbers = (((0, 2), (0, 1)), ((), ()))
    expected = np.einsum("ijk,ikl->jl", CUBE, STACK)
    for one in (cube, batched):
        close(sparse.bcoo_dot_general(one, STACK, dimension_numbers=numbers), expected)
    turned = sparse.bcoo_dot_general(STACK, batched, dimension_numbers=(((0, 1), (0, 2)), ((), ())))
    close(turned, expected.T)


def test_derivatives(on):
    a, b = BCOO.fromdense(A, nse=9), BCOO.fromdense(B)
    there = A != 0
    gradient, of_vector = sparse.grad(lambda mat, v: ((mat @ v) ** 2).sum(), (0, 1))(a, V)
    close(gradient, there * (2 * np.outer(A @ V, V)))
    close(of_vector, 2 * A.T @ (A @ V))
    value, gradient = tangrad.jit(sparse.value_and_grad(lambda mat: ((mat @ b).todense() ** 2).sum()))(a)
    close(value, ((A @ B) ** 2).sum())
    close(gradient, there * (2 * (A @ B) @ B.T))
    _, tangent = tangrad.jvp(lambda data: a.like(data) @ V, (a.data,), (2 * a.data,))
    close(tangent, 2 * A @ V)
    slope = sparse.grad(lambda mat: (mat.sum_duplicates(nse=9).todense() ** 3).sum())(a)
    close(slope, 3 * A**2)


def test_rows(on):
    a = BCOO.fromdense(A)
    vectors = np.stack([V, V[::-1]])
    close(tangrad.vmap(lambda v: a @ v)(vectors), vectors @ A.T)
    batched = BCOO.fromdense(CUBE, n_batch=1)
    row = lambda data, indices, v: BCOO((data, indices), shape=(3, 4)) @ v
    close(tangrad.vmap(row)(batched.data, batched.indices, vectors), np.einsum("ijk,ik->ij", CUBE, vectors))


def test_creation(on):
    for args in [(3,), (3, 4, 1), (4, 2, -1), (2, 2, 5)]:
        close(sparse.eye(*args), np.eye(*args))
    close(sparse.empty((2, 3), "int32"), np.zeros((2, 3)))
    mat = sparse.random_bcoo(tangrad.random.key(1), (6, 5), nse=0.4)
    assert mat.nse == 12 and len({tuple(row) for row in np.asarray(mat.indices).tolist()}) == 12
    assert sparse.todense({"a": mat, "b": 1})["a"].shape == (6, 5)
    assert (
        repr(BCOO.fromdense(CUBE, n_batch=1, n_dense=1, nse=2)) == "BCOO(float32[2, 3, 4], nse=2, n_batch=1, n_dense=1)"
    )


def test_matrices_of_scipy():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    close(BCOO.from_scipy_sparse(scipy_sparse.csr_matrix(A)), A)


@pytest.mark.sweep
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layout_is_that_of_jax(name):
    jax = pytest.importorskip("jax.experimental.sparse")
    dense, layout = LAYOUTS[name]
    ours, theirs = BCOO.fromdense(dense, **layout), jax.BCOO.fromdense(dense, **layout)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_array_equal(ours.data, theirs.data)


BAD = {
    "shapes": (lambda: BCOO((np.ones(2), np.zeros((3, 1), int)), shape=(4,)), ValueError, "data must be of shape"),
    "rank": (lambda: BCOO((np.ones(2), np.zeros((2, 1), int)), shape=(4, 4)), ValueError, "are not of an array"),
    "floats": (lambda: BCOO((np.ones(2), np.zeros((2, 1))), shape=(4,)), TypeError, "must be integers"),
    "traced": (lambda: tangrad.jit(BCOO.fromdense)(A), ValueError, "give nse"),
    "layout": (lambda: BCOO.fromdense(A, n_batch=2, n_dense=1), ValueError, "n_batch=2 and n_dense=1"),
    "order": (lambda: BCOO.fromdense(CUBE, n_batch=1).transpose((1, 0, 2)), ValueError, "dimensions apart"),
    "sizes": (lambda: BCOO.fromdense(A) @ A, ValueError, "differ in dimensions 1 and 0"),
    "scalar": (lambda: BCOO.fromdense(A) @ 2.0, ValueError, "got a scalar"),
    "sum": (lambda: BCOO.fromdense(A) + BCOO.fromdense(B), ValueError, "cannot be added"),
    "quotient": (lambda: BCOO.fromdense(A) / BCOO.fromdense(A), NotImplementedError, "zeros would give NaN"),
    "no sparse": (lambda: sparse.bcoo_todense(A), TypeError, "expects a BCOO"),
    "too many": (lambda: sparse.random_bcoo(tangrad.random.key(0), (2, 2), nse=9), ValueError, "nse=9"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, kind, words = BAD[name]
    with use_backend("numpy"), pytest.raises(kind, match=words):
        call()
