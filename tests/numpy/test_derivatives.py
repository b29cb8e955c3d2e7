"""Each expression of the tables as a function of its arrays of floats: tangents are finite differences, cotangents are
their transposes, a map is a loop, and jit gives the same."""

import inspect
import itertools
import math
import re
import warnings

import numpy
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax, use_backend
from tangrad.scipy import special
from tests.numpy.support import host_values
from tests.numpy.test_expressions import FURTHER, NEED_CONTENTS, USUAL

STEP = 1e-6
SAMPLE = 40  # each so manieth expression runs on XLA outside of the sweep too
INEXACT = ("f", "g", "p", "m", "q", "t", "v", "c", "w")
WIDE = {"f": "float64", "c": "complex128"}


def values():
    """The arrays that expressions name, in double precision; those of floats without two equal elements."""
    found = {name: x.astype(WIDE.get(x.dtype.kind, x.dtype)) for name, x in host_values().items()}
    found["v"] = found["v"] + numpy.linspace(0.01, 0.3, len(found["v"]))
    found["h"] = found["h"] + 0.1
    return {**found, "w": numpy.float64(2.1), "W": numpy.int32(3)}


VALUES = values()
NAMES = {"np": tnp, "numpy": numpy, "api": tangrad}


def arguments(expression):
    """The names of the arrays of floats in an expression."""
    return [name for name in INEXACT if re.search(rf"(?<![\w.'\"]){name}(?![\w'\"]|\s*=[^=])", expression)]


def of_arguments(expression):
    """The function, with a list of arrays as its result."""
    given = arguments(expression)

    def run(*args):
        out = eval(expression, {**NAMES, **VALUES, **dict(zip(given, args, strict=True))})
        return [leaf for leaf in tangrad.tree.leaves(out) if hasattr(leaf, "aval")]

    return run


def differentiable(expression):
    """The function, with the results of double precision alone."""
    run = of_arguments(expression)
    return lambda *args: [out for out in run(*args) if out.dtype in ("float64", "complex128")]


def like(arrays, seed):
    rng = numpy.random.default_rng(seed)
    draw = lambda x: rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else 0)
    return tuple([tnp.asarray(draw(x).astype(x.dtype)) for x in map(numpy.asarray, arrays)])


def dot(left, right):
    return sum([numpy.sum(numpy.asarray(x) * numpy.asarray(y)).real for x, y in zip(left, right, strict=True)])


