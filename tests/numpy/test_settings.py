"""Settings of the NumPy interface: within programs, 64-bit dtypes, strict promotion."""

import warnings

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, random
from tangrad._core.settings.config import explicit_x64_dtypes

# --- 64-bit dtypes that are asked for by name while they are off ---


KEY = random.key(0)

ASKING = {  # what is made, and the dtype that is asked for
    "array": (lambda: np.array([1.0], numpy.float64), "float64"),
    "asarray": (lambda: np.asarray([1], "int64"), "int64"),
    "zeros": (lambda: np.zeros(2, "float64"), "float64"),
    "full": (lambda: np.full(2, 1, "uint64"), "uint64"),
    "ones_like": (lambda: np.ones_like(np.ones(2), dtype="complex128"), "complex128"),
    "eye": (lambda: np.eye(2, dtype="float64"), "float64"),
    "arange": (lambda: np.arange(3, dtype="int64"), "int64"),
    "linspace": (lambda: np.linspace(0, 1, 3, dtype="float64"), "float64"),
    "astype": (lambda: np.ones(2).astype("float64"), "float64"),
    "view": (lambda: np.zeros(2, "float32").view("float64"), "float64"),
    "scalar": (lambda: np.float64(1), "float64"),
    "sum": (lambda: np.ones(2).sum(dtype="float64"), "float64"),
    "mean": (lambda: np.ones(2).mean(dtype="float64"), "float64"),
    "cumsum": (lambda: np.cumsum(np.arange(3), dtype="int64"), "int64"),
    "dot": (lambda: np.dot(np.ones(2), np.ones(2), preferred_element_type="float64"), "float64"),
    "convert_element_type": (lambda: lax.convert_element_type(np.ones(2), numpy.float64), "float64"),
    "lax.full": (lambda: lax.full((2,), 1, "float64"), "float64"),
    "uniform": (lambda: random.uniform(KEY, (2,), "float64"), "float64"),
    "randint": (lambda: random.randint(KEY, (2,), 0, 5, "int64"), "int64"),
    "one_hot": (lambda: tangrad.nn.one_hot(np.arange(3), 3, dtype="float64"), "float64"),
    "jit": (lambda: tangrad.jit(lambda x: x.astype("float64") * 2)(np.ones(2)), "float64"),
    "vmap": (lambda: tangrad.vmap(lambda x: x.astype("float64"))(np.ones(2)), "float64"),
}
SAID_ONCE = ("linspace", "sum")  # what runs as a program that is kept warns when it is made
NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("name", ASKING)
def test_each_way(name):
    """In an order in which one way's result, if it were remembered, would be another's."""
    make, dtype = ASKING[name]
    for _ in range(2):
        with explicit_x64_dtypes("allow"):
            assert make().dtype == dtype
        with explicit_x64_dtypes("error"), pytest.raises(ValueError, match=f"{dtype} was asked for.*is 'error'"):
            make()
        with explicit_x64_dtypes("warn"), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert make().dtype == NARROW[dtype]
        assert name in SAID_ONCE or f"{dtype} was asked for" in str(said[0].message)
        with tangrad.enable_x64(True), explicit_x64_dtypes("error"):
            assert make().dtype == dtype


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("way", ["warn", "error", "allow"])
def test_what_asks_for_no_width_becomes_32_bit(way):
    with explicit_x64_dtypes(way):
        made = [np.zeros(2, float), np.array(numpy.ones(2)), np.arange(3), np.ones(2).astype(int), np.array([1j])]
        assert [str(x.dtype) for x in made] == ["float32", "float32", "int32", "int32", "complex64"]


@pytest.mark.usefixtures("backend")
def test_what_was_made_stays_as_wide():
    with explicit_x64_dtypes("allow"):
        wide = np.array([1.0, 1e-12], "float64")
        assert (wide + 1).dtype == (wide + np.ones(2)).dtype == (np.ones(2) * wide).dtype == "float64"
        assert float((wide + np.ones(2))[1]) == 1 + 1e-12
        gradient = tangrad.grad(lambda x: (x.astype("float64") ** 2).sum())(np.ones(2))
        assert gradient.dtype == "float32" and gradient.tolist() == [2, 2]


