"""Contractions: values, dtypes, precision, derivatives, mapping on both backends; and the messages for bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tangrad
from tangrad import lax
from tangrad import use_backend as backend_setting
from tests.primitives.support import (
    BACKENDS,
    agree_everywhere,
    assert_same,
    check_batching,
    check_derivative,
    draw,
    narrow,
)

jax = pytest.importorskip("jax")

# name -> shapes, dimension numbers
CASES = {
    "matrices": ((3, 4), (4, 5), (((1,), (0,)), ((), ()))),
    "transposed right": ((3, 4), (5, 4), (((1,), (1,)), ((), ()))),
    "transposed left": ((4, 3), (4, 5), (((0,), (0,)), ((), ()))),
    "transposed both": ((4, 3), (5, 4), (((0,), (1,)), ((), ()))),
    "vectors": ((4,), (4,), (((0,), (0,)), ((), ()))),
    "matrix and vector": ((3, 4), (4,), (((1,), (0,)), ((), ()))),
    "vector and matrix": ((4,), (5, 4), (((0,), (1,)), ((), ()))),
    "batch": ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,)))),
    "batch in the middle": ((3, 2, 4), (4, 5, 2), (((2,), (0,)), ((1,), (2,)))),
    "two batches, exchanged": ((2, 3, 2, 5), (3, 2, 2, 5), (((3,), (3,)), ((0, 2, 1), (1, 2, 0)))),
    "batch of vectors": ((2, 3), (2, 3), (((1,), (1,)), ((0,), (0,)))),
    "two sums": ((2, 3, 4), (3, 4, 5), (((1, 2), (0, 1)), ((), ()))),
    "two sums, exchanged": ((2, 3, 4), (4, 5, 3), (((1, 2), (2, 0)), ((), ()))),
    "many rows": ((2, 3, 4), (5, 4), (((2,), (1,)), ((), ()))),
    "two sums, together": ((2, 3, 4, 5), (6, 4, 5), (((2, 3), (1, 2)), ((), ()))),
    "two sums, first": ((4, 5, 3), (4, 5, 9), (((0, 1), (0, 1)), ((), ()))),
    "two sums of a batch": ((2, 3, 4, 5), (2, 6, 4, 5), (((2, 3), (2, 3)), ((0,), (0,)))),
    "no sum": ((2, 3), (2, 4), (((), ()), ((0,), (0,)))),
    "outer": ((3,), (4,), (((), ()), ((), ()))),
    "scalars": ((), (), (((), ()), ((), ()))),
    "nothing to sum": ((3, 0), (0, 4), (((1,), (0,)), ((), ()))),
    "no rows": ((0, 3), (3, 4), (((1,), (0,)), ((), ()))),
}


@pytest.mark.parametrize("name", CASES)
def test_values_agree_with_jax(name):
    left, right, numbers = CASES[name]
    x, y = draw("float32", *left), draw("float32", *right, seed=1)
    expected = jax.lax.dot_general(x, y, numbers)
    agree_everywhere(lambda x, y: lax.dot_general(x, y, numbers), expected, x, y)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "int32", "uint32", "float16", "bfloat16", "complex64"]
)
def test_dtypes_agree_with_jax(dtype):
    x, y = draw(dtype, 3, 4), draw(dtype, 4, 5, seed=1)
    b = draw(dtype, 3, 5, seed=2)

    def function(api):
        batched = (((), ()), ((0,), (0,)))
        return lambda x, y, b: (api.dot(x, y), api.dot(x[0], y), api.dot_general(x, b, batched))

    agree_everywhere(function(lax), jax.jit(function(jax.lax))(x, y, b), x, y, b)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
@pytest.mark.parametrize("shapes", [((40, 50), (50, 30)), ((3, 20, 30), (3, 30, 40)), ((600,), (600, 40))])
def test_large_products_of_integers_wrap_exactly(dtype, shapes):
    limits, rng = np.iinfo(dtype), np.random.default_rng(0)
    x, y = [rng.integers(limits.min, limits.max, shape, endpoint=True, dtype=dtype) for shape in shapes]
    rank = len(shapes[0])
    numbers = (((rank - 1,), (len(shapes[1]) - 2,)), ((0,), (0,)) if rank == 3 else ((), ()))
    expected = np.matmul(x.astype(object), y.astype(object)) % (1 << (8 * x.itemsize))
    with backend_setting("numpy"):
        found = lax.dot_general(x, y, numbers)
    assert_same(found, expected.astype(np.uint64).astype(dtype))


@pytest.mark.parametrize("preferred", ["int16", "int32", "uint32"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("shapes", [((40, 3000), (3000, 30)), ((2, 30, 20), (2, 20, 30)), ((40_000,), (40_000,))])
def test_products_of_narrow_integers_are_exact_in_wider_ones(shapes, dtype, preferred):
    limits, rng = np.iinfo(dtype), np.random.default_rng(0)
    x, y = [rng.integers(limits.min, limits.max, shape, endpoint=True, dtype=dtype) for shape in shapes]
    x.flat[:2000], y.flat[:] = limits.min, limits.min  # all at the bound: float32 is exact for sums of so many alone
    expected = np.matmul(x.astype(np.int64), y.astype(np.int64)).astype(preferred)
    with backend_setting("numpy"):
        found = tangrad.jit(lambda x, y: tangrad.numpy.matmul(x, y, preferred_element_type=preferred))(x, y)
    assert_same(found, expected)


@pytest.mark.parametrize("preferred", ["int16", "int32", "uint32"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_products_of_narrow_integers_that_nothing_sums_are_those_of_wider_ones(backend, dtype, preferred):
    limits = np.iinfo(dtype)
    x, y = np.array([limits.min, limits.max, 100, 3], dtype), np.array([limits.max, limits.max, 77, limits.min], dtype)
    wide = x.astype(np.int64), y.astype(np.int64)
    product = lambda x, y, *numbers: lax.dot_general(x, y, numbers, preferred_element_type=preferred)
    nothing = ((), ())
    with backend_setting(backend):
        assert_same(product(x, y, nothing, nothing), np.multiply.outer(*wide).astype(preferred))
        assert_same(
            tangrad.jit(lambda x, y: product(x, y, nothing, ((0,), (0,))))(x, y), (wide[0] * wide[1]).astype(preferred)
        )
        assert_same(product(x[0], y[0], nothing, nothing), (wide[0] * wide[1])[0].astype(preferred))


def test_many_products_of_integers_stay_exact(monkeypatch):
    from tangrad._backend_numpy.lower import contractions

    monkeypatch.setattr(contractions, "EXACT_SUM", 7)
    test_large_products_of_integers_wrap_exactly("int32", ((40, 50), (50, 30)))
    test_large_products_of_integers_wrap_exactly("int16", ((600,), (600, 40)))


@pytest.mark.parametrize(
    ("dtype", "preferred"),
    [
        ("int8", "int32"),
        ("int8", "float32"),
        ("uint8", "int32"),
        ("bool", "int32"),
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float32", "bfloat16"),
        ("float32", "int32"),
        ("float32", "complex64"),
        ("int32", "float32"),
    ],
)
def test_preferred_element_type(dtype, preferred):
    x, y = draw(dtype, 3, 4), draw(dtype, 4, 5, seed=1)
    numbers, preferred = (((1,), (0,)), ((), ())), narrow(preferred)
    expected = jax.lax.dot_general(x, y, numbers, preferred_element_type=preferred)
    agree_everywhere(lambda x, y: lax.dot_general(x, y, numbers, None, preferred), expected, x, y)


@pytest.mark.parametrize(
    ("left", "right"), [("float32", "bfloat16"), ("int8", "int32"), ("bool", "float32"), ("complex64", "float32")]
)
def test_mixed_dtypes(left, right):
    x, y = draw(left, 3, 4), draw(right, 4, 5)
    expected = jax.lax.dot(x, y)
    agree_everywhere(lax.dot, expected, x, y)


def test_narrow_floats_are_added_up_in_float32():
    x = np.full((1, 4096), 0.1, np.float16)
    for backend in BACKENDS:
        with backend_setting(backend):
            assert abs(float(lax.dot(x, x.T)[0, 0]) - 40.94) < 0.1


@pytest.mark.parametrize("algorithm", ["DEFAULT", "F16_F16_F16", "F32_F32_F32", "BF16_BF16_F32", "BF16_BF16_F32_X3"])
def test_algorithms(algorithm):
    x, y = draw("float32", 3, 4), draw("float32", 4, 5)
    expected = jax.lax.dot(x, y, precision=algorithm)
    agree_everywhere(lambda x, y: lax.dot(x, y, precision=algorithm), expected, x, y)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("precision", ["TF32_TF32_F32", lax.DotAlgorithm("float32", "float32", "float32")])
def test_algorithms_that_cpus_lack(backend, precision):
    with backend_setting(backend), pytest.raises(ValueError, match="is not supported on CPUs; supported: BF16"):
        lax.dot(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32), precision=precision)


def test_precision_is_a_parameter():
    x = np.ones((2, 2), np.float32)

    def precision(value):
        return tangrad.make_jaxpr(lambda x: lax.dot(x, x, precision=value))(x).eqns[0].params["precision"]

    high, highest = lax.Precision.HIGH, lax.Precision.HIGHEST
    assert precision(None) is None
    assert precision("highest") == precision(highest) == precision(("float32", highest)) == (highest, highest)
    assert precision(("high", "highest")) == (high, highest)
    assert precision("F32_F32_F32") is lax.DotAlgorithmPreset.F32_F32_F32
    with tangrad.default_matmul_precision("tensorfloat32"):
        assert precision(None) == (high, high)
        assert precision("highest") == (highest, highest)


def test_functions():
    x, y, b = draw("float32", 3, 4), draw("float32", 4, 3), draw("float32", 2, 3, 4)

    def function(api):
        transposed = (((1,), (1,)), ((), ()))
        return lambda x, y, b: (
            api.dot(x, y),
            api.dot(x, y[:, 0]),
            api.dot(x[0], y[:, 0]),
            api.dot(x, x, dimension_numbers=transposed),
            api.batch_matmul(b, api.transpose(b, (0, 2, 1))),
            api.batch_matmul(x, y),
        )

    agree_everywhere(function(lax), jax.jit(function(jax.lax))(x, y, b), x, y, b)
    assert tangrad.jit(lax.dot)(2.0 * np.ones(2, np.float32), np.ones(2, np.float32)).shape == ()


@st.composite
def contractions(draw_from):
    """Two shapes and dimension numbers: every dimension is contracted, paired or free, at any place."""
    groups = [draw_from(st.lists(st.integers(0, 3), max_size=2)) for _ in range(4)]
    contract, batch, left_free, right_free = groups
    sides = []
    for free in (left_free, right_free):
        dimensions = [("c", i) for i in range(len(contract))] + [("b", i) for i in range(len(batch))]
        dimensions = draw_from(st.permutations([*dimensions, *[("f", i) for i in range(len(free))]]))
        sizes = {"c": contract, "b": batch, "f": free}
        shape = tuple([sizes[kind][i] for kind, i in dimensions])
        sides.append((shape, [tuple([dimensions.index((k, i)) for i in range(len(sizes[k]))]) for k in "cb"]))
    (left, (lc, lb)), (right, (rc, rb)) = sides
    return left, right, ((lc, rc), (lb, rb))


@given(contractions())
@settings(max_examples=60)
def test_any_contraction_agrees_with_einsum(case):
    left, right, ((lc, rc), (lb, rb)) = case
    x, y = draw("float32", *left), draw("float32", *right, seed=1)
    letters = iter("abcdefghijklmnop")
    names = {axis: next(letters) for axis in (*lb, *lc)}
    others = {other: names[axis] for axis, other in (*zip(lb, rb), *zip(lc, rc))}
    free = {axis: next(letters) for axis in range(len(left)) if axis not in names}
    other_free = {axis: next(letters) for axis in range(len(right)) if axis not in others}
    one = "".join([{**names, **free}[axis] for axis in range(len(left))])
    two = "".join([{**others, **other_free}[axis] for axis in range(len(right))])
    out = "".join([*[names[axis] for axis in lb], *free.values(), *other_free.values()])
    with backend_setting("numpy"):
        found = lax.dot_general(x, y, ((lc, rc), (lb, rb)))
    assert_same(found, np.einsum(f"{one},{two}->{out}", x, y), 1e-5)


# --- transformations --------------------------------------------------------------------------------------------------

NOT_EMPTY = [name for name, (left, right, _) in CASES.items() if 0 not in (*left, *right)]


@pytest.mark.parametrize("name", NOT_EMPTY)
def test_derivatives(name):
    left, right, numbers = CASES[name]
    x, y = draw("float64", *left), draw("float64", *right)
    check_derivative(lambda x, y: lax.dot_general(x, lax.sin(y), numbers), x, y)


@pytest.mark.parametrize("name", NOT_EMPTY)
def test_batching(name):
    left, right, numbers = CASES[name]
    x, y = draw("float32", *left), draw("float32", *right, seed=1)
    check_batching(lambda x, y: lax.dot_general(x, y, numbers), x, y)


def test_dimensions_that_stand_together_are_one_for_cpus():
    def product(name):
        left, right, numbers = CASES[name]
        lowered = tangrad.jit(lambda x, y: lax.dot_general(x, y, numbers), backend="xla").lower(
            draw("float32", *left), draw("float32", *right)
        )
        return next(line for line in lowered.as_text().splitlines() if "dot_general" in line)

    assert "(tensor<6x20xf32>, tensor<6x20xf32>) -> tensor<6x6xf32>" in product("two sums, together")
    assert "(tensor<2x3x20xf32>, tensor<2x6x20xf32>) -> tensor<2x3x6xf32>" in product("two sums of a batch")
    assert "(tensor<20x3xf32>, tensor<20x9xf32>) -> tensor<3x9xf32>" in product("two sums, first")
    assert "tensor<2x3x4xf32>, tensor<4x5x3xf32>" in product("two sums, exchanged")


def test_gradients_of_weights_need_no_permutation():
    def loss(weight, x):
        return lax.dot_general(x, weight, (((2,), (0,)), ((), ()))).sum()

    program = tangrad.make_jaxpr(tangrad.grad(loss))(draw("float32", 4, 2, 3), draw("float32", 5, 6, 4))
    assert "transpose" not in str(program)


@pytest.mark.parametrize("name", ["matrices", "two sums, exchanged", "batch in the middle"])
def test_gradients_agree_with_jax(name):
    left, right, numbers = CASES[name]
    x, y = draw("float32", *left), draw("float32", *right, seed=1)

    def gradients(api, ops, total):
        return api.grad(lambda x, y: total(ops.sin(ops.dot_general(x, y, numbers))), (0, 1))(x, y)

    expected = gradients(jax, jax.lax, jax.numpy.sum)
    agree_everywhere(lambda: gradients(tangrad, lax, lambda z: lax.reduce_sum(z, tuple(range(z.ndim)))), expected)


def test_gradients_keep_the_dtypes_of_operands():
    x, y = draw("float32", 3, 4), draw("bfloat16", 4, 5)

    def loss(x, y):
        product = lax.dot(x, y, preferred_element_type=np.float32)
        return lax.reduce_sum(product, (0, 1))

    expected = jax.grad(lambda x, y: jax.lax.dot(x, y, preferred_element_type=np.float32).sum(), (0, 1))(x, y)
    agree_everywhere(tangrad.grad(loss, (0, 1)), expected, x, y)


def test_linear_transpose():
    matrix, vector = draw("float32", 3, 4), draw("float32", 3)
    (found,) = tangrad.linear_transpose(lambda x: lax.dot(matrix, x), np.ones(4, np.float32))(vector)
    assert_same(found, vector @ matrix, 1e-6)


# --- bad input --------------------------------------------------------------------------------------------------------

X = np.ones((3, 4), np.float32)
T = np.ones((2, 3, 4), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.dot(X, X), ValueError, r"last dimension of lhs as long as the first of rhs; got .*\(3, 4\) and"),
        (lambda: lax.dot(X, 1.0), ValueError, "lhs and rhs must be vectors or matrices"),
        (lambda: lax.dot(T, X), ValueError, "lhs and rhs must be vectors or matrices"),
        (lambda: lax.dot_general(X, X, (((1,), (-1,)), ((), ()))), ValueError, "dimension -1 of rhs .* out of bounds"),
        (lambda: lax.dot_general(X, X, (((5,), (1,)), ((), ()))), ValueError, "dimension 5 of lhs .* out of bounds"),
        (lambda: lax.dot_general(X, X, (((1,), (0,)), ((), ()))), ValueError, r"same sizes, got \(4,\) and \(3,\)"),
        (lambda: lax.dot_general(X, X, (((1, 1), (1, 1)), ((), ()))), ValueError, "must not repeat a dimension"),
        (lambda: lax.dot_general(X, X, (((1,), (1,)), ((1,), (1,)))), ValueError, "must not repeat a dimension"),
        (lambda: lax.dot_general(T, T, (((2,), (2,)), ((0, 1), (1, 0)))), ValueError, "batch dimensions"),
        (lambda: lax.dot_general(T, T, (((2,), (2,)), ((0,), ()))), ValueError, "batch dimensions"),
        (lambda: lax.dot_general(X, X, ((1,), (0,))), TypeError, "dimension_numbers must be"),
        (lambda: lax.dot_general(X, X, (((0.5,), (1,)), ((), ()))), TypeError, "must be an integer, got 0.5"),
        (lambda: lax.dot_general(X, X, (("1", "1"), ((), ()))), TypeError, "must hold sequences of integers, got '1'"),
        (lambda: lax.dot(X, [1.0]), TypeError, "dot requires arrays or numbers"),
        (lambda: lax.batch_matmul(T, X), ValueError, "must have equal rank, at least 2"),
        (lambda: lax.batch_matmul(X[0], X[0]), ValueError, "must have equal rank, at least 2"),
        (lambda: lax.dot(X, X.T, precision="exact"), ValueError, "precision must be None, a lax.Precision, .*'exact'"),
        (lambda: lax.dot(X, X.T, precision=3), ValueError, "precision must be None"),
        (
            lambda: lax.dot(np.ones((2, 2), np.int32), np.ones((2, 2), np.int32), preferred_element_type=np.int8),
            TypeError,
            "must not be narrower than int32",
        ),
        (lambda: lax.dot(X * 1j, X.T * 1j, preferred_element_type=np.float32), TypeError, "preferred_element_type"),
        (
            lambda: lax.dot(np.ones((2, 2), narrow("float8_e5m2")), np.ones((2, 2), narrow("float8_e5m2fnuz"))),
            TypeError,
            "neither of the operands' dtypes",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