# Places outside of arrays are those at their ends, but cotangents of them are dropped; a variance of nothing is NaN.
NOT_ITS_TRANSPOSE = {
    "f[k[:2]]", "g[k + 5]", "t[k[:2], :, k[1:]]", "g.at[np.array([0, 7])].get()", "np.var(f, where=b, axis=0)",
}  # fmt: skip
KNOWN_NUMBERS = {"np.arange(g[2])", "float(g[0])", "complex(w)"}  # lose the derivative, and say so
MORE_CONTENTS = {"np.nonzero(f > 0)", "np.extract(b, f)", *NEED_CONTENTS}
JUMPS = {
    *[f"np.nextafter({pair})" for pair in ("f, 2", "f, g", "f, i", "w, j")], "np.spacing(p)", "np.rint(c)", "np.std(w)",
}  # fmt: skip
# Functions whose usual expressions have other operands, or stand in tables of their own.
MORE = [
    "np.arcsinh(f)", "np.arctan(f)", "np.arctan2(f, g)", "np.cbrt(f)", "np.conj(c)", "np.imag(c)", "np.copysign(f, g)",
    "np.deg2rad(f)", "np.degrees(f)", "np.rad2deg(f)", "np.radians(f)", "np.fabs(f)", "np.floor_divide(f, 0.7)",
    "np.fmod(f, 0.7)", "np.i0(f)", "np.log(p)", "np.sqrt(p)", "np.minimum(f, g)", "np.modf(f)", "np.around(f, 1)",
    "np.ceil(f)", "np.trunc(f)", "np.logspace(w, 3, 4)", "np.geomspace(w, 9, 4)", "np.kaiser(5, w)",
    "np.array_split(v, 3)", "np.sinc(f)", "np.frexp(f)[0]", "np.top_k(f, 2)[0]", "np.minmax(f)[1]",
    "np.choose(k, [g, 2 * g, -g])", "np.copy(f)", "np.cumulative_prod(g)", "np.nancumprod(g)", "np.nancumsum(f, 1)",
    "np.nanmax(f, 0)", "np.nanmin(f, 0)", "np.nanmean(np.where(b, np.nan, f))", "np.nanmedian(np.where(b, np.nan, f))",
    "np.nanpercentile(f, 30, 1)", "np.nanquantile(f, 0.7)", "np.nanprod(f)", "np.nanstd(np.where(b, np.nan, f))",
    "np.nansum(np.where(b, np.nan, f), 0)", "np.nanvar(f, 1)", "np.polyfit(v, v**3, 2)",
    "np.roots(np.abs(g), strip_zeros=False)",
    "np.frompyfunc(lambda x, y: x * y + x, 2, 1).reduce(f, 1)", "np.ix_(g, g)",
    "np.fromfunction(lambda i: i * w, (3,))",
    "np.linalg.cross(f, g)", "np.linalg.diagonal(t, offset=1)", "np.linalg.matmul(f, m)", "np.linalg.matrix_norm(t)",
    "np.linalg.matrix_transpose(t)", "np.linalg.multi_dot([f, q, m])", "np.linalg.norm(t, axis=(0, 2))",
    "np.linalg.norm(f, 3, axis=1)", "np.linalg.outer(g, g)", "np.linalg.tensordot(f, t, ((0, 1), (0, 1)))",
    "np.linalg.tensorsolve(q, g)", "np.linalg.trace(t, offset=1)", "np.linalg.vecdot(f, g)",
    "np.linalg.vector_norm(t, axis=1, ord=1.5)", "np.linalg.inv(q)", "np.linalg.cholesky(q @ q.T + 3 * np.eye(3))",
    "np.linalg.cond(q)", "np.linalg.det(q)", "np.linalg.slogdet(q)[1]", "np.linalg.eigh(q + q.T)[0]",
    "np.abs(np.linalg.eigvals(q)).sum()", "np.linalg.eigvalsh(q + q.T)",
    "np.linalg.lstsq(m.T, f.T[:, 0] @ m)[0]", "np.linalg.matrix_power(q, 3)", "np.linalg.pinv(f)",
    "np.linalg.qr(q)[1]", "np.linalg.solve(q, g)", "np.linalg.svd(f, full_matrices=False)[1]", "np.linalg.svdvals(f)",
    "np.linalg.tensorinv(q, 1)",
]  # fmt: skip
# Functions whose results are no numbers of their arguments, or that jump and do not change in between.
WITHOUT_SLOPES = """
    argwhere array_repr array_str bartlett blackman broadcast_shapes can_cast count_nonzero diag_indices einsum_path
    empty empty_like flatnonzero frombuffer from_dlpack fromfile fromiter fromstring gcd get_printoptions greater
    hamming hanning identity iinfo indices intersect1d isdtype isinf isneginf isposinf isreal issubdtype lcm left_shift
    less_equal load mask_indices nanargmax nanargmin nextafter packbits printoptions promote_types ravel_multi_index
    right_shift save savez setdiff1d set_printoptions setxor1d signbit spacing tri tril_indices triu_indices union1d
    unique_all unique_counts unique_inverse unique_values unpackbits unravel_index zeros
    bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
    invert linalg.eig linalg.matrix_rank fft.rfftfreq
"""
WITH_ARRAYS = [text for text in [*USUAL, *MORE] if arguments(text)]


@pytest.mark.usefixtures("in_double_precision")
def test_every_function_has_an_expression():
    written = " ".join(WITH_ARRAYS)
    public = [name for name in dir(tnp) if callable(getattr(tnp, name)) and not inspect.isclass(getattr(tnp, name))]
    modules = (("linalg", tnp.linalg), ("fft", tnp.fft))
    public += [f"{name}.{one}" for name, part in modules for one in dir(part) if inspect.isfunction(getattr(part, one))]
    has_none = [name for name in public if not name.startswith("_") and not re.search(rf"\bnp\.{name}\b", written)]
    assert sorted({*has_none} - {*WITHOUT_SLOPES.split()}) == []
    assert sorted({*WITHOUT_SLOPES.split()} & {*public} - {*has_none}) == []


@pytest.fixture
def in_double_precision(request):
    backend = request.node.callspec.params.get("backend", "numpy") if hasattr(request.node, "callspec") else "numpy"
    if backend == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(backend), enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check_derivatives(expression):
    function, args = differentiable(expression), [VALUES[name] for name in arguments(expression)]
    args = [tnp.asarray(arg) for arg in args]
    tangents = like(args, 1)
    outs, found = tangrad.jvp(function, tuple(args), tangents)
    ends = [function(*[x + sign * STEP * t for x, t in zip(args, tangents)]) for sign in (1, -1)]
    for slope, ahead, behind in zip(found, *[map(numpy.asarray, end) for end in ends], strict=True):
        expected = (ahead - behind) / (2 * STEP)
        known = numpy.isfinite(expected)
        numpy.testing.assert_allclose(numpy.asarray(slope)[known], expected[known], rtol=1e-4, atol=1e-5)
    cotangents = like(outs, 2)
    pulled = tangrad.vjp(function, *args)[1](list(cotangents))
    if expression not in NOT_ITS_TRANSPOSE and numpy.isfinite(forward := dot(found, cotangents)):
        numpy.testing.assert_allclose(dot(tangents, pulled), forward, rtol=1e-7, atol=1e-8)


