"""Reductions and running totals: values, derivatives, mapping on both backends; and the messages for bad input."""

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad import use_backend as backend_setting
from tests.primitives.support import BACKENDS, agree_everywhere, assert_same, check_batching, check_derivative, draw

jax = pytest.importorskip("jax")

NUMBERS = ("int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64")
BITS = ("bool", "int8", "uint32")
SUMS, EXTREMA, LOGICAL = ("sum", "prod"), ("max", "min"), ("and", "or", "xor")
RUNNING = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
REDUCTIONS = [
    *[(f"reduce_{name}", dtype) for name in SUMS for dtype in NUMBERS],
    *[(f"reduce_{name}", dtype) for name in EXTREMA for dtype in ("bool", *NUMBERS)],
    *[(f"reduce_{name}", dtype) for name in LOGICAL for dtype in BITS],
]


@pytest.mark.parametrize(("name", "dtype"), REDUCTIONS)
def test_reductions_agree_with_jax(name, dtype):
    x, nothing = draw(dtype, 2, 3, 4), draw(dtype, 0, 3)

    def function(api):
        reduce = getattr(api, name)
        return lambda x, nothing: (reduce(x, (0, 2)), reduce(x, (1,)), reduce(nothing, (0,)), reduce(x, ()))

    agree_everywhere(function(lax), jax.jit(function(jax.lax))(x, nothing), x, nothing)


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((70, 5), (1,)), ((80, 2, 9), (2,)), ((64, 8, 9), (0, 1)), ((3, 16, 30, 11), (1, 2)), ((509, 13), (0,))],
)
def test_short_rows_take_another_way(name, shape, axes):
    """NumPy's lowering turns or widens arrays whose rows are short; views must give the same."""
    x = 1 + 0.01 * draw("float32", *shape)
    expected = getattr(np, name.removeprefix("reduce_"))(x.astype(np.float64), axes).astype(np.float32)
    order = tuple(range(len(shape)))[::-1]
    with backend_setting("numpy"):
        found = getattr(lax, name)(x, axes)
        turned = getattr(lax, name)(lax.transpose(np.ascontiguousarray(x.transpose(order)), order), axes)
    assert_same((found, turned), (expected, expected), 1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_floats_are_not_lost_in_sums(backend):
    with backend_setting(backend):
        assert np.asarray(lax.reduce_max(np.float32([1, np.nan, 3]), (0,))) != np.float32(3)
        assert np.isnan(lax.reduce_min(np.float32([1, np.nan, 3]), (0,)).to_numpy())
        assert float(lax.reduce_max(np.zeros((0,), np.float32), (0,))) == -np.inf
        assert int(lax.reduce_min(np.zeros((0,), np.int8), (0,))) == 127
        assert int(lax.reduce_sum(np.full(3, 100, np.int8), (0,))) == 44  # wraps
        assert lax.reduce_sum(3.0, ()).aval.weak_type


def test_reductions_of_what_is_broadcast():
    """A sum over repeated elements is a product; an extremum over them is one of them."""

    cases = [(name, axes) for name in ("sum", "max", "prod") for axes in ((0, 2), (1,), (0, 1, 2))]

    def function(x):
        many = lax.broadcast_in_dim(x, (5, 3, 4), (1,))
        return [getattr(lax, f"reduce_{name}")(many, axes) for name, axes in cases]

    x = np.float32([0.5, 2.0, -1.0])
    many = np.broadcast_to(x[None, :, None], (5, 3, 4))
    expected = [getattr(np, name)(many, axes) for name, axes in cases]
    agree_everywhere(function, expected, x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "bfloat16", "float16", "float32"])
@pytest.mark.parametrize(("shape", "axis"), [((40, 2000), 0), ((20, 33, 128), 1), ((3, 20, 1111), 1), ((300, 400), 1)])
def test_positions_in_large_arrays(dtype, shape, axis):
    """On XLA found in two reductions where other dimensions follow the axis."""
    x = np.clip(np.round(draw("float32", *shape) * 2), -100, 100)
    if dtype not in ("bool", "int8", "uint32"):
        x[:, ::3] = -np.inf
        x.flat[:: 7 * shape[-1] + 5] = np.nan
        x.flat[5 :: 9 * shape[-1] + 5] = -0.0
    x = np.abs(x) if dtype == "uint32" else x

    def positions(x):
        return tuple([find(x, axis, kind) for find in (lax.argmax, lax.argmin) for kind in ("int32", "int16")])

    expected = [find(x, axis) for find in (np.argmax, np.argmin)]
    for name in BACKENDS:
        with backend_setting(name):
            found = tangrad.jit(positions)(tangrad.numpy.asarray(x).astype(dtype))
            if dtype == "bool":
                expected = [find(x != 0, axis) for find in (np.argmax, np.argmin)]
            for each, (best, kind) in zip(found, [(best, kind) for best in expected for kind in ("int32", "int16")]):
                assert each.dtype == kind
                np.testing.assert_array_equal(each, best.astype(kind))


