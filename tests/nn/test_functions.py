"""The functions of `nn` beside JAX: activations, normalisation, `one_hot`, initializers; derivatives by differences."""

import importlib
import inspect

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax, nn, random, use_backend
from tangrad.nn import initializers
from tests.nn.support import BACKENDS, check, close, reference, using
from tests.primitives import reference as against

# --- Activations: values, derivatives (at kinks and far out too), dtypes, beside JAX ---


SPREAD = np.linspace(-6, 6, 25).astype("float32")  # with every kink in it
FAR = np.array([-1000, -100, 0, 100, 1000], "float32")
POSITIVE = np.array([1e-3, 0.1, 0.5, 0.7, 1, 30], "float32")
PLAIN = [
    *("celu", "elu", "gelu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "leaky_relu"),
    *("log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus", "sparse_plus"),
    *("sparse_sigmoid", "squareplus", "swish", "tanh"),
]


@pytest.mark.parametrize("name", PLAIN)
def test_against_jax(name):
    check(lambda api, x: getattr(api.nn, name)(x), SPREAD, slack=4)


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "squareplus"])
def test_far_out(name):
    """Finite derivatives where the formula would overflow. JAX's squareplus cancels there."""
    jax = reference()
    for direction in (lambda api, x: getattr(api.nn, name)(x), lambda api, x: api.grad(getattr(api.nn, name))(x)):
        expected = jax.vmap(lambda x, f=direction: f(jax, x))(FAR)
        with using("numpy"):
            close(tangrad.vmap(lambda x, f=direction: f(tangrad, x))(FAR), expected)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("name", ["silu", "mish", "gelu", "exact gelu"])
def test_gated_functions_of_narrow_floats_are_rounded_once(name, dtype, backend):
    """The function and its derivatives, far out too, where the narrow numbers end."""
    if backend == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    function = (lambda x: nn.gelu(x, approximate=False)) if name == "exact gelu" else getattr(nn, name)

    def both(x):
        out, pull = tangrad.vjp(function, x)
        return out, pull(tnp.ones_like(x))[0], tangrad.vmap(tangrad.grad(tangrad.grad(function)))(x)

    with enable_x64(True), use_backend(backend):
        info = tnp.finfo(dtype)
        points = np.concatenate([np.linspace(-6, 6, 401), [float(info.max), float(info.min), 0.0]])
        x = tnp.asarray(points, dtype)
        for found, exact in zip(tangrad.jit(both)(x)[:2], both(x.astype("float64"))):
            found, exact = np.asarray(found).astype("float64"), np.asarray(exact)
            size = np.maximum(np.abs(exact), float(info.smallest_normal))
            digits = 2.0 ** (np.floor(np.log2(size)) - info.nmant)
            # Beside a zero of the derivative, what float32 loses counts.
            assert (np.abs(found - exact) <= 0.51 * digits + 1e-6).all()
        assert np.isfinite(np.asarray(tangrad.jit(both)(x)[2]).astype("float64")).all()


def test_with_parameters():
    check(lambda api, x: api.nn.elu(x, 2.0), SPREAD)
    check(lambda api, x: api.nn.celu(x, 0.5), SPREAD)
    check(lambda api, x: api.nn.leaky_relu(x, 0.3), SPREAD)
    check(lambda api, x: api.nn.squareplus(x, 0.5), SPREAD, slack=4)
    check(lambda api, x: api.nn.gelu(x, approximate=False), SPREAD, slack=4)
    check(lambda api, x: api.nn.log1mexp(x), POSITIVE, slack=4)
    check(lambda api, x: api.nn.glu(x), SPREAD[:24].reshape(4, 6))
    check(lambda api, x: api.nn.glu(x, axis=0), SPREAD[:24].reshape(4, 6))


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_at_kinks(backend):
    with using(backend):
        for name, at in (("relu", 0.0), ("relu", -0.0), ("relu6", 0.0), ("relu6", 6.0)):
            assert float(tangrad.grad(getattr(nn, name))(at)) == 0
        assert np.isnan(nn.relu(np.float32(np.nan)))
        assert float(tangrad.grad(nn.softplus)(0.0)) == 0.5
        assert float(tangrad.grad(nn.softplus)(np.inf)) == 1
        assert float(tangrad.grad(nn.softplus)(-np.inf)) == 0