def check_maps(expression):
    function, args = of_arguments(expression), [VALUES[name] for name in arguments(expression)]
    rows = [numpy.stack([arg, arg + numpy.asarray(x)]) for arg, x in zip(args, like(args, 3))]
    expected = [function(*[tnp.asarray(row[place]) for row in rows]) for place in range(2)]
    for mapped in (tangrad.vmap(function), tangrad.jit(tangrad.vmap(function))):
        for one, *others in zip(mapped(*rows), *expected, strict=True):
            numpy.testing.assert_allclose(one, numpy.stack(others), rtol=1e-9, atol=1e-9)


def on_both_backends(expressions):
    """Each expression on NumPy and on XLA, where compiling takes long: there, but for a sample, in the sweep."""
    xla = [
        pytest.param(text, "xla", marks=pytest.mark.sweep if at % SAMPLE else ()) for at, text in enumerate(expressions)
    ]
    return pytest.mark.parametrize("expression, backend", [*[(text, "numpy") for text in expressions], *xla])


@pytest.mark.usefixtures("in_double_precision")
@on_both_backends([text for text in WITH_ARRAYS if text not in KNOWN_NUMBERS])
def test_derivatives(expression, backend):
    check_derivatives(expression)


@pytest.mark.usefixtures("in_double_precision")
@on_both_backends([text for text in WITH_ARRAYS if text not in MORE_CONTENTS])
def test_maps(expression, backend):
    check_maps(expression)


@pytest.mark.usefixtures("in_double_precision")
@pytest.mark.sweep
@pytest.mark.parametrize("expression", [text for text in FURTHER if arguments(text) and text not in JUMPS])
def test_further_expressions(expression):
    check_derivatives(expression)
    check_maps(expression)


# --- Functions that guard against NaN ---
# The reference is Cauchy's integral, for each argument: the mean of the function over a circle around the point, times
# a power of the circle's coordinate. It looks at the function around the point alone, so what it finds is the limit,
# and it has twelve digits for each order. Every order of the arguments and every mix of forward and reverse must find
# the same.


TURNS = 64
CIRCLE = numpy.exp(2j * math.pi * (numpy.arange(TURNS) + 0.5) / TURNS)
MODES = {"forward": tangrad.jacfwd, "reverse": tangrad.jacrev}


def contour(function, point, counts, radius):
    """The derivative of a function of complex NumPy arrays, `counts` times by each argument."""
    grids = numpy.meshgrid(*[p + radius * CIRCLE for p in point], indexing="ij")
    values = function(*grids)
    for count in counts:
        values = numpy.tensordot(CIRCLE ** -float(count), values, 1) / TURNS * math.factorial(count) / radius**count
    return values.real


def softplus_far(x, y):
    return numpy.log(numpy.exp(x) + numpy.exp(y))


def log2_of_sum(x, y):
    return numpy.log(2**x + 2**y) / math.log(2)


def relative(p, q):
    return p * numpy.log(p / q)


def length(x, y):
    return numpy.sqrt(x * x + y * y)


def bars(x, lmbda):
    return (x**lmbda - 1) / lmbda