@pytest.mark.parametrize(
    ("shape", "axes"), [((70_001,), (0,)), ((300, 500), (1,)), ((30, 50, 120), (1, 2)), ((2, 99_991), (1,))]
)
def test_truth_of_long_rows(shape, axes):
    x = draw("float32", *shape) > 4
    for value in (x, x & False, ~x, ~(x & False)):
        agree_everywhere(
            lambda x: (lax.reduce_or(x, axes), lax.reduce_and(x, axes)), (value.any(axes), value.all(axes)), value
        )
    last = np.zeros(shape, bool)
    last.flat[-1] = True
    agree_everywhere(
        lambda x: (lax.reduce_or(x, axes), lax.reduce_and(~x, axes)), (last.any(axes), (~last).all(axes)), last
    )


# Functions of a matrix in which XLA's library for CPUs would lose NaN, and others beside them. NumPy has the same.
WITH_NAN = {
    "max": lambda m, x: m.max(x),
    "max along rows": lambda m, x: m.max(x, 1),
    "max along columns": lambda m, x: m.max(x, 0),
    "min": lambda m, x: m.min(x),
    "min along rows": lambda m, x: m.min(x, 1),
    "min along columns": lambda m, x: m.min(x, 0),
    "ptp": lambda m, x: m.ptp(x, 1),
    "sum of maxima": lambda m, x: m.maximum(x, 0).sum(),
    "sum of minima": lambda m, x: m.minimum(x, 1).sum(1),
    "sum of greater elements": lambda m, x: m.maximum(x, x[::-1]).sum(0),
    "sum of clipped": lambda m, x: m.clip(x, 0, 1).sum(1),
    "product of maxima": lambda m, x: m.maximum(x, 1).prod(0),
    "greatest absolute value": lambda m, x: abs(x).max(1),
    "greatest sum": lambda m, x: m.minimum(x, 2).sum(1).max(),
    "argmax": lambda m, x: m.argmax(x, 0),
    "argmin": lambda m, x: m.argmin(x),
    "windows": lambda m, x: tiles(m, x, m.max),
    "windows of the smallest": lambda m, x: tiles(m, x, m.min),
}
PLACES_OF_NAN = ((), (0,), (-1,), (5, 77), range(0, 10**6, 997), None)


def tiles(m, x, find):
    """The extrema of tiles of 2 by 3; by `reduce_window` where `m` is not NumPy."""
    x = x[: x.shape[0] // 2 * 2, : x.shape[1] // 3 * 3]
    if m is np:
        return find(x.reshape(x.shape[0] // 2, 2, x.shape[1] // 3, 3), (1, 3))
    start, operation = (-np.inf, lax.max) if find is m.max else (np.inf, lax.min)
    return lax.reduce_window(x, np.asarray(start, x.dtype), operation, (2, 3), (2, 3), "VALID")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(6, 9), (64, 128), (301, 1000), (2, 50_001), (5003, 3), (1001, 77), (70_000, 2)])
def test_nan_is_kept(backend, dtype, shape):
    """Also of sizes that XLA's library for CPUs takes, which knows no NaN, and that are in parts of several forms."""
    drawn = np.random.default_rng(0).normal(size=shape)
    with tangrad.enable_x64(dtype == "float64"), backend_setting(backend):
        functions = tangrad.jit(lambda x: [function(tangrad.numpy, x) for function in WITH_NAN.values()])
        for places in PLACES_OF_NAN:
            x = drawn.copy()
            if places is None:
                x[:] = np.nan
            else:
                x.flat[[place for place in places if place < x.size]] = np.nan
            x = x.astype(tangrad.dtypes.as_dtype(dtype))
            wide = x.astype("float64")
            for name, found in zip(WITH_NAN, functions(x), strict=True):
                with np.errstate(over="ignore", invalid="ignore"):
                    expected = WITH_NAN[name](np, wide)
                found = np.asarray(found).astype("float64")
                np.testing.assert_array_equal(np.isnan(found), np.isnan(expected), f"{name} {places}")
                if not any(word in name for word in ("sum", "product", "ptp")):  # which round
                    np.testing.assert_array_equal(found, expected, f"{name} {places}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_nan_is_kept_operation_by_operation(backend):
    with backend_setting(backend):
        for size in (10, 1000, 100_000):
            x = tangrad.numpy.arange(size, dtype="float32").at[7].set(np.nan)
            assert np.isnan([float(find(x)) for find in (x.__class__.max, x.__class__.min, tangrad.numpy.ptp)]).all()
            assert np.isnan(float(tangrad.nn.relu(x).sum()))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "float32"])