@pytest.mark.parametrize("name", PLAIN)
def test_dtypes(name):
    """Results and weak types of integers, booleans, Python numbers, narrow floats; the same errors."""
    jax = reference()
    values = (np.array([1, 2]), np.array([1, 2], "int8"), np.array([True, False]), 1, 1.5, np.ones(2, "float16"), True)
    with using("numpy"):
        for value in values:
            try:
                expected = getattr(jax.nn, name)(value)
            except (TypeError, OverflowError) as error:
                with pytest.raises(type(error)):
                    getattr(nn, name)(value)
            else:
                close(getattr(nn, name)(value), expected)
        with pytest.raises(TypeError):
            getattr(nn, name)([1.0, 2.0])


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "standardize"])
def test_weak_types_of_what_is_normalized(name):
    jax = reference()
    where = np.array([True, False])
    with using("numpy"):
        for fill in (2.0, 2):
            ours, theirs = (api.numpy.full((2,), fill) for api in (tangrad, jax))
            assert ours.weak_type and theirs.weak_type
            close(getattr(nn, name)(ours), getattr(jax.nn, name)(theirs))
            close(tangrad.jit(getattr(nn, name))(ours), getattr(jax.nn, name)(theirs))
            close(getattr(nn, name)(ours, where=where), getattr(jax.nn, name)(theirs, where=where))


@pytest.mark.parametrize("backend", BACKENDS)
def test_mapped(backend):
    rows = SPREAD[:24].reshape(4, 6)
    with using(backend):
        for name in ("relu", "relu6", "softplus", "log1mexp"):
            function = getattr(nn, name)
            close_to = np.stack([np.asarray(function(row)) for row in abs(rows.T) + 0.1], 1)
            np.testing.assert_allclose(tangrad.vmap(function, 1, 1)(abs(rows) + 0.1), close_to, rtol=1e-6)
        for axes in (0, 1):
            found = tangrad.vmap(lambda x, axes=axes: nn.softmax(x.reshape(2, 3), axes), 1, 2)(rows.T)
            expected = np.stack([np.asarray(nn.softmax(row.reshape(2, 3), axes)) for row in rows], 2)
            np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_one_equation():
    with using("numpy"):
        for name in ("relu", "relu6", "softplus", "softmax", "log1mexp"):
            jaxpr = tangrad.make_jaxpr(getattr(nn, name))(SPREAD)
            assert [eqn.primitive.name for eqn in jaxpr.jaxpr.eqns] == [name]


@pytest.mark.parametrize("backend", BACKENDS)
def test_unsigned_integers_are_not_below_minus_one(backend):
    with using(backend):
        found = nn.hard_tanh(np.array([3, 1, 0, 255], "uint8"))
        assert found.dtype == "uint8" and found.tolist() == [1, 1, 0, 1]


def test_bad_arguments():
    with using("numpy"):
        for axis, error in ((1.0, TypeError), (5, ValueError)):
            with pytest.raises(error, match="one_hot: axis"):
                nn.one_hot(np.array([0, 1]), 3, axis=axis)
        for count, error in ((3.0, TypeError), (-3, ValueError)):
            with pytest.raises(error, match="one_hot: num_classes"):
                nn.one_hot(np.array([0, 1]), count)
        with pytest.raises(ValueError, match="even size"):
            nn.glu(SPREAD)
        with pytest.raises(ValueError, match="out of bounds"):
            nn.glu(SPREAD, axis=1)
        with pytest.raises(TypeError):
            nn.sigmoid("x")


def test_hard_tanh_of_unsigned_integers():
    """None of which is below -1, and none is -1."""
    assert tangrad.nn.hard_tanh(tangrad.numpy.asarray([0, 1, 200], "uint8")).tolist() == [0, 1, 1]


# --- softmax and its relatives, standardize, one_hot, beside JAX ---


X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
NORMALIZATION_FAR = np.array([[-1000, 0, 1000, 1000], [5, 5, 5, 5], [-np.inf, 0, 1, -np.inf]], "float32")
WHERE = np.array([True, False, True, True])
SIGNED = np.array([1.0, -1.0, 0.0, 2.0], "float32")