# Name -> the function, its extension to complex arguments, the radius of the circle, and points inside of which it is
# analytic: where the guards are, beside them, and far from them.
TWO = {
    "pow": (lax.pow, lambda x, y: x**y, 0.3, [(4, 0), (1, 0), (0.5, 0), (4, 1), (4, 2), (2, -1), (3, 0.5), (9, 3)]),
    "power": (tnp.power, lambda x, y: x**y, 0.3, [(4, 0), (1, 0), (2, 1), (2, 2), (0.7, 3)]),
    "float_power": (tnp.float_power, lambda x, y: x**y, 0.3, [(4, 0), (1, 0), (2, 1), (2, 2)]),
    "xlogy": (special.xlogy, lambda x, y: x * numpy.log(y), 0.3, [(0, 2), (0, 1), (1, 1), (-1, 3)]),
    "xlog1py": (special.xlog1py, lambda x, y: x * numpy.log1p(y), 0.3, [(0, 0), (0, 1), (1, 0), (-1, 2), (0, -0.5)]),
    "logaddexp": (tnp.logaddexp, softplus_far, 0.3, [(0, 0), (1, 1), (0, 2), (-3, 2), (5, 5)]),
    "logaddexp2": (tnp.logaddexp2, log2_of_sum, 0.3, [(0, 0), (1, 1), (0, 2), (-3, 2)]),
    "rel_entr": (special.rel_entr, relative, 0.3, [(1, 1), (0.5, 2), (2, 0.5)]),
    "kl_div": (special.kl_div, lambda p, q: relative(p, q) - p + q, 0.3, [(1, 1), (0.5, 2), (2, 0.5)]),
    "hypot": (tnp.hypot, length, 0.1, [(1, 1), (3, 4), (1, 0), (0, 2)]),
    "arctan2": (tnp.arctan2, lambda y, x: numpy.arctan(y / x), 0.1, [(0, 1), (1, 1), (-1, 2)]),
    "boxcox": (special.boxcox, bars, 0.3, [(2, 0), (1, 0), (3, 1), (1, 1), (0.6, 2)]),
    "divide": (tnp.divide, lambda x, y: x / y, 0.3, [(0, 1), (1, -2)]),
}  # fmt: skip
ONE = {
    "sinc": (tnp.sinc, numpy.sinc, 0.3, [0, 1, 0.5, -2, 1e-3, 1e-9]),
    "entr": (special.entr, lambda x: -x * numpy.log(x), 0.3, [1, 0.5, 2]),
    "expit": (special.expit, lambda x: 1 / (1 + numpy.exp(-x)), 0.3, [0, 1, -3]),
    "logit": (special.logit, lambda x: numpy.log(x / (1 - x)), 0.1, [0.5, 0.25]),
    "cbrt": (tnp.cbrt, lambda x: x ** (1 / 3), 0.3, [1, 8]),
    "i0": (tnp.i0, lambda x: _bessel(x), 0.3, [0, 1, -1]),
    "square root of a square": (lambda x: tnp.sqrt(x * x), lambda x: x, 0.3, [1, 2]),
    "norm": (lambda x: tnp.linalg.norm(tnp.stack([x, 2 * x])), lambda x: x * 5**0.5, 0.3, [1, 2]),
    **{
        f"integer_pow {n}": (lambda x, n=n: lax.integer_pow(x, n), lambda x, n=n: x ** float(n), 0.3, points)
        for n in (-2, -1, 0, 1, 2, 3, 4)
        for points in ([1, -2] if n < 0 else [0, 1, -2],)
    },
    **{
        f"pow to {n}": (lambda x, n=n: lax.pow(x, float(n)), lambda x, n=n: x**n, 0.3, [0, 1, -2])
        for n in (0, 1, 2, 3, 4)
    },
    **{f"pow to int {n}": (lambda x, n=n: lax.pow(x, n), lambda x, n=n: x**n, 0.3, [0, 1, -2]) for n in (0, 1, 2, 3)},
    "where": (lambda x: tnp.where(x > 0, tnp.log(tnp.where(x > 0, x, 1)), 3 * x), lambda x: 3 * x, 0.3, [0, -1]),
    "select": (lambda x: tnp.select([x > 1, x > -9], [x**3, x * x]), lambda x: x * x, 0.3, [0, 1, -2]),
}


def _bessel(x):
    return sum((x * x / 4) ** k / math.factorial(k) ** 2 for k in range(30))


TABLE = {**TWO, **{name: (*row[:3], [(point,) for point in row[3]]) for name, row in ONE.items()}}
SIZES = (1, 2, 3)
BACKENDS = ("numpy", "xla")


def derivatives(function, count, sizes):
    """Each way to derive a function of `count` arguments so often: ((argument, …), (mode, …)) -> the derivative."""
    found = {((), ()): function}
    for size in range(1, max(sizes) + 1):
        for order, modes in [key for key in found if len(key[0]) == size - 1]:
            for argument, mode in itertools.product(range(count), MODES):
                inner = found[order, modes]
                found[(*order, argument), (*modes, mode)] = MODES[mode](inner, argument)
    return {key: derivative for key, derivative in found.items() if len(key[0]) in sizes}