def test_positions_agree_with_jax(name, dtype):
    x = draw(dtype, 5, 7)

    def function(api):
        return lambda x: (getattr(api, name)(x, 0, "int32"), getattr(api, name)(x, 1, "uint8"))

    agree_everywhere(function(lax), jax.jit(function(jax.lax))(x), x)


def test_positions_of_ties_and_nan():
    x = np.float32([[3, 1, 3], [np.nan, 5, np.nan], [np.inf, -np.inf, np.inf]])
    positions = np.int32([0, 0, 0]), np.int32([1, 0, 1])
    agree_everywhere(lambda x: (lax.argmax(x, 1, "int32"), lax.argmin(x, 1, "int32")), positions, x)


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_running_totals_agree_with_jax(name, dtype):
    if name == "cumlogsumexp" and not dtype.startswith(("float", "bfloat", "complex")):
        pytest.skip("floating and complex numbers only")
    x = draw(dtype, 3, 5)

    def function(api):
        return lambda x: (getattr(api, name)(x, 0, False), getattr(api, name)(x, 1, True))

    agree_everywhere(function(lax), jax.jit(function(jax.lax))(x), x)


def test_running_totals_of_nothing_and_of_infinities():
    agree_everywhere(lambda x: lax.cumsum(x, 0), np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32))
    x = np.float32([-np.inf, -np.inf, 0.0, np.inf])
    agree_everywhere(lambda x: lax.cumlogsumexp(x), x, x)
    x = np.float32([1, np.nan, 3])
    agree_everywhere(lambda x: lax.cummax(x), np.float32([1, np.nan, np.nan]), x)


# --- any operation ----------------------------------------------------------------------------------------------------


def hypotenuse(api):
    return lambda x, y: api.sqrt(api.add(api.mul(x, x), api.mul(y, y)))


def affine(api):
    """The composition of two maps x -> a x + b, which does not commute."""
    return lambda f, g: (api.mul(f[0], g[0]), api.add(api.mul(f[1], g[0]), g[1]))


def test_reduce_by_any_operation():
    for shape, dimensions in (((6,), (0,)), ((3, 5), (0,)), ((3, 5), (1,)), ((2, 3, 5), (0, 2)), ((0, 2), (0,))):
        x = draw("float32", *shape)
        expected = jax.lax.reduce(x, np.float32(0), hypotenuse(jax.lax), dimensions)
        agree_everywhere(lambda x, d=dimensions: lax.reduce(x, 0.0, hypotenuse(lax), d), expected, x)


def test_reduce_of_several_operands_keeps_the_order():
    a, b = draw("float32", 7, 3), draw("float32", 7, 3, seed=1)
    expected = jax.lax.reduce((a, b), (np.float32(1), np.float32(0)), affine(jax.lax), (0,))
    agree_everywhere(lambda a, b: lax.reduce((a, b), (1.0, 0.0), affine(lax), (0,)), expected, a, b)


@pytest.mark.parametrize(
    ("function", "start", "name"),
    [
        ("add", 0.0, "reduce_sum"),
        ("mul", 1.0, "reduce_prod"),
        ("max", -np.inf, "reduce_max"),
        ("min", np.inf, "reduce_min"),
        ("bitwise_and", -1, "reduce_and"),
        ("bitwise_or", 0, "reduce_or"),
        ("bitwise_xor", 0, "reduce_xor"),
        ("add", 1.0, "reduce"),
        ("max", 0.0, "reduce"),
    ],
)
def test_simple_operations_are_recognised(function, start, name):
    x = draw("float32" if isinstance(start, float) else "int32", 3, 4)
    jaxpr = tangrad.make_jaxpr(lambda x: lax.reduce(x, start, getattr(lax, function), (0,)))(x)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == [name]