@pytest.mark.usefixtures("backend")
def test_other_values_are_refused():
    with pytest.raises(ValueError, match="explicit_x64_dtypes"):
        tangrad.config.update("explicit_x64_dtypes", "never")


@pytest.mark.usefixtures("backend")
def test_the_name_in_jax():
    tangrad.config.update("jax_explicit_x64_dtypes", "allow")
    try:
        assert tangrad.config.explicit_x64_dtypes == "allow"
    finally:
        tangrad.config.update("jax_explicit_x64_dtypes", "warn")


# --- Settings that are switched within a program hold for what is written there ---


UNDER = {
    "eager": lambda f: f,
    "jit": lambda f: tangrad.jit(f),
    "vmap": lambda f: lambda x: tangrad.vmap(lambda _: f(x))(np.zeros(2))[0],
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (c, f(x)), 0, None, length=2)[1][0],
    "jvp": lambda f: lambda x: tangrad.jvp(lambda y: (f(x), y), (np.zeros(()),), (np.ones(()),))[0][0],
}
# Programs of a weak integer, 2, and a weak float, 0.5.
INTEGERS = {
    "sum": lambda i, f: i + 1,
    "reflected": lambda i, f: 1 - i,
    "large": lambda i, f: i + 2**40,
    "maximum": lambda i, f: np.maximum(i, 1),
    "clip": lambda i, f: np.clip(i, 0, 5),
    "carried": lambda i, f: lax.fori_loop(0, 2, lambda _, c: c + 2**40, 0),
    "inner program": lambda i, f: tangrad.jit(lambda j: j + 1)(i),
    "alone": lambda i, f: np.asarray(3),
    "counted": lambda i, f: np.arange(3).sum(),
}
FLOATS = {
    "product": (lambda i, f: f * 0.1, 0.5 * 0.1),
    "quotient": (lambda i, f: 0.1 / f, 0.1 / 0.5),
    "chosen": (lambda i, f: np.where(f > 0, 0.1, 0.2), 0.1),
    "function": (lambda i, f: np.add(f, 0.1), 0.5 + 0.1),
    "alone": (lambda i, f: np.asarray(0.1), 0.1),
    "array": (lambda i, f: np.full((), 0.1), 0.1),
    "converted": (lambda i, f: np.asarray(f).astype(float) * (1 / 3), 0.5 * (1 / 3)),
}


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("under", UNDER)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_met_where_64_bits_are_on(name, under):
    i, f = np.asarray(2), np.asarray(0.5)
    assert i.weak_type
    expected = INTEGERS[name](2, 0.5) if name not in ("carried", "counted") else {"carried": 2**41, "counted": 3}[name]

    def program(x):
        with tangrad.enable_x64(True):
            return INTEGERS[name](x, f)

    for _ in range(2):
        if name != "large" and name != "carried":
            INTEGERS[name](i, f)  # what was met before in 32 bits changes nothing
        found = UNDER[under](program)(i)
        assert (found.dtype, int(found)) == (numpy.int64, int(expected))


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("under", ["eager", "jit"])
@pytest.mark.parametrize("name", FLOATS)
def test_floats_met_where_64_bits_are_on(name, under):
    i, f = np.asarray(2), np.asarray(0.5)
    written, expected = FLOATS[name]

    def program(x):
        with tangrad.enable_x64(True):
            return written(i, x)

    for _ in range(2):
        assert written(i, f).dtype == numpy.float32
        found = UNDER[under](program)(f)
        assert (found.dtype, float(found)) == (numpy.float64, expected)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("under", ["eager", "jit"])
@pytest.mark.parametrize("name", ["sum", "reflected", "maximum", "clip", "alone"])
def test_integers_met_where_64_bits_are_off(name, under):
    with tangrad.enable_x64(True):
        i, f = np.asarray(2), np.asarray(0.5)

        def program(x):
            with tangrad.enable_x64(False):
                return INTEGERS[name](x, f)

        for _ in range(2):
            assert INTEGERS[name](i, f).dtype == numpy.int64
            assert UNDER[under](program)(i).dtype == numpy.int32


@pytest.mark.usefixtures("backend")
def test_arrays_that_are_not_weak_keep_their_dtype():
    x = np.ones(2)

    @tangrad.jit
    def program(y):
        with tangrad.enable_x64(True):
            return y + 0.1, y * numpy.float64(2)

    first, second = program(x)
    assert (first.dtype, second.dtype) == (numpy.float32, numpy.float64)


