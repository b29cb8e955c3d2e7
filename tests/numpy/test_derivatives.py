"""Each expression of the tables as a function of its arrays of floats: tangents are finite differences, cotangents are
their transposes, a map is a loop, and jit gives the same."""

import inspect
import re
import warnings

import numpy
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend

from .support import host_values
from .test_expressions import FURTHER, USUAL
from .test_transformations import NEED_CONTENTS

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


def test_every_function_has_an_expression():
    written = " ".join(WITH_ARRAYS)
    public = [name for name in dir(tnp) if callable(getattr(tnp, name)) and not inspect.isclass(getattr(tnp, name))]
    modules = (("linalg", tnp.linalg), ("fft", tnp.fft))
    public += [f"{name}.{one}" for name, part in modules for one in dir(part) if inspect.isfunction(getattr(part, one))]
    has_none = [name for name in public if not name.startswith("_") and not re.search(rf"\bnp\.{name}\b", written)]
    assert sorted({*has_none} - {*WITHOUT_SLOPES.split()}) == []
    assert sorted({*WITHOUT_SLOPES.split()} & {*public} - {*has_none}) == []


@pytest.fixture(autouse=True)
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


@on_both_backends([text for text in WITH_ARRAYS if text not in KNOWN_NUMBERS])
def test_derivatives(expression, backend):
    check_derivatives(expression)


@on_both_backends([text for text in WITH_ARRAYS if text not in MORE_CONTENTS])
def test_maps(expression, backend):
    check_maps(expression)


@pytest.mark.sweep
@pytest.mark.parametrize("expression", [text for text in FURTHER if arguments(text) and text not in JUMPS])
def test_further_expressions(expression):
    check_derivatives(expression)
    check_maps(expression)