def test_reduce_by_what_is_not_elementwise():
    """The operation sorts, so that a program of scalars has to be mapped."""

    def least(api):
        def combine(x, y):
            both = api.concatenate([api.reshape(x, (1,)), api.reshape(y, (1,))], 0)
            return api.index_in_dim(api.sort(both), 0, 0, keepdims=False)

        return combine

    x = draw("float32", 5, 3)
    with backend_setting("numpy"):
        assert_same(lax.reduce(x, np.float32(np.inf), least(lax), (0,)), x.min(0))


def test_reduce_by_a_function_of_traced_values():
    def function(x, scale):
        return lax.reduce(x, 0.0, lambda a, b: lax.add(a, lax.mul(b, scale)), (0,))

    x = draw("float32", 1, 3)
    with backend_setting("numpy"):
        found = tangrad.jit(function)(x, np.float32(2))
        grown = tangrad.grad(lambda s: lax.reduce_sum(function(x, s), (0,)))(np.float32(2))
    assert_same((found, grown), (2 * x[0], x.sum()), 1e-5)


def test_reduce_traces_an_operation_once():
    calls = []

    def operation(x, y):
        calls.append(None)
        return lax.add(lax.mul(x, y), x)

    for _ in range(3):
        lax.reduce(np.float32([1, 2]), 1.0, operation, (0,))
    assert len(calls) == 1


# --- transformations --------------------------------------------------------------------------------------------------

