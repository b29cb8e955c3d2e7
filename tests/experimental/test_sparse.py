"""Sparse arrays against the dense ones that they stand for, on both backends, jitted, mapped, differentiated."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax, use_backend
from tangrad.core import RuleSet, register
from tangrad.errors import MissingRuleError
from tangrad.experimental import sparse
from tangrad.experimental.sparse import BCOO, BCSR, sparsify
from tangrad.sharding import Mesh, NamedSharding, PartitionSpec

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
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    assert turned.indices_sorted == (
        tuple(order[n_batch : n_batch + n_sparse]) == tuple(range(n_batch, n_batch + n_sparse))
    )
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


@pytest.mark.parametrize("layouts", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("shapes", [((3, 4, 5), (1, 4, 1)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3, 4), (3, 1))])
def test_products_of_sparse_arrays_that_are_repeated(on, shapes, layouts):
    one, other = [holes(*shape) for shape in shapes]
    a, b = [BCOO.fromdense(x, n_batch=n_batch) for x, n_batch in zip((one, other), layouts, strict=True)]
    close(a * b, one * other)
    close(b * a, one * other)
    close(tangrad.jit(lambda a, b: a * b)(a, b), one * other)


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


# --- Functions of arrays, of sparse ones by `sparsify` ---


DENSE = np.float32([[0, 2, 0, 1], [3, 0, 0, 0], [0, 0, 0.4, -0.5]])
VECTOR = np.arange(1.0, 5, dtype="float32")
SPARSIFIED_LAYOUTS = {"sparse": {}, "batches": {"n_batch": 1}, "dense": {"n_dense": 1}}


# Functions of an array (3, 4), and whether the result is sparse.
PROGRAMS = {
    "sine": (lambda x: tnp.sin(x), True),
    "chain": (lambda x: tnp.tanh(2 * tnp.expm1(-x)) / 3, True),
    "square": (lambda x: x**2 + x * x - tnp.square(x), True),
    "roots": (lambda x: tnp.sqrt(abs(x)) + tnp.cbrt(x), True),
    "erf": (lambda x: tangrad.scipy.special.erf(x), True),
    "rounded": (lambda x: tnp.floor(x) + tnp.sign(x), True),
    "integers": (lambda x: x.astype("int32"), True),
    "by dense": (lambda x: x * DENSE[::-1] / VECTOR, True),
    "with dense": (lambda x: x + DENSE, False),
    "transpose": (lambda x: x.T.T, True),
    "stacked": (lambda x: tnp.stack([x, 2 * x]), True),
    "joined": (lambda x: tnp.concatenate([x, -x]), True),
    "part": (lambda x: x[1:, ::-2], True),
    "row": (lambda x: x[1], True),
    "rows": (lambda x: x[np.array([2, 0])], True),
    "new": (lambda x: x[None, :, None], True),
    "sums": (lambda x: x.sum(1), True),
    "total": (lambda x: x.sum(), False),
    "mean": (lambda x: x.mean(), False),
    "vector": (lambda x: x @ VECTOR, False),
    "contraction": (lambda x: tnp.einsum("ij,kj->ki", x, DENSE), False),
    "dense": (lambda x: tnp.cos(sparse.todense(x)), False),
    "jitted": (tangrad.jit(lambda x: 2 * tnp.sin(x)), True),
    "choice": (lambda x: lax.cond(x.shape[0] > 2, lambda x: 2 * x, lambda x: -x, x), True),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, x: tnp.sin(x), x), True),
    "scan": (lambda x: lax.scan(lambda x, w: (w * x, (x @ VECTOR).sum()), x, VECTOR), True),
    "gradient inside": (lambda x: tangrad.grad(lambda w: ((x @ w) ** 2).sum())(VECTOR), False),
    "gradient of a factor": (lambda x: tangrad.grad(lambda w: (w**2 * x).sum())(2.0), False),
    "mapped inside": (lambda x: tangrad.vmap(lambda w: x @ w)(np.stack([VECTOR, -VECTOR])), False),
}
# Layouts for which a program is not there.
NO_DENSE = ("contraction", "vector", "mapped inside", "gradient inside", "scan", "transpose")
REFUSED_LAYOUTS = [*[(name, "dense") for name in NO_DENSE], ("transpose", "batches")]
TAKEN_LAYOUTS = [
    (name, layout) for name in PROGRAMS for layout in SPARSIFIED_LAYOUTS if (name, layout) not in REFUSED_LAYOUTS
]


@pytest.mark.parametrize(("name", "layout"), TAKEN_LAYOUTS)
def test_values(on, name, layout):
    program, stays = PROGRAMS[name]
    mat = BCOO.fromdense(DENSE, **SPARSIFIED_LAYOUTS[layout])
    expected = tangrad.tree.leaves(program(tnp.asarray(DENSE)))
    is_sparse = lambda leaf: isinstance(leaf, BCOO)
    for run in (sparsify(program), tangrad.jit(sparsify(program))):
        found = tangrad.tree.leaves(run(mat), is_leaf=is_sparse)
        assert is_sparse(found[0]) == stays
        for one, other in zip(found, expected, strict=True):
            close(one, other)


@pytest.mark.parametrize(("name", "layout"), REFUSED_LAYOUTS)
def test_layouts_that_are_refused(name, layout):
    with use_backend("numpy"), pytest.raises((NotImplementedError, ValueError), match=r"dense dimensions|apart"):
        sparsify(PROGRAMS[name][0])(BCOO.fromdense(DENSE, **SPARSIFIED_LAYOUTS[layout]))


@pytest.mark.parametrize("name", ["sine", "chain", "square", "by dense", "joined", "vector", "loop", "scan", "dense"])
def test_sparsified_derivatives(on, name):
    program = PROGRAMS[name][0]
    mat = BCOO.fromdense(DENSE)
    loss = lambda x: sum([(leaf * leaf).sum() for leaf in tangrad.tree.leaves(program(x))])
    slope = tangrad.jit(sparse.grad(sparsify(loss)))(mat)
    expected = tangrad.grad(loss)(tnp.asarray(DENSE))
    close(slope, np.where(DENSE != 0, expected, 0))


def test_mapped(on):
    mats = BCOO.fromdense(np.stack([DENSE, 2 * DENSE]), n_batch=1)
    found = tangrad.vmap(sparsify(lambda x: tnp.sin(x)[1:]))(mats)
    close(found, np.sin(np.stack([DENSE, 2 * DENSE]))[:, 1:])


def test_elements_that_are_there_twice(on):
    """What is not linear applies to their sum."""
    twice = BCOO((np.float32([1, 2, 3]), np.array([[1], [1], [0]])), shape=(3,))
    for run in (sparsify(tnp.sin), tangrad.jit(sparsify(tnp.sin))):
        close(run(twice), np.sin(np.float32([3, 3, 0])))
    close(sparsify(lambda x: x * x)(twice), np.float32([9, 9, 0]))
    close(sparsify(lambda x: -x)(twice), np.float32([-3, -3, 0]))


def test_rows_stay_rows(on):
    mat = BCSR.fromdense(DENSE)
    found = sparsify(lambda x: tnp.sin(2 * x))(mat)
    assert isinstance(found, BCSR)
    close(found.todense(), np.sin(2 * DENSE))
    close(sparsify(lambda x: x @ VECTOR)(mat), DENSE @ VECTOR)


def test_trees_and_options(on):
    mat = BCOO.fromdense(DENSE)
    program = sparsify(lambda args, scale=1: {"a": args[0] * scale, "b": args[1]}, use_tracer=True)
    found = program([mat, 3.0], scale=2)
    close(found["a"], 2 * DENSE)
    assert found["b"] == 3.0
    close(sparsify(tnp.sin)(VECTOR), np.sin(VECTOR))


def test_rules_of_others(on):
    """An operation gets a rule as of any other kind."""
    rules, maximum = RuleSet("sparse", api=1), tangrad.core.find_primitive("elementwise.max")

    @rules.rule(maximum)
    def _(x, y):
        x = x.with_unique_indices()
        return x.like(maximum.bind(x.data, y))

    mat = BCOO.fromdense(DENSE)
    positive_part = sparsify(lambda x: tnp.maximum(x, 0))
    with pytest.raises(MissingRuleError, match=r"elementwise\.max"):
        positive_part(mat)
    with register(rules):
        close(positive_part(mat), np.maximum(DENSE, 0))


REFUSED = {
    "cosine": (lambda x: tnp.cos(x), MissingRuleError, "apply it to `sparse.todense"),
    "comparison": (lambda x: x > 0, MissingRuleError, "apply it to `sparse.todense"),
    "power": (lambda x: x**0, NotImplementedError, "to the power 0"),
    "quotient": (lambda x: 1 / x, NotImplementedError, "division by a sparse array"),
    "number": (lambda x: x + 1, NotImplementedError, "would have no zeros"),
    "joined": (lambda x: tnp.concatenate([x, DENSE]), TypeError, "concatenate expects a BCOO"),
    "slices": (lambda x: lax.scan(lambda c, row: (c, row.sum()), 0.0, x), NotImplementedError, "scan over the slices"),
    "stacked": (lambda x: lax.scan(lambda c, w: (c, w * x), 0.0, VECTOR), NotImplementedError, "stacks sparse arrays"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    program, kind, words = REFUSED[name]
    with use_backend("numpy"), pytest.raises(kind, match=words):
        sparsify(program)(BCOO.fromdense(DENSE))


def test_no_function():
    with pytest.raises(TypeError, match="sparsify expects a function, got 3"):
        sparsify(3)


# --- What contractions of sparse arrays are computed in, how exactly, and on which devices they are ---


PRODUCT_A = np.int8([[100, 100, 0], [0, -100, 1]])
PRODUCT_B = np.int8([[100, 1], [-100, 2], [0, 100]])
NUMBERS = (((1,), (0,)), ((), ()))
PRODUCTS = {
    "sparse and dense": (sparse.bcoo_dot_general, BCOO, np.asarray),
    "dense and sparse": (sparse.bcoo_dot_general, np.asarray, BCOO),
    "two sparse": (sparse.bcoo_dot_general, BCOO, BCOO),
    "rows and dense": (sparse.bcsr_dot_general, BCSR, np.asarray),
    "dense and rows": (sparse.bcsr_dot_general, np.asarray, BCSR),
}


@pytest.fixture(params=["numpy", "xla"])
def on_either(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(request.param):
        yield request.param


def made(kind, array):
    return kind(array) if kind is np.asarray else kind.fromdense(tnp.asarray(array))


def product(name, left=PRODUCT_A, right=PRODUCT_B, **options):
    function, one, other = PRODUCTS[name]
    out = function(made(one, left), made(other, right), dimension_numbers=NUMBERS, **options)
    return out if isinstance(out, tangrad.Array) else out.todense()


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64"])
def test_narrow_integers_add_up_in_the_dtype_of_the_result(on_either, name, dtype):
    found = product(name, preferred_element_type=dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, PRODUCT_A.astype(dtype) @ PRODUCT_B.astype(dtype))


def test_halves_add_up_in_the_dtype_of_the_result(on_either):
    many = np.full((1, 4096), 1, "float16")
    found = product("sparse and dense", many, many.T, preferred_element_type="float32")
    np.testing.assert_array_equal(found, [[4096.0]])
    assert product("sparse and dense", many[:, :8] / 3, many.T[:8], preferred_element_type="float16").dtype == "float16"


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("own, dtype", [("float32", "int32"), ("complex64", "float32"), ("int8", "bool")])
def test_a_dtype_that_cannot_hold_the_result_is_refused(name, own, dtype):
    with use_backend("numpy"), pytest.raises(TypeError, match=f"preferred_element_type {dtype} cannot hold .* {own}"):
        product(name, PRODUCT_A.astype(own), PRODUCT_B.astype(own), preferred_element_type=dtype)


@pytest.mark.parametrize("name", PRODUCTS)
def test_precision(on_either, name):
    left, right = PRODUCT_A.astype("float32"), PRODUCT_B.astype("float32")
    for precision in (None, "highest", lax.Precision.HIGH, ("default", "highest")):
        np.testing.assert_array_equal(product(name, left, right, precision=precision), left @ right)
    with pytest.raises(ValueError, match=r"precision must be None.*'best'"):
        product(name, left, right, precision="best")


@pytest.mark.parametrize("name", [name for name in PRODUCTS if name != "two sparse"])
def test_out_sharding(on_either, name):
    place = NamedSharding(Mesh(np.array(tangrad.devices()[:1]), ("rows",)), PartitionSpec("rows"))
    left, right = PRODUCT_A.astype("float32"), PRODUCT_B.astype("float32")
    run = lambda left, right: product(name, left, right, out_sharding=place)
    np.testing.assert_array_equal(run(left, right), left @ right)
    function, one, other = PRODUCTS[name]
    args = made(one, left), made(other, right)
    traced = tangrad.make_jaxpr(lambda *args: function(*args, dimension_numbers=NUMBERS, out_sharding=place))(*args)
    assert "sharding_constraint" in str(traced)
    with pytest.raises(TypeError, match="out_sharding takes shardings"):
        product(name, left, right, out_sharding="rows")


def test_out_sharding_of_a_sparse_result_is_refused():
    with use_backend("numpy"), pytest.raises(NotImplementedError, match="out_sharding where both operands are sparse"):
        product("two sparse", out_sharding=PartitionSpec())


def test_derivatives_with_a_dtype_of_the_result(on_either):
    left, right = PRODUCT_A.astype("float32"), PRODUCT_B.astype("float16")
    mat = BCOO.fromdense(tnp.asarray(left))
    options = {"dimension_numbers": NUMBERS, "preferred_element_type": "float32"}
    run = lambda data, dense: sparse.bcoo_dot_general(BCOO((data, mat.indices), shape=mat.shape), dense, **options)
    slopes = tangrad.grad(lambda *args: run(*args).sum(), (0, 1))(mat.data, tnp.asarray(right))
    assert [one.dtype for one in slopes] == ["float32", "float16"]
    places = np.asarray(mat.indices)
    np.testing.assert_array_equal(slopes[0], right.astype("float32").sum(1)[places[:, 1]])
    np.testing.assert_array_equal(slopes[1], np.repeat(left.sum(0)[:, None], 2, 1).astype("float16"))


def test_powers_of_elements():
    twice = BCOO((tnp.array([1.0, 2.0, 3.0]), tnp.array([[0, 0], [0, 0], [1, 1]])), shape=(2, 2))
    assert (twice**2).todense().tolist() == [[9, 0], [0, 9]]
    with pytest.raises(NotImplementedError, match="to the power 0"):
        twice**0
    with pytest.raises(TypeError):
        twice**0.5