# Other settings: what they decide where they are switched on shows in the program or in its result.
def precisions(program):
    return [eqn.params["precision"] for eqn in program.jaxpr.eqns if "precision" in eqn.params]


@pytest.mark.usefixtures("backend")
def test_precision_within_a_program():
    m = np.eye(2)

    def program(x):
        with tangrad.default_matmul_precision("highest"):
            inner = x @ x
        return inner @ x

    within, after = precisions(tangrad.make_jaxpr(program)(m))
    assert "HIGHEST" in str(within).upper() and "HIGHEST" not in str(after).upper()


@pytest.mark.usefixtures("backend")
def test_promotion_within_a_program():
    def program(x, i):
        y = x * i
        with tangrad.numpy_dtype_promotion("strict"):
            return y, x + i

    x, i = np.ones(2), np.arange(2)
    for call in (program, tangrad.jit(program), tangrad.vmap(program)):
        with pytest.raises(ValueError, match="strict"):
            call(x, i)

    def ranks(x, y):
        with tangrad.numpy_rank_promotion("raise"):
            return x + y

    for call in (ranks, tangrad.jit(ranks)):
        with pytest.raises(ValueError, match="raise"):
            call(x, np.ones((2, 2)))


@pytest.mark.usefixtures("backend")
def test_the_generator_within_a_program():
    def program(key, value):
        with tangrad.threefry_partitionable(value):
            return tangrad.random.bits(key, (3,))

    key = tangrad.random.key(0)
    for value in (True, False):
        with tangrad.threefry_partitionable(value):
            expected = tangrad.random.bits(key, (3,))
        for other in (True, False):
            with tangrad.threefry_partitionable(other):
                numpy.testing.assert_array_equal(tangrad.jit(program, static_argnums=1)(key, value), expected)
    assert not np.array_equal(program(key, True), program(key, False))


# --- Strict broadcasting and promotion ---


X, Y, I = numpy.float32([1, 2, 3]), numpy.ones((2, 3), "float32"), numpy.int32([2, 0, 1])
M = numpy.float32([[4, 1, 0], [1, 3, 1], [0, 1, 5]])


@pytest.fixture(params=["numpy", "xla"])
def each_backend(request):
    with tangrad.use_backend(request.param):
        yield


def arrays():
    return tuple([np.asarray(value) for value in (X, Y, I)])


# Operands of the user's own: refused whichever function is called for them.
RANKS = {
    "operator": lambda x, y: x + y,
    "reflected": lambda x, y: Y + x,
    "comparison": lambda x, y: x < y,
    "function": np.add,
    "by another name": np.true_divide,
    "remainder": lambda x, y: y % x,
    "power": lambda x, y: y**x,
    "of several operations": np.logaddexp,
    "closeness": np.isclose,
    "of a user's function": np.vectorize(lambda a, b: a + b),
    "clip": lambda x, y: np.clip(x, y, y),
    "density": lambda x, y: tangrad.scipy.stats.norm.logpdf(x, y),
    "density by its logarithm": lambda x, y: tangrad.scipy.stats.norm.pdf(x, y),
    "distribution by its complement": lambda x, y: tangrad.scipy.stats.pareto.cdf(x, y),
    "all close": np.allclose,
    "ends": lambda x, y: np.linspace(x, y, 3),
    "layer": lambda x, y: tangrad.nn.leaky_relu(y, x),
    "covariance": np.cov,
    "vectors": np.vecdot,
}
DTYPES = {
    "operator": lambda x, i: x * i,
    "product": lambda x, i: x @ i,
    "power": lambda x, i: x**i,
    "number": lambda x, i: i + 2.5,
    "function": np.maximum,
    "joined": lambda x, i: np.concatenate([x, i]),
    "chosen": lambda x, i: np.where(x > 1, x, i),
    "sums": lambda x, i: np.einsum("i,i", x, i),
    "outer": np.outer,
    "vectors": np.vdot,
    "appended": np.append,
    "diagonal blocks": tangrad.scipy.linalg.block_diag,
    "layer": lambda x, i: tangrad.nn.elu(x, i),
    "density": lambda x, i: tangrad.scipy.stats.gamma.pdf(x, i),
    "intervals": lambda x, i: np.digitize(i, x),
    "types": np.result_type,
    "two types": lambda x, i: np.promote_types("int32", "float32"),
}
STRICT_UNDER = {
    "eager": lambda f: f,
    "jit": tangrad.jit,
    "vmap": lambda f: lambda *args: tangrad.vmap(f)(*[x[None] for x in args]),
    "grad": lambda f: lambda *args: tangrad.jvp(lambda x: f(x, *args[1:]), args[:1], args[:1]),
    "scan": lambda f: lambda *args: tangrad.lax.scan(lambda c, xs: (c, f(*xs)), 0, tuple([x[None] for x in args])),
}


