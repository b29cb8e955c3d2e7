"""Values, dtypes and weak types of expressions, against the reference.

The reference compiles each expression, and so does XLA. By default NumPy runs half of each function's of those written
by hand and of a part of those that tables make, XLA a small part of all; `.ci/run` runs all of these on NumPy and half
of them on XLA, `make test-all` all that there are.
"""

import math
import re
from collections import Counter

import numpy
import pytest

from tests.numpy import expressions
from tests.numpy.support import assert_equal

WRITTEN = [*expressions.UFUNCS_OTHERS, *expressions.ARRAYS, *expressions.OTHERS, *expressions.FOURIER]
GENERATED = [*expressions.UFUNCS_GENERATED, *expressions.GENERATED]


def spread(expressions: list[str], share: int) -> list[str]:
    """One in `share` of each function's expressions, at least one: those whose operands were taken least before."""
    groups: dict[str, dict[str, str]] = {}
    for text in expressions:
        name, operands = re.fullmatch(r"(\W*[\w.]+)(.*)", text, re.DOTALL).groups()
        groups.setdefault(name, {})[operands] = text
    taken: Counter[str] = Counter()
    chosen = []
    for group in groups.values():
        for _ in range(-(-len(group) // share)):
            operands = min(group, key=taken.__getitem__)
            taken[operands] += 1
            chosen.append(group.pop(operands))
    return chosen


USUAL = [*WRITTEN, *spread(GENERATED, 5)]
FURTHER = sorted({*GENERATED} - {*USUAL})
EVERY = 15
QUICK_ON_XLA = USUAL[::EVERY]
HALF = spread(USUAL, 2)
HALF_ON_XLA = sorted({*HALF} - {*QUICK_ON_XLA})
REST_ON_XLA = sorted({*USUAL} - {*QUICK_ON_XLA, *HALF_ON_XLA})


def test_the_usual_ones_have_every_function_and_all_operands():
    functions, operands = zip(*(re.fullmatch(r"([\w.]+)(.*)", text).groups() for text in GENERATED), strict=True)
    assert all(any(text.startswith(f"{name}(") for text in USUAL) for name in functions)
    assert all(any(text.endswith(arguments) for text in USUAL) for arguments in operands)


@pytest.mark.parametrize(
    "expression",
    [pytest.param(text, marks=() if text in HALF else pytest.mark.slow, id=text) for text in USUAL],
)
def test_expression_on_numpy(expression, numpy_side, reference):
    assert_equal(expression, numpy_side.evaluate(expression), reference.evaluate(expression))


@pytest.mark.parametrize("expression", QUICK_ON_XLA)
def test_expression_on_xla(expression, xla_side, reference):
    assert_equal(expression, xla_side.evaluate(expression), reference.evaluate(expression))


@pytest.mark.parametrize("expression", expressions.EDGES)
def test_edge(expression, subject, reference):
    assert_equal(expression, subject.evaluate(expression), reference.evaluate(expression))


@pytest.mark.slow
@pytest.mark.parametrize(
    "expression", [*HALF_ON_XLA, *[pytest.param(text, marks=pytest.mark.sweep, id=text) for text in REST_ON_XLA]]
)
def test_usual_expression_on_xla(expression, xla_side, reference):
    assert_equal(expression, xla_side.evaluate(expression), reference.evaluate(expression))


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("expression", FURTHER)
def test_further_expression(expression, subject, reference):
    assert_equal(expression, subject.evaluate(expression), reference.evaluate(expression))


IN_64_BITS = (
    *("np.nonzero(b)", "np.nonzero(i, size=8, fill_value=(7, 8))", "np.argwhere(i)", "np.argwhere(W)", "np.where(b)"),
    *("np.searchsorted(np.array([1, 2, 2, 3]), 2)", "np.digitize(v, g[::2])", "np.argpartition(v, 2)[2]"),
    *("np.unique(n, return_index=True, return_inverse=True, return_counts=True)", "np.tril_indices(3)"),
    *("np.intersect1d(n, k, return_indices=True)", "np.diag_indices(3)", "np.ravel_multi_index((k, k), (3, 3))"),
)


@pytest.mark.parametrize("expression", IN_64_BITS)
def test_positions_where_64_bits_are_enabled(expression, numpy_side, reference):
    with numpy_side.api.enable_x64(True), reference.api.enable_x64(True):
        assert_equal(expression, numpy_side.evaluate(expression), reference.evaluate(f"{expression} "))


# --- Functions of the NumPy interface under jit, grad and vmap ---


EXPRESSIONS = [
    *expressions.ARRAYS,
    *expressions.FOURIER,
    *expressions.OTHERS,
]

# How many elements these have, or which Python value they are, depends on contents, which a traced array does not have.
NEED_CONTENTS = {
    "np.arange(W)", "np.arange(g[2])", "np.repeat(g, k)", "np.trim_zeros(v)", "np.trim_zeros(n, 'b')",
    "np.mask_indices(3, np.triu)", "np.ravel_multi_index((k, k), (3, 4))", "f[b]", "f[:, B]", "t.at[1, B].set(5)",
    "f.item(0)", "f.tolist()", "np.array_str(k)", "bool(w)", "float(g[0])", "int(k[1])", "complex(w)", "range(5)[k[1]]",
    "np.bincount(n)", "np.bincount(n, minlength=7)", "np.bincount(n, v)", "np.unique(n)", "np.unique(v)",
    "np.unique(n, return_index=True, return_inverse=True, return_counts=True)", "np.unique(y)",
    "np.unique(y, equal_nan=False)", "np.unique(i % 2, axis=0)", "np.unique(i % 2, axis=1, return_inverse=True)",
    "np.unique(f > 0)", "np.unique_all(n)", "np.unique_counts(n)", "np.unique_inverse(i % 3)", "np.unique_values(n)",
    "np.union1d(n, k)", "np.intersect1d(n, k)", "np.intersect1d(n, k, return_indices=True)", "np.setdiff1d(n, k)",
    "np.setxor1d(n, k)",
}  # fmt: skip


def traced(expression, side):
    """The value of an expression of traced arrays: what jit returns, or the Python value known while tracing."""
    arrays = {name: value for name, value in side.names.items() if hasattr(value, "aval")}
    others = {name: value for name, value in side.names.items() if name not in arrays}
    python_values = []

    def function(given):
        value = eval(expression, {**others, **given})
        if has_arrays(value):
            return value
        python_values.append(value)
        return None

    with side.chosen():
        got = side.api.jit(function)(arrays)
    return python_values[0] if python_values else got


def has_arrays(value):
    return hasattr(value, "aval") or (isinstance(value, list | tuple) and any(has_arrays(item) for item in value))


@pytest.mark.parametrize("expression", [each for each in EXPRESSIONS[::3] if each not in NEED_CONTENTS])
def test_jit_gives_the_same(expression, numpy_side):
    assert_equal(expression, traced(expression, numpy_side), numpy_side.evaluate(expression))


@pytest.mark.parametrize("expression", sorted(NEED_CONTENTS))
def test_jit_says_that_contents_are_needed(expression, numpy_side):
    assert expression in EXPRESSIONS
    with pytest.raises(numpy_side.api.errors.TracerError):
        traced(expression, numpy_side)


def derivative(side, function, at, order=1):
    """The derivative of a function of one number."""
    for _ in range(order):
        function = side.api.grad(function)
    with side.chosen():
        return float(function(side.np.float32(at)))


@pytest.mark.parametrize(
    ("name", "at", "order", "expected"),
    [
        ("sinc", 0.0, 1, 0.0),
        ("sinc", 0.0, 2, -(math.pi**2) / 3),
        ("sinc", 0.5, 1, -4 / math.pi),
        ("square", 3.0, 1, 6.0),
        ("cbrt", 8.0, 1, 1 / 12),
        ("i0", 0.0, 1, 0.0),
        ("rint", 2.3, 1, 0.0),
        ("nan_to_num", math.nan, 1, 0.0),
        ("absolute", -2.0, 1, -1.0),
        ("log2", 2.0, 1, 1 / (2 * math.log(2))),
    ],
)
def test_derivatives_of_one_number(name, at, order, expected, numpy_side):
    assert derivative(numpy_side, getattr(numpy_side.np, name), at, order) == pytest.approx(
        expected, rel=1e-4, abs=1e-6
    )


@pytest.mark.parametrize(
    ("expression", "at", "expected"),
    [
        ("np.logaddexp(x, 2.0)", 2.0, 0.5),
        ("np.logaddexp(x, -np.inf)", 1.0, 1.0),
        ("np.logaddexp(x, 1.0)", -math.inf, 0.0),
        ("np.logaddexp2(x, 2.0)", 2.0, 0.5),
        ("np.hypot(x, 4.0)", 3.0, 0.6),
        ("np.hypot(x, 0.0)", 2.0, 1.0),
        ("np.maximum(x, 2.0)", 2.0, 0.5),
        ("np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0)", -1.0, 0.0),
        ("np.clip(x, 0.0, 1.0)", 0.5, 1.0),
        ("np.remainder(x, 2.0)", 5.0, 1.0),
        ("x // 2.0", 5.0, 0.0),
        ("x // 0.0", 5.0, 0.0),
        ("x ** 2", 0.0, 0.0),
        ("x ** 0", 0.0, 0.0),
        ("np.power(x, 3)", -2.0, 12.0),
        ("np.ldexp(x, 3)", 1.5, 8.0),
        ("np.frexp(x)[0]", 6.0, 0.125),
        ("np.copysign(x, -1.0)", 3.0, -1.0),
        ("np.interp(x, np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 3.0]))", 2.0, 0.5),
        ("np.polyval(np.array([1.0, 2.0, 3.0]), x)", 2.0, 6.0),
        ("np.linspace(0.0, x, 5)[2]", 4.0, 0.5),
        ("np.median(np.stack([x, 1.0 + 0 * x, 5.0 + 0 * x]))", 3.0, 1.0),
        ("np.std(np.stack([x, 3.0 + 0 * x]))", 1.0, -0.5),
        ("np.float32(3) * x", 1.0, 3.0),
        ("np.asarray([x, 2 * x, 3.0]).sum()", 1.0, 3.0),
        ("np.array([[x, x], [x, 1.0]]).sum()", 1.0, 3.0),
    ],
)
def test_derivatives_of_formulas(expression, at, expected, numpy_side):
    names = dict(numpy_side.names)
    got = derivative(numpy_side, lambda x: eval(expression, {**names, "x": x}), at)
    assert got == pytest.approx(expected, rel=1e-4, abs=1e-6)


MAPPED = [
    "np.sort(x)", "np.argsort(x)", "np.median(x)", "np.quantile(x, 0.3)", "np.cumsum(x)", "np.var(x)", "np.diag(x)",
    "x[::2]", "x[k]", "x.at[k].add(1.0)", "x.at[x > 0].set(0.0)", "np.where(x > 0, x, 0)", "np.outer(x, x)",
    "np.einsum('i,j->ij', x, x)", "np.convolve(x, g)", "np.interp(x, np.sort(x), x)",
    "np.searchsorted(np.sort(x), x)", "np.take_along_axis(x, k, 0)", "np.unique(x, size=3)",
    "np.nonzero(x > 0, size=2)[0]", "np.pad(x, 1, 'reflect')", "np.roll(x, 1)",
    "np.histogram(x, 3, range=(-2, 2))[0]", "np.linalg.norm(x)", "np.tile(x, 2)", "np.repeat(x, 2)",
    "np.fft.irfft(np.fft.rfft(x), 3)",
    "np.cross(x, g)", "np.gradient(x)", "np.floor_divide(x, 2)", "x @ q", "np.kron(x, g)",
]  # fmt: skip


@pytest.mark.parametrize("expression", MAPPED)
def test_vmap_is_a_loop(expression, numpy_side):
    names = {**numpy_side.names, "g": numpy_side.names["g"]}

    def function(x):
        return eval(expression, {**names, "x": x})

    with numpy_side.chosen():
        rows = numpy_side.np.asarray(numpy.random.default_rng(1).normal(size=(4, 3)).astype("float32"))
        got = numpy_side.api.vmap(function)(rows)
        expected = numpy_side.np.stack([function(row) for row in rows])
    numpy.testing.assert_allclose(numpy.asarray(got), numpy.asarray(expected), rtol=1e-5, atol=1e-5)
