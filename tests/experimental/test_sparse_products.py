"""What contractions of sparse arrays are computed in, how exactly, and on which devices they are."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax, use_backend
from tangrad.experimental import sparse
from tangrad.experimental.sparse import BCOO, BCSR
from tangrad.sharding import Mesh, NamedSharding, PartitionSpec

A = np.int8([[100, 100, 0], [0, -100, 1]])
B = np.int8([[100, 1], [-100, 2], [0, 100]])
NUMBERS = (((1,), (0,)), ((), ()))
PRODUCTS = {
    "sparse and dense": (sparse.bcoo_dot_general, BCOO, np.asarray),
    "dense and sparse": (sparse.bcoo_dot_general, np.asarray, BCOO),
    "two sparse": (sparse.bcoo_dot_general, BCOO, BCOO),
    "rows and dense": (sparse.bcsr_dot_general, BCSR, np.asarray),
    "dense and rows": (sparse.bcsr_dot_general, np.asarray, BCSR),
}


@pytest.fixture(params=["numpy", "xla"])
def on(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(request.param):
        yield request.param


def made(kind, array):
    return kind(array) if kind is np.asarray else kind.fromdense(tnp.asarray(array))


def product(name, left=A, right=B, **options):
    function, one, other = PRODUCTS[name]
    out = function(made(one, left), made(other, right), dimension_numbers=NUMBERS, **options)
    return out if isinstance(out, tangrad.Array) else out.todense()


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64"])
def test_narrow_integers_add_up_in_the_dtype_of_the_result(on, name, dtype):
    found = product(name, preferred_element_type=dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, A.astype(dtype) @ B.astype(dtype))


def test_halves_add_up_in_the_dtype_of_the_result(on):
    many = np.full((1, 4096), 1, "float16")
    found = product("sparse and dense", many, many.T, preferred_element_type="float32")
    np.testing.assert_array_equal(found, [[4096.0]])
    assert product("sparse and dense", many[:, :8] / 3, many.T[:8], preferred_element_type="float16").dtype == "float16"


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("own, dtype", [("float32", "int32"), ("complex64", "float32"), ("int8", "bool")])
def test_a_dtype_that_cannot_hold_the_result_is_refused(name, own, dtype):
    with use_backend("numpy"), pytest.raises(TypeError, match=f"preferred_element_type {dtype} cannot hold .* {own}"):
        product(name, A.astype(own), B.astype(own), preferred_element_type=dtype)


@pytest.mark.parametrize("name", PRODUCTS)
def test_precision(on, name):
    left, right = A.astype("float32"), B.astype("float32")
    for precision in (None, "highest", lax.Precision.HIGH, ("default", "highest")):
        np.testing.assert_array_equal(product(name, left, right, precision=precision), left @ right)
    with pytest.raises(ValueError, match=r"precision must be None.*'best'"):
        product(name, left, right, precision="best")


@pytest.mark.parametrize("name", [name for name in PRODUCTS if name != "two sparse"])
def test_out_sharding(on, name):
    place = NamedSharding(Mesh(np.array(tangrad.devices()[:1]), ("rows",)), PartitionSpec("rows"))
    left, right = A.astype("float32"), B.astype("float32")
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


def test_derivatives_with_a_dtype_of_the_result(on):
    left, right = A.astype("float32"), B.astype("float16")
    mat = BCOO.fromdense(tnp.asarray(left))
    options = {"dimension_numbers": NUMBERS, "preferred_element_type": "float32"}
    run = lambda data, dense: sparse.bcoo_dot_general(BCOO((data, mat.indices), shape=mat.shape), dense, **options)
    slopes = tangrad.grad(lambda *args: run(*args).sum(), (0, 1))(mat.data, tnp.asarray(right))
    assert [one.dtype for one in slopes] == ["float32", "float16"]
    places = np.asarray(mat.indices)
    np.testing.assert_array_equal(slopes[0], right.astype("float32").sum(1)[places[:, 1]])
    np.testing.assert_array_equal(slopes[1], np.repeat(left.sum(0)[:, None], 2, 1).astype("float16"))