@pytest.mark.parametrize("under", STRICT_UNDER)
@pytest.mark.parametrize("name", RANKS)
def test_ranks_of_the_users_own_operands(name, under, each_backend):
    x, y, _ = arrays()
    call = STRICT_UNDER[under](RANKS[name])
    call(x, y)
    with tangrad.numpy_rank_promotion("raise"):
        for _ in range(2):  # nothing was remembered
            with pytest.raises(ValueError, match="numpy_rank_promotion is 'raise'"):
                call(x, y)
    with tangrad.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="different ranks"):
        call(x, y)


@pytest.mark.parametrize("under", ["eager", "jit", "vmap"])
@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_of_the_users_own_operands(name, under, each_backend):
    x, _, i = arrays()
    program = DTYPES[name]
    call = STRICT_UNDER[under](lambda a, b: (program(a, b), a)[1])
    call(x, i)
    with tangrad.numpy_dtype_promotion("strict"):
        for _ in range(2):
            with pytest.raises(ValueError, match="numpy_dtype_promotion is 'strict'"):
                call(x, i)


def test_what_is_of_any_ranks():
    x, y, _ = arrays()
    with tangrad.numpy_rank_promotion("raise"):
        assert np.where(x > 1, x, y).shape == np.heaviside(x, y).shape == np.nan_to_num(x, nan=y).shape == (2, 3)


def test_our_own_use_does_not_let_the_users_pass(each_backend):
    x, y, i = arrays()
    with tangrad.numpy_rank_promotion("raise"), tangrad.numpy_dtype_promotion("strict"):
        np.var(y, axis=0), np.polyfit(x, x, 1), np.cov(y)
        for call in (lambda: x - y, lambda: np.multiply(x, y), lambda: x * i, lambda: i / x):
            with pytest.raises(ValueError, match=r"[tT]he setting"):
                call()


# Functions that broadcast and promote inside.
INSIDE = {
    "polyfit": lambda x, y, m: np.polyfit(x, m, 1),
    "vander": lambda x, y, m: np.vander(x),
    "convolve": lambda x, y, m: np.convolve(x, x),
    "packbits": lambda x, y, m: np.unpackbits(np.packbits(x > 1)),
    "trapezoid": lambda x, y, m: np.trapezoid(y, x),
    "take_along_axis": lambda x, y, m: np.take_along_axis(y, np.argsort(y), 1),
    "resize": lambda x, y, m: tangrad.image.resize(m, (5, 4), "bilinear"),
    "attention": lambda x, y, m: tangrad.nn.dot_product_attention(*[m.reshape(3, 1, 3)] * 3),
    "layers": lambda x, y, m: (tangrad.nn.softmax(y), tangrad.nn.standardize(y), tangrad.nn.glu(m[:, :2])),
    "signal": lambda x, y, m: (tangrad.scipy.signal.detrend(m), tangrad.scipy.signal.stft(m, nperseg=2)),
    "fft": lambda x, y, m: (tangrad.scipy.fft.dct(x), tangrad.scipy.fft.idctn(m), np.fft.fftfreq(4)),
    "rotations": lambda x, y, m: tangrad.scipy.spatial.transform.Rotation.from_rotvec(m).apply(x),
    "minimize": lambda x, y, m: tangrad.scipy.optimize.minimize(lambda v: (v * v).sum(), x, method="BFGS"),
    "ufuncs": lambda x, y, m: (
        np.add.outer(x, x),
        np.subtract.reduce(m),
        np.multiply.at(x, np.arange(2), 2.0, inplace=False),
        [np.add.reduceat(m, np.arange(2), axis) for axis in (0, 1)],
        np.frompyfunc(lambda a, b: a - b, 2, 1).reduceat(m, np.arange(2)),
    ),
    "statistics": lambda x, y, m: (np.cov(m), np.corrcoef(m), np.quantile(m, 0.3, axis=1), np.nanvar(m, axis=0)),
    "linalg": lambda x, y, m: (np.linalg.slogdet(m), np.linalg.pinv(m), np.linalg.cond(m), np.linalg.solve(m, x)),
    "densities": lambda x, y, m: (
        tangrad.scipy.stats.gamma.logpdf(x, 2.0),
        tangrad.scipy.stats.chi2.logpdf(np.arange(3), 2),
        tangrad.scipy.stats.nbinom.logpmf(x, 3.0, 0.5),
        tangrad.scipy.stats.multivariate_normal.logpdf(x, x, m),
        tangrad.scipy.stats.gaussian_kde(m).evaluate(m),
    ),
    "random": lambda x, y, m: (
        tangrad.random.multivariate_normal(tangrad.random.key(0), x, m),
        tangrad.random.categorical(tangrad.random.key(0), m),
        tangrad.random.dirichlet(tangrad.random.key(0), x, (2,)),
    ),
    "lobpcg": lambda x, y, m: tangrad.experimental.sparse.linalg.lobpcg_standard(
        np.diag(np.arange(1.0, 21.0)), np.eye(20)[:, :2], m=5
    ),
}


