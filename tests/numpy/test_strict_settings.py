"""Strict broadcasting and promotion: what users write is refused, what our own functions do inside is not."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np

X, Y, I = numpy.float32([1, 2, 3]), numpy.ones((2, 3), "float32"), numpy.int32([2, 0, 1])
M = numpy.float32([[4, 1, 0], [1, 3, 1], [0, 1, 5]])


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
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
UNDER = {
    "eager": lambda f: f,
    "jit": tangrad.jit,
    "vmap": lambda f: lambda *args: tangrad.vmap(f)(*[x[None] for x in args]),
    "grad": lambda f: lambda *args: tangrad.jvp(lambda x: f(x, *args[1:]), args[:1], args[:1]),
    "scan": lambda f: lambda *args: tangrad.lax.scan(lambda c, xs: (c, f(*xs)), 0, tuple([x[None] for x in args])),
}


@pytest.mark.parametrize("under", UNDER)
@pytest.mark.parametrize("name", RANKS)
def test_ranks_of_the_users_own_operands(name, under, backend):
    x, y, _ = arrays()
    call = UNDER[under](RANKS[name])
    call(x, y)
    with tangrad.numpy_rank_promotion("raise"):
        for _ in range(2):  # nothing was remembered
            with pytest.raises(ValueError, match="numpy_rank_promotion is 'raise'"):
                call(x, y)
    with tangrad.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="different ranks"):
        call(x, y)


@pytest.mark.parametrize("under", ["eager", "jit", "vmap"])
@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_of_the_users_own_operands(name, under, backend):
    x, _, i = arrays()
    program = DTYPES[name]
    call = UNDER[under](lambda a, b: (program(a, b), a)[1])
    call(x, i)
    with tangrad.numpy_dtype_promotion("strict"):
        for _ in range(2):
            with pytest.raises(ValueError, match="numpy_dtype_promotion is 'strict'"):
                call(x, i)


def test_what_is_of_any_ranks():
    x, y, _ = arrays()
    with tangrad.numpy_rank_promotion("raise"):
        assert np.where(x > 1, x, y).shape == np.heaviside(x, y).shape == np.nan_to_num(x, nan=y).shape == (2, 3)


def test_our_own_use_does_not_let_the_users_pass(backend):
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


INSIDE_PROGRAMS = [(name, "jit") for name in INSIDE] + [(name, "grad") for name in INSIDE if name != "minimize"]


@pytest.mark.parametrize("name", INSIDE)
def test_what_our_functions_do_inside(name, backend):
    check_inside(name, "eager")


@pytest.mark.parametrize(("name", "under"), INSIDE_PROGRAMS)
def test_what_our_functions_do_inside_under_transformations(name, under):
    with tangrad.use_backend("numpy"):
        check_inside(name, under)


def check_inside(name, under):
    x, y, _ = arrays()
    program = lambda *args: [leaf for leaf in tangrad.tree.leaves(INSIDE[name](*args)) if leaf.dtype.kind == "f"]
    expected = UNDER[under](program)(x, y, np.asarray(M))
    with tangrad.numpy_rank_promotion("raise"), tangrad.numpy_dtype_promotion("strict"):
        found = UNDER[under](program)(x, y, np.asarray(M))
    for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        numpy.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)


def test_the_users_function_within_ours(backend):
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