def check(name, points, sizes, wrap):
    """All of them at all the points against the limit; mixed ones, being compared with one number, are symmetric."""
    function, reference, radius, _ = TABLE[name]
    count = len(points[0])
    ways = derivatives(function, count, sizes)
    found = wrap(lambda *point: [way(*point) for way in ways.values()])(*numpy.transpose(points).astype(float))
    for (order, modes), values in zip(ways, found, strict=True):
        counts = [order.count(at) for at in range(count)]
        expected = [contour(reference, point, counts, radius) for point in points]
        message = f"{name} by {order}, {modes}, at {points}"
        numpy.testing.assert_allclose(values, expected, rtol=1e-8, atol=1e-8, err_msg=message)


@pytest.mark.sweep
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", TABLE)
def test_derivatives_to_the_third_order(name, backend):
    with use_backend(backend), enable_x64(True):
        check(name, TABLE[name][3], SIZES, lambda f: tangrad.jit(tangrad.vmap(f)))


@pytest.mark.parametrize("name", TABLE)
def test_first_and_second_derivatives(name):
    with use_backend("numpy"), enable_x64(True):
        check(name, TABLE[name][3], SIZES[:2], tangrad.vmap)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_mixed_derivatives_of_a_power_at_exponent_zero(dtype, backend):
    base, exponent = numpy.asarray(4, dtype), numpy.asarray(0, dtype)
    holomorphic = dtype == "complex64"
    with use_backend(backend), enable_x64(True):
        for order in ((0, 1), (1, 0)):
            inner = tangrad.grad(lax.pow, order[0], holomorphic=holomorphic)
            assert complex(tangrad.grad(inner, order[1], holomorphic=holomorphic)(base, exponent)) == 0.25


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_power_at_exponent_zero_is_constant_in_its_base(backend):
    bases = numpy.array([0, -0.0, numpy.nan, numpy.inf, -2, 1e-3, 1e-15, -1e12], numpy.float32)
    with use_backend(backend):
        for exponent in (numpy.float32(0), numpy.int32(0)):
            derivative = lambda x, exponent=exponent: lax.pow(x, exponent)
            for _ in range(3):
                derivative = tangrad.grad(derivative)
                numpy.testing.assert_array_equal(tangrad.vmap(derivative)(bases), 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_powers_of_zero(backend):
    """The slope by the base, to the third order, of the powers that are polynomials there."""
    with use_backend(backend), enable_x64(True):
        for exponent in range(6):
            derivative = lambda x, exponent=exponent: lax.pow(x, float(exponent))
            for order in range(1, 4):
                derivative = tangrad.grad(derivative)
                assert float(derivative(0.0)) == (math.factorial(exponent) if order == exponent else 0)


# --- Derivatives of orthogonal factors whose columns complete the basis ---


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(request.param), enable_x64(True):
        yield request.param


def draw(shape, dtype, seed):
    rng = numpy.random.default_rng(seed)
    return rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype == "complex128" else 0)


def complete(x):
    return tuple(tnp.linalg.qr(x, mode="complete"))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(5, 2), (4, 3), (3, 1), (2, 4, 2)], ids=str)
def test_tangents_are_finite_differences(shape, dtype, backend):
    x, tangent = draw(shape, dtype, 0), draw(shape, dtype, 1)
    found = tangrad.jvp(tangrad.jit(complete), (x,), (tangent,))[1]
    ahead, behind = complete(x + STEP * tangent), complete(x - STEP * tangent)
    for slope, high, low in zip(found, ahead, behind, strict=True):
        numpy.testing.assert_allclose(slope, (high - low) / (2 * STEP), atol=1e-7)


def test_gradients_and_what_they_change_by(backend):
    x, direction = draw((4, 2), "float64", 0), draw((4, 2), "float64", 1)
    loss = lambda x: sum([(numpy.arange(3.0, 3.0 + part.shape[1]) * part**2 * part).sum() for part in complete(x)])
    slope = tangrad.grad(loss)
    difference = (loss(x + STEP * direction) - loss(x - STEP * direction)) / (2 * STEP)
    numpy.testing.assert_allclose((slope(x) * direction).sum(), difference, rtol=1e-6)
    change = (slope(x + STEP * direction) - slope(x - STEP * direction)) / (2 * STEP)
    numpy.testing.assert_allclose(tangrad.jvp(slope, (x,), (direction,))[1], change, rtol=1e-5, atol=1e-6)


def test_with_an_order_of_columns(backend):
    x, tangent = draw((4, 2), "float64", 0), draw((4, 2), "float64", 1)
    factors = lambda x: lax.linalg.qr(x, pivoting=True, full_matrices=True)[:2]
    found = tangrad.jvp(factors, (x,), (tangent,))[1]
    for slope, high, low in zip(found, factors(x + STEP * tangent), factors(x - STEP * tangent), strict=True):
        numpy.testing.assert_allclose(slope, (high - low) / (2 * STEP), atol=1e-7)