PROGRAMS = {
    "softmax": lambda api, x: api.nn.softmax(x),
    "softmax over the first axis": lambda api, x: api.nn.softmax(x, axis=0),
    "softmax over two axes": lambda api, x: api.nn.softmax(x, axis=(0, 1)),
    "softmax over all": lambda api, x: api.nn.softmax(x, axis=None),
    "softmax of some": lambda api, x: api.nn.softmax(x, where=WHERE),
    "log_softmax": lambda api, x: api.nn.log_softmax(x),
    "log_softmax over two axes": lambda api, x: api.nn.log_softmax(x, axis=(0, 1)),
    "logsumexp": lambda api, x: api.nn.logsumexp(x),
    "logsumexp along an axis": lambda api, x: api.nn.logsumexp(x, axis=1, keepdims=True),
    "logsumexp of some": lambda api, x: api.nn.logsumexp(x, axis=1, where=WHERE),
    "logsumexp with factors": lambda api, x: api.nn.logsumexp(x, axis=1, b=abs(SIGNED)),
    "logsumexp with signs": lambda api, x: api.nn.logsumexp(x, axis=1, b=SIGNED, return_sign=True)[0],
    "logmeanexp": lambda api, x: api.nn.logmeanexp(x, axis=0),
    "logmeanexp of some": lambda api, x: api.nn.logmeanexp(x, axis=1, where=WHERE, keepdims=True),
    "standardize": lambda api, x: api.nn.standardize(x),
    "standardize, stable": lambda api, x: api.nn.standardize(x, axis=0, algorithm="stable"),
    "standardize of some": lambda api, x: api.nn.standardize(x, where=WHERE),
    "standardize by numbers": lambda api, x: api.nn.standardize(x, mean=np.float32(0.5), variance=np.float32(2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_normalization_against_jax(name):
    check(PROGRAMS[name], X, slack=4)


def test_values_far_apart():
    jax = reference()
    names = ("softmax", "log_softmax", "logsumexp along an axis", "softmax of some")

    def all_of_them(api):
        values = [PROGRAMS[name](api, NORMALIZATION_FAR) for name in names]
        values.append(api.nn.logsumexp(NORMALIZATION_FAR[:, :1] - np.inf))
        return [*values, api.nn.logsumexp(X, axis=1, b=SIGNED, return_sign=True)]

    expected = jax.jit(lambda: all_of_them(jax))()
    for backend in BACKENDS:
        with using(backend):
            close(all_of_them(tangrad), expected, weak=False)
            close(nn.logsumexp(X, axis=1, b=-abs(SIGNED)), np.full(3, np.nan, "float32"), weak=False)


def test_log_softmax_of_some():
    """Without derivatives: what is left out is -inf."""
    jax = reference()
    with using("numpy"):
        close(nn.log_softmax(X, where=WHERE), jax.nn.log_softmax(X, where=WHERE), weak=False)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")  # JAX's own, with float16
def test_normalization_dtypes():
    jax = reference()
    with using("numpy"):
        for name in ("softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize"):
            for value in (np.arange(4), np.ones(3, "float16")):
                close(getattr(nn, name)(value), getattr(jax.nn, name)(value), slack=4)
        close(nn.logsumexp(1.5), jax.nn.logsumexp(1.5))
        assert nn.softmax(np.zeros((2, 0), "float32")).shape == (2, 0)
        assert nn.log_softmax(np.zeros((2, 0), "float32")).shape == (2, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_hot(backend):
    jax = reference()
    calls = (
        lambda api: api.nn.one_hot(np.array([0, 2, 5, -1]), 3),
        lambda api: api.nn.one_hot(np.array([[0, 2, 1]]), 3, axis=0, dtype="int32"),
        lambda api: api.nn.one_hot(np.array([0, 2], "uint8"), 4, axis=1, dtype=bool),
        lambda api: api.nn.one_hot(2, 4),
        lambda api: api.vmap(lambda x: api.nn.one_hot(x, 3))(np.array([1, 2])),
    )
    with using(backend):
        for call in calls:
            close(call(tangrad), call(jax))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_one_hot_of_narrow_integers_with_more_classes_than_they_count(dtype):
    with using("numpy"):
        hot = nn.one_hot(np.array([10], dtype), 300)
    np.testing.assert_array_equal(np.flatnonzero(hot), [10])


def test_normalization_bad_arguments():
    with using("numpy"):
        for function in (nn.softmax, nn.log_softmax, nn.standardize):
            with pytest.raises((ValueError, IndexError)):
                function(X, axis=2)
            with pytest.raises(TypeError):
                function([1.0])
        with pytest.raises(TypeError, match="numbers"):
            nn.softmax(WHERE)
        with pytest.raises(ValueError, match="algorithm"):
            nn.standardize(X, algorithm="slow")
        with pytest.raises(ValueError, match="out of bounds"):
            nn.one_hot(np.array([1]), 3, axis=2)
        with pytest.raises(TypeError):
            nn.one_hot(np.array([1]), 3.5)
        with pytest.warns(DeprecationWarning, match="integers"):
            nn.one_hot(np.array([1.0]), 3)


# --- `nn.one_hot` along a mapped axis, with JAX's results ---


def along(x, count, **options):
    """The vectors, of which each example of the axis "i" makes its elements."""
    return tangrad.vmap(lambda _: nn.one_hot(x, count, axis="i", **options), axis_name="i")(tnp.zeros(4))


def test_vectors_along_a_mapped_axis():
    x = tnp.array([3, 0, 7, -1])
    out = along(x, 4)
    assert out.dtype == tnp.float32
    np.testing.assert_array_equal(out, nn.one_hot(x, 4, axis=0))
    assert along(x, 4, dtype="int8").dtype == tnp.int8
    total = tangrad.vmap(lambda _: lax.psum(nn.one_hot(x, 4, axis="i"), "i"), axis_name="i")(tnp.zeros(4))
    assert total[0].tolist() == [1, 1, 0, 0]
    jax = pytest.importorskip("jax")
    numbers = jax.numpy.asarray(np.asarray(x))
    theirs = jax.vmap(lambda _: jax.nn.one_hot(numbers, 4, axis="i"), axis_name="i")(jax.numpy.zeros(4))
    np.testing.assert_array_equal(out, theirs)


def test_what_it_refuses():
    with pytest.raises(ValueError, match="the size of the axis 'i', 4, got 3"):
        along(tnp.arange(3), 3)
    with pytest.raises(NameError, match="'j'"):
        nn.one_hot(tnp.arange(3), 3, axis="j")


# --- Derivatives of every function of `nn` against finite differences, and their maps against loops ---


POINTS = np.linspace(-4.3, 4.4, 12)  # beside all kinks
ABOVE = np.abs(POINTS)
ROWS = POINTS.reshape(3, 4)
HEADS = against.normal((2, 3, 2, 4), "float64")  # batches, places, heads, features
# Function -> a program and its arguments.
DIFFERENCES_PROGRAMS = {
    **{
        name: (getattr(nn, name), POINTS)
        for name in (
            *("celu", "elu", "gelu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "leaky_relu"),
            *("log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus"),
            *("sparse_plus", "sparse_sigmoid", "squareplus", "swish", "tanh"),
        )
    },
    "log1mexp": (nn.log1mexp, ABOVE),
    "glu": (nn.glu, ROWS),
    "softmax": (nn.softmax, ROWS),
    "log_softmax": (nn.log_softmax, ROWS),
    "logsumexp": (lambda x: nn.logsumexp(x, axis=1, b=ROWS**2), ROWS),
    "logmeanexp": (lambda x: nn.logmeanexp(x, axis=1), ROWS),
    "standardize": (nn.standardize, ROWS),
    "dot_product_attention": (
        lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True),
        HEADS,
        HEADS[:, ::-1],
        HEADS * 2,
    ),
}
# Its logits are of single precision whatever its operands are, as in JAX: the ends of differences must be far apart.
WIDE_STEPS = {"dot_product_attention": {"step": 3e-3, "slack": 30}}
IN_SHORT = ("gelu", "log_softmax", "softplus")  # on XLA, where compiling takes long; the others there in the sweep
# What makes arrays of indices, and what multiplies numbers of eight bits: test_normalization and test_attention.
WITHOUT_SLOPES = {"one_hot", "scaled_matmul"}


def test_every_function_is_here():
    public = {name for name in dir(nn) if not name.startswith("_") and callable(getattr(nn, name))}
    assert {name for name in public if not inspect.ismodule(getattr(nn, name))} == {
        *DIFFERENCES_PROGRAMS
    } | WITHOUT_SLOPES


ON_XLA = [
    pytest.param(name, "xla", marks=() if name in IN_SHORT else pytest.mark.sweep) for name in DIFFERENCES_PROGRAMS
]


@pytest.mark.parametrize("name, backend", [*[(name, "numpy") for name in DIFFERENCES_PROGRAMS], *ON_XLA])
def test_derivatives_and_maps(name, backend):
    if backend == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    program, *args = DIFFERENCES_PROGRAMS[name]
    with enable_x64(True), use_backend(backend):
        against.check_finite_differences(program, args, **WIDE_STEPS.get(name, {}))
        slopes = tangrad.grad(lambda *args: program(*args).sum(), tuple(range(len(args))))
        options = WIDE_STEPS.get(name, {"step": 1e-5, "slack": 10})
        against.check_finite_differences(lambda *args: slopes(*args)[0], args, **options)
        slack = 1e5 if name in WIDE_STEPS else 1
        against.check_mapped(program, args, (0,) * len(args), slack=slack)
        against.check_mapped(lambda *args: list(slopes(*args)), args, (0,) * len(args), slack=slack)


# --- Initializers: JAX's numbers for the same keys, scales by fan in and fan out, dtypes ---

MAKERS = {
    "zeros": lambda i: i.zeros,
    "ones": lambda i: i.ones,
    "constant": lambda i: i.constant(0.5),
    "constant row": lambda i: i.constant(np.arange(6.0, dtype="float32")),
    "uniform": lambda i: i.uniform(),
    "normal": lambda i: i.normal(0.1),
    "truncated_normal": lambda i: i.truncated_normal(0.1),
    "truncated_normal, own bounds": lambda i: i.truncated_normal(0.1, lower=-1.0, upper=0.5),
    **{
        name: lambda i, name=name: getattr(i, name)()
        for kind in ("glorot", "xavier", "lecun", "he", "kaiming")
        for name in (f"{kind}_uniform", f"{kind}_normal")
    },
    "fan_out": lambda i: i.variance_scaling(3.0, "fan_out", "normal"),
    "fan_geo_avg": lambda i: i.variance_scaling(3.0, "fan_geo_avg", "uniform", in_axis=0, out_axis=(1, 2)),
    "orthogonal": lambda i: i.orthogonal(2.0),
    "orthogonal, another axis": lambda i: i.orthogonal(column_axis=1),
    "delta_orthogonal": lambda i: i.delta_orthogonal(0.5),
    "batch axis": lambda i: i.variance_scaling(1.0, "fan_in", "truncated_normal", batch_axis=0),
}
SHAPE = (4, 5, 6)


@pytest.mark.parametrize("name", MAKERS)
def test_initializers_against_jax(name):
    jax = reference()
    expected = MAKERS[name](jax.nn.initializers)(jax.random.key(3), SHAPE)
    for backend in BACKENDS:
        with using(backend):
            close(MAKERS[name](initializers)(random.key(3), SHAPE), expected)


@pytest.mark.parametrize("name", ["uniform", "normal", "truncated_normal"])
@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_dtypes_of_initializers(name, dtype):
    jax = reference()
    expected = jax.nn.initializers.variance_scaling(2.0, "fan_avg", name)(jax.random.key(3), (4, 5), dtype)
    with using("numpy"):
        found = initializers.variance_scaling(2.0, "fan_avg", name, dtype="float32")(random.key(3), (4, 5), dtype)
        close(found, expected, slack=4)


@pytest.mark.parametrize("name", ["normal", "truncated_normal", "uniform"])
def test_variance_of_initializers(name):
    with using("numpy"):
        sample = np.asarray(initializers.variance_scaling(2.0, "fan_in", name)(random.key(0), (400, 200)))
    np.testing.assert_allclose(sample.var(), 2 / 400, rtol=0.02)
    np.testing.assert_allclose(sample.mean(), 0, atol=1e-3)


def test_initializers_are_a_module():
    assert importlib.import_module("tangrad.nn.initializers") is tangrad.nn.initializers
    assert isinstance(initializers.he_normal(), initializers.Initializer)
    for name in initializers.__all__:
        assert hasattr(initializers, name)


def test_initializers_in_programs():
    with using("numpy"):
        init = initializers.he_normal()
        jitted = tangrad.jit(lambda key: init(key, (3, 4)))(random.key(1))
        np.testing.assert_array_equal(jitted, init(random.key(1), (3, 4)))
        keys = random.split(random.key(2), 3)
        mapped = tangrad.vmap(lambda key: init(key, (3, 4)))(keys)
        np.testing.assert_allclose(mapped[1], init(keys[1], (3, 4)), rtol=1e-6)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: initializers.variance_scaling(1.0, "fan", "normal"), ValueError, "mode"),
        (lambda: initializers.variance_scaling(1.0, "fan_in", "cauchy"), ValueError, "distribution"),
        (lambda: initializers.he_normal()(random.key(0), (3,)), ValueError, "two dimensions"),
        (lambda: initializers.he_normal()(random.key(0), (3, 2), "int32"), ValueError, "got dtype int32"),
        (lambda: initializers.he_normal(in_axis=5)(random.key(0), (3, 2)), ValueError, "in_axis 5 is out of bounds"),
        (lambda: initializers.orthogonal(column_axis=4)(random.key(0), (3, 2)), ValueError, "column_axis 4 is out"),
        (lambda: initializers.zeros(None, (3,), out_sharding="x"), TypeError, "out_sharding"),
    ],
)
def test_bad_arguments_of_initializers(call, error, words):
    with using("numpy"), pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("name", ["glorot_normal", "he_uniform", "lecun_normal"])
def test_weights_of_no_elements(name):
    with using("numpy"):
        assert getattr(initializers, name)()(random.key(0), (0, 3)).shape == (0, 3)