SHARES = [
    0.25,
    1,
    True,
    [0.25, 0.5],
    (1,),
    numpy.float64(0.25),
    numpy.float32([0.25]),
    numpy.array([0, 1]),
    numpy.float16([0.5]),
]


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("q", SHARES, ids=repr)
@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "float32"])
def test_shares_take_no_part_in_promotion(dtype, q):
    x = np.asarray([3, 1, 2, 5, 4], dtype)
    with tangrad.numpy_dtype_promotion("strict"):
        found = [
            function(x, scaled)
            for function, scaled in (
                (np.quantile, q),
                (np.nanquantile, q),
                (np.percentile, numpy.multiply(q, 100).tolist()),
                (np.nanpercentile, numpy.multiply(q, 100).astype("float32")),
            )
        ]
    expected = numpy.quantile([1.0, 2, 3, 4, 5], numpy.float64(q))
    for each in found:
        assert each.dtype == (numpy.float32 if dtype == "int8" else x.dtype)
        assert numpy.array_equal(numpy.float64(each), expected)


INSIDE_PROGRAMS = [(name, "jit") for name in INSIDE] + [(name, "grad") for name in INSIDE if name != "minimize"]


@pytest.mark.parametrize("name", INSIDE)
def test_what_our_functions_do_inside(name, each_backend):
    check_inside(name, "eager")


@pytest.mark.parametrize(("name", "under"), INSIDE_PROGRAMS)
def test_what_our_functions_do_inside_under_transformations(name, under):
    with tangrad.use_backend("numpy"):
        check_inside(name, under)


def check_inside(name, under):
    x, y, _ = arrays()
    program = lambda *args: [leaf for leaf in tangrad.tree.leaves(INSIDE[name](*args)) if leaf.dtype.kind == "f"]
    expected = STRICT_UNDER[under](program)(x, y, np.asarray(M))
    with tangrad.numpy_rank_promotion("raise"), tangrad.numpy_dtype_promotion("strict"):
        found = STRICT_UNDER[under](program)(x, y, np.asarray(M))
    for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        numpy.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)


def test_the_users_function_within_ours(each_backend):
    x, y, i = arrays()
    calls = [
        lambda: tangrad.scipy.optimize.minimize(lambda v: (v + y).sum(), x, method="BFGS"),
        lambda: np.apply_along_axis(lambda v: v + Y, 1, y),
        lambda: tangrad.lax.fori_loop(0, 2, lambda _, v: (v + y)[0], x),
        lambda: tangrad.grad(tangrad.checkpoint(lambda v: (v * y).sum()))(x),
    ]
    for call in calls:
        with tangrad.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="numpy_rank_promotion"):
            call()
    with tangrad.numpy_dtype_promotion("strict"), pytest.raises(ValueError, match="strict"):
        tangrad.scipy.optimize.minimize(lambda v: (v * i).sum(), x, method="BFGS")