SMOOTH = {
    "reduce_sum": lambda x: lax.reduce_sum(lax.mul(x, x), (0,)),
    "reduce_prod": lambda x: lax.reduce_prod(x, (0, 1)),
    "reduce_prod one axis": lambda x: lax.reduce_prod(x, (1,)),
    "reduce_max": lambda x: lax.reduce_max(lax.mul(x, x), (1,)),
    "reduce_min": lambda x: lax.reduce_min(lax.sin(x), (0,)),
    "reduce": lambda x: lax.reduce(x, 0.0, hypotenuse(lax), (1,)),
    "several": lambda x: lax.reduce((x, lax.sin(x)), (1.0, 0.0), affine(lax), (0,)),
    "cumsum": lambda x: lax.mul(x, lax.cumsum(x, 1)),
    "cumprod": lambda x: lax.cumprod(x, 0, True),
    "cummax": lambda x: lax.cummax(lax.mul(x, x), 1),
    "cummin": lambda x: lax.cummin(lax.sin(x), 0),
    "cumlogsumexp": lambda x: lax.cumlogsumexp(lax.mul(x, x), 1),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    check_derivative(SMOOTH[name], draw("float64", 4, 3))


@pytest.mark.parametrize("name", [*SMOOTH, "argmax", "argmin", "reduce_and", "reduce_xor"])
def test_batching(name):
    if name in SMOOTH:
        check_batching(SMOOTH[name], draw("float32", 4, 3))
    elif name.startswith("arg"):
        check_batching(lambda x: getattr(lax, name)(x, 1, "int32"), draw("float32", 4, 3))
    else:
        check_batching(lambda x: getattr(lax, name)(x, (1,)), draw("int32", 4, 3))


def test_batching_of_initial_values():
    check_batching(lambda x, start: lax.reduce(x, start, hypotenuse(lax), (0,)), draw("float32", 4, 3), np.float32(2))


def gradients(api, function, x):
    scalar = (lambda y: jax.numpy.sum(y)) if api is jax else (lambda y: lax.reduce_sum(y, tuple(range(y.ndim))))
    weights = np.arange(1, 1 + np.size(x), dtype=np.float32).reshape(np.shape(x))
    return api.grad(lambda x: scalar(function(api.lax, x, weights)))(x)


AT_CORNERS = {
    "product with a zero": (lambda l, x, w: l.reduce_prod(x, (1,)), [[2, 0, 3], [0, 0, 5], [1, 2, 3]]),
    "product with an axis of one": (lambda l, x, w: l.reduce_prod(x, (0,)), [[2, 0, 3]]),
    "maximum with ties": (lambda l, x, w: l.reduce_max(x, (1,)), [[3, 3, 1], [2, 2, 2], [1, 2, 3]]),
    "minimum with ties": (lambda l, x, w: l.reduce_min(x, (0, 1)), [[3, 1, 1], [2, 2, 2]]),
    "running product with zeros": (lambda l, x, w: l.mul(w, l.cumprod(x, 1)), [[2, 0, 3, 0, 1], [1, 2, 3, 4, 5]]),
    "running maximum with ties": (lambda l, x, w: l.mul(w, l.cummax(x, 1)), [[1, 3, 3, 2, 3], [2, 2, 2, 2, 2]]),
    "running minimum with ties": (lambda l, x, w: l.mul(w, l.cummin(x, 1, True)), [[1, 3, 3, 2, 3], [2, 2, 2, 2, 2]]),
    "running log-sum-exp": (lambda l, x, w: l.mul(w, l.cumlogsumexp(x, 1)), [[-np.inf, 0, 80, 90], [5, 5, 5, 5]]),
}


@pytest.mark.parametrize("name", AT_CORNERS)
def test_gradients_at_corners_agree_with_jax(name):
    function, x = AT_CORNERS[name]
    x = np.float32(x)
    expected = gradients(jax, function, x)
    agree_everywhere(lambda x: gradients(tangrad, function, x), expected, x)


def test_integers_have_no_gradient():
    with backend_setting("numpy"):
        out, tangent = tangrad.jvp(lambda x: lax.argmax(x, 0, "int32"), (np.float32([1, 2]),), (np.float32([1, 1]),))
    assert int(out) == 1 and tangent.dtype == tangrad.core.dtypes.float0


# --- bad input --------------------------------------------------------------------------------------------------------

X = np.ones((3, 4), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.reduce_sum(X, (2,)), ValueError, r"reduce_sum: axes must be in \[0, 2\).*\(2,\)"),
        (lambda: lax.reduce_sum(X, (-1,)), ValueError, r"reduce_sum: axes must be in \[0, 2\)"),
        (lambda: lax.reduce_sum(X, (0, 0)), ValueError, "must not repeat"),
        (lambda: lax.reduce_sum(X, 0), TypeError, "axes must be a sequence of integers, got 0"),
        (lambda: lax.reduce_sum(X, (0.5,)), TypeError, "must be an integer, got 0.5"),
        (lambda: lax.reduce_sum(X > 0, (0,)), TypeError, "reduce_sum does not accept dtype bool"),
        (lambda: lax.reduce_or(X, (0,)), TypeError, "reduce_or does not accept dtype float32"),
        (lambda: lax.reduce_sum([1.0, 2.0], (0,)), TypeError, "reduce_sum requires arrays or numbers"),
        (lambda: lax.argmax(X, 2, "int32"), ValueError, r"argmax: axis must be in \[0, 2\)"),
        (lambda: lax.argmax(X, 0, "float32"), TypeError, "index_dtype must be an integer dtype, got float32"),
        (lambda: lax.argmax(np.ones((0, 3)), 0, "int32"), ValueError, "is empty"),
        (lambda: lax.argmin(X * 1j, 0, "int32"), TypeError, "argmin does not accept dtype complex64"),
        (lambda: lax.cumsum(X, 2), ValueError, r"cumsum: axis must be in \[0, 2\)"),
        (lambda: lax.cumsum(X > 0), TypeError, "cumsum does not accept dtype bool"),
        (lambda: lax.cumlogsumexp(np.int32([1])), TypeError, "cumlogsumexp does not accept dtype int32"),
        (lambda: lax.reduce(X, (0.0,), lax.add, (0,)), TypeError, "operands and init_values must have one structure"),
        (lambda: lax.reduce(X, X[0], lax.add, (0,)), ValueError, r"init_values\[0\] must be a scalar, got .*\(4,\)"),
        (lambda: lax.reduce(X, np.int32(0), lax.sub, (0,)), TypeError, "must have the operand's dtype float32"),
        (lambda: lax.reduce(X, 0.0, lax.sub, (3,)), ValueError, r"reduce: dimensions must be in \[0, 2\)"),
        (lambda: lax.reduce(X, 0.0, lambda x, y: (x, y), (0,)), TypeError, "computation must return scalars"),
        (lambda: lax.reduce(X, 0.0, lambda x, y: 1, (0,)), TypeError, "computation must return scalars"),
        (lambda: lax.reduce(X, 0.0, 3, (0,)), TypeError, "computation must be a function, got 3"),
        (lambda: lax.reduce((X, X[0]), (0.0, 0.0), lambda x, y: x, (0,)), ValueError, "operands must have one shape"),
        (lambda: lax.reduce((), (), lax.add, (0,)), TypeError, "at least one operand"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
