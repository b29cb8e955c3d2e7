"""The elementwise primitives against JAX and NumPy: values, derivatives, mapping, both backends; and bad input."""

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad._lax.elementwise import primitives as p
from tangrad._lax.elementwise.primitives import elementwise
from tests.primitives.reference import (
    BACKENDS,
    WIDE,
    as_dtype,
    check_derivatives,
    check_dot_product,
    check_finite_differences,
    check_mapped,
    close,
    normal,
    using,
)

jax = pytest.importorskip("jax")

FLOATS = ("float32", "float16", "bfloat16", "float64")
INEXACT = (*FLOATS, "complex64", "complex128")
NUMBERS = (*INEXACT, "int32", "uint8", "int8", "int64", "uint32")
ANY = (*NUMBERS, "bool")
ORDERED = tuple([dtype for dtype in ANY if not dtype.startswith("complex")])
INTEGERS = ("int32", "uint8", "int8", "int64", "uint32", "uint64")

# name -> (dtypes, domain of real numbers, whether it is differentiable)
UNARY = {
    "neg": (NUMBERS, None, True),
    "sign": (NUMBERS, None, False),
    "abs": (tuple([d for d in NUMBERS if not d.startswith("u")]), None, True),
    "floor": (FLOATS, None, True),
    "ceil": (FLOATS, None, True),
    "round": (FLOATS, None, True),
    "is_finite": (FLOATS, None, False),
    "exp": (INEXACT, None, True),
    "exp2": (INEXACT, None, True),
    "log": (INEXACT, "positive", True),
    "expm1": (INEXACT, None, True),
    "log1p": (INEXACT, "positive", True),
    "logistic": (INEXACT, None, True),
    "sqrt": (INEXACT, "positive", True),
    "rsqrt": (INEXACT, "positive", True),
    "cbrt": (FLOATS, None, True),
    "square": (NUMBERS, None, True),
    "sin": (INEXACT, None, True),
    "cos": (INEXACT, None, True),
    "tan": (INEXACT, "unit", True),
    "asin": (INEXACT, "unit", True),
    "acos": (INEXACT, "unit", True),
    "atan": (INEXACT, None, True),
    "sinh": (INEXACT, None, True),
    "cosh": (INEXACT, None, True),
    "tanh": (INEXACT, None, True),
    "asinh": (INEXACT, None, True),
    "acosh": (INEXACT, "above 1", True),
    "atanh": (INEXACT, "unit", True),
    "reciprocal": (INEXACT, "positive", True),
    "real": (("complex64", "complex128"), None, True),
    "imag": (("complex64", "complex128"), None, True),
    "conj": (("complex64", "complex128", "float32", "float64"), None, True),
    "bitwise_not": ((*INTEGERS, "bool"), None, False),
    "population_count": (INTEGERS, None, False),
    "clz": (INTEGERS, None, False),
}
BINARY = {
    "add": (NUMBERS, None, True),
    "sub": (NUMBERS, None, True),
    "mul": (NUMBERS, None, True),
    "div": (NUMBERS, "positive", True),
    "rem": (tuple([d for d in NUMBERS if not d.startswith("complex")]), "positive", True),
    "max": (ANY, None, True),
    "min": (ANY, None, True),
    "atan2": (FLOATS, None, True),
    "pow": (INEXACT, "positive", True),
    "nextafter": (("float32", "float64"), None, False),
    "mulhi": (INTEGERS, None, False),
    "complex": (("float32", "float64"), None, True),
    "bitwise_and": ((*INTEGERS, "bool"), None, False),
    "bitwise_or": ((*INTEGERS, "bool"), None, False),
    "bitwise_xor": ((*INTEGERS, "bool"), None, False),
    "shift_left": (INTEGERS, None, False),
    "shift_right_logical": (INTEGERS, None, False),
    "shift_right_arithmetic": (INTEGERS, None, False),
    "eq": (ANY, None, False),
    "ne": (ANY, None, False),
    "lt": (ORDERED, None, False),
    "le": (ORDERED, None, False),
    "gt": (ORDERED, None, False),
    "ge": (ORDERED, None, False),
}
# What is not compared, because JAX is wrong there: the sign of the derivative for complex x left of the imaginary axis.
NO_COMPLEX_DERIVATIVE = {"acosh"}


def sample(domain, shape, dtype, seed=0):
    x = normal(shape, dtype, seed)
    if x.dtype.kind in "biu":
        return np.maximum(x, 1).astype(x.dtype) if domain == "positive" and x.dtype.kind != "b" else x
    if x.dtype.kind == "c":
        return x
    wide = x.astype(np.float64)
    if domain == "positive":
        wide = np.abs(wide) + 0.3
    elif domain == "unit":
        wide = np.tanh(wide) * 0.9
    elif domain == "above 1":
        wide = np.abs(wide) + 1.2
    return wide.astype(x.dtype)


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def samples(table, dtype, count):
    """Arguments for every function of a table that takes the dtype."""
    return {
        name: [sample(domain, (3, 5), dtype, seed) for seed in range(count)]
        for name, (accepted, domain, _) in table.items()
        if dtype in accepted
    }


def apply_all(api):
    """The program that applies every function to its arguments."""
    return lambda arguments: {name: getattr(api.lax, name)(*args) for name, args in arguments.items()}


# Half precision: JAX computes some functions in it step by step, we in float32; a unit in the last place apart.
@pytest.mark.parametrize("dtype", ANY + ("uint64",))
@pytest.mark.parametrize("table", ["unary", "binary"])
def test_values(table, dtype):
    table, count = (UNARY, 1) if table == "unary" else (BINARY, 2)
    arguments, x64 = samples(table, dtype, count), dtype in WIDE
    with using("numpy", x64):
        # As arguments: XLA folds constants by other means than it computes with.
        expected = jax.jit(apply_all(jax))(arguments)
    slack = 3 if dtype in ("float16", "bfloat16") else 1
    for backend in BACKENDS:
        with using(backend, x64):
            close(tangrad.jit(apply_all(tangrad))(arguments), expected, slack, backend)
            if backend == "numpy":
                close(apply_all(tangrad)(arguments), expected, slack, "eager")


SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 2.5, -0.5, 1e30, -1e30]


def test_special_values_of_one_operand(backend):
    x = np.array(SPECIAL, np.float32)
    arguments = {name: [x] for name, row in UNARY.items() if "float16" in row[0]}
    for name in ("sin", "cos", "tan"):
        arguments[name] = [x[:-2]]  # argument reduction of huge numbers differs in the last places
    with using(backend):
        ours, theirs = tangrad.jit(apply_all(tangrad))(arguments), jax.jit(apply_all(jax))(arguments)
        close(ours, theirs)
        for name in arguments:
            one, other = [np.nan_to_num(np.asarray(out[name], np.float32)) for out in (ours, theirs)]
            np.testing.assert_array_equal(np.signbit(one), np.signbit(other), err_msg=name)


def test_special_values_of_two_operands(backend):
    x, y = [part.ravel().astype(np.float32) for part in np.meshgrid(SPECIAL, SPECIAL)]
    arguments = {name: [x, y] for name, row in BINARY.items() if "float16" in row[0]}
    with using(backend):
        close(tangrad.jit(apply_all(tangrad))(arguments), jax.jit(apply_all(jax))(arguments))


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "uint32"])
def test_integer_corners(backend, dtype):
    limits = np.iinfo(dtype)
    corners = np.array([limits.min, limits.max, 0, 1, 2, limits.max - 1, limits.max // 2], dtype)
    if limits.min:
        corners = np.concatenate([corners, np.array([-1, -2, limits.min + 1], dtype)])
    x, y = [part.ravel() for part in np.meshgrid(corners, corners)]
    names = ["add", "sub", "mul", "div", "rem", "max", "mulhi"]
    shifts = ["shift_left", "shift_right_logical", "shift_right_arithmetic"]
    amounts = np.array([0, 1, limits.bits - 1, limits.bits, limits.bits + 5, 100], dtype)
    s, n = [part.ravel() for part in np.meshgrid(corners, amounts)]

    singles = ["neg", "sign", "square", "clz", "population_count"] + (["abs"] if limits.min else [])

    def program(api):
        def run(x, y, s, n, corners):
            out = {name: getattr(api.lax, name)(x, y) for name in names}
            out |= {name: getattr(api.lax, name)(s, n) for name in shifts}
            out |= {name: getattr(api.lax, name)(corners) for name in singles}
            return out | {"power": api.lax.integer_pow(corners, 3)}

        return run

    with using(backend):
        args = (x, y, s, n, corners)
        close(tangrad.jit(program(tangrad))(*args), jax.jit(program(jax))(*args))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", [name for name, row in UNARY.items() if row[2]])
def test_derivatives_of_one_operand(name, dtype):
    accepted, domain, _ = UNARY[name]
    if dtype not in accepted or (dtype == "complex64" and name in NO_COMPLEX_DERIVATIVE):
        return
    check_derivatives(lambda api: getattr(api.lax, name), [sample(domain, (3, 4), dtype)], slack=3)


def _by_parts(api, name):
    """The greater or lesser complex number, by real part, then by imaginary: JAX 0.12 cannot derive its own."""

    def choose(x, y):
        first = [(api.lax.real(z), api.lax.imag(z)) for z in (x, y)]
        (a, b), (c, d) = first if name == "max" else first[::-1]
        return api.lax.select((a > c) | ((a == c) & (b > d)), x, y)

    return choose


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", [name for name, row in BINARY.items() if row[2]])
@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((), (4,))], ids=str)
def test_derivatives_of_two_operands(name, dtype, shapes):
    accepted, domain, _ = BINARY[name]
    if dtype not in accepted or (shapes[0] == () and dtype == "complex64"):
        return
    args = [sample(domain, shape, dtype, seed) for seed, shape in enumerate(shapes)]

    def function(api):
        if api is tangrad or shapes[0] == shapes[1]:
            by_parts = api is jax and dtype == "complex64" and name in ("max", "min")
            return _by_parts(api, name) if by_parts else getattr(api.lax, name)
        # JAX has scalars beside arrays too, but not under every transformation.
        shape = shapes[0] or shapes[1]
        return lambda *xs: getattr(api.lax, name)(*[api.lax.broadcast(x, shape) if x.ndim == 0 else x for x in xs])

    check_derivatives(function, args, slack=3)


def test_derivatives_again():
    with using("numpy", x64=True):
        for name, (accepted, domain, smooth) in (UNARY | BINARY).items():
            if not smooth or "float64" not in accepted or name in ("conj", "complex", "floor", "ceil", "round"):
                continue
            args = [sample(domain, (4,), "float64", seed) for seed in range(1 if name in UNARY else 2)]
            function = getattr(lax, name)
            check_finite_differences(function, args)
            once = lambda *xs, f=function: tangrad.jvp(f, xs, tuple([np.cos(np.arange(4.0))] * len(xs)))[1]
            check_finite_differences(once, args)


def test_derivative_of_acosh_left_of_the_imaginary_axis():
    with using("numpy"):
        z = np.array([-2 + 1j, -0.5 - 2j, 2 + 1j], np.complex64)
        slope = tangrad.jvp(lax.acosh, (z,), (np.ones(3, np.complex64),))[1]
        np.testing.assert_allclose(slope, 1 / (np.sqrt(z - 1) * np.sqrt(z + 1)), rtol=1e-5)


def test_derivative_of_the_complex_sign():
    z, t = np.array([3 + 4j, -1 + 0.5j]), np.array([1 - 1j, 0.3 + 2j])
    with using("numpy", x64=True):
        slope = tangrad.jvp(lax.sign, (z,), (t,))[1]
        expected = ((z + 1e-7 * t) / np.abs(z + 1e-7 * t) - (z - 1e-7 * t) / np.abs(z - 1e-7 * t)) / 2e-7
        np.testing.assert_allclose(slope, expected, rtol=1e-6)
        assert complex(tangrad.jvp(lax.sign, (0j,), (1 + 0j,))[1]) == 0


POWERS = [0.0, -0.0, 1.0, -2.0, 2.0, np.inf, 0.5, 3.0, -1.0]


def test_derivatives_of_powers_at_corners():
    x, y = [part.ravel().astype(np.float32) for part in np.meshgrid(POWERS, POWERS)]
    with using("numpy"):
        ours = [np.asarray(tangrad.vmap(tangrad.grad(lax.pow, i))(x, y)) for i in (0, 1)]
    theirs = [np.asarray(jax.jit(jax.vmap(jax.grad(jax.lax.pow, i)))(x, y)) for i in (0, 1)]
    flat = y == 0  # where the power is 1 whatever x is; JAX says NaN at 0
    np.testing.assert_array_equal(ours[0][flat], 0)
    np.testing.assert_allclose(ours[0][~flat], theirs[0][~flat], rtol=1e-5)
    endless = (x == 0) & (y < 0)  # JAX says NaN of what is endless
    np.testing.assert_array_equal(np.abs(ours[1][endless]), np.inf)
    np.testing.assert_allclose(ours[1][~endless], theirs[1][~endless], rtol=1e-5)


def test_integer_exponents(backend):
    x = np.array([0.0, -2.0, 1.5], np.float32)
    with using(backend):
        for exponent in (np.int32(0), np.uint8(3), np.int8(-2)):
            close(lax.pow(x, exponent), jax.lax.pow(x, exponent))
    if backend == BACKENDS[0]:  # `check_derivatives` sees to all
        for y in (-3, -1, 0, 1, 2, 5):
            check_derivatives(lambda api, y=y: lambda x: api.lax.integer_pow(x, y), [x + 0.25])


def test_ties(backend):
    with using(backend):
        for name in ("max", "min"):
            tied = tangrad.jvp(getattr(lax, name), (1.0, 1.0), (1.0, 0.0))[1]
            assert float(tied) == 0.5
        assert float(tangrad.grad(lax.abs)(0.0)) == 1.0


def test_derivatives_of_clamp():
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0], np.float32)
    low, high = np.float32(0), np.float32(1)

    def of_scalars(api):  # JAX cannot differentiate with respect to them
        if api is tangrad:
            return api.lax.clamp
        return lambda low, x, high: api.lax.clamp(api.lax.broadcast(low, (5,)), x, api.lax.broadcast(high, (5,)))

    check_derivatives(of_scalars, [low, x, high])
    check_derivatives(of_scalars, [low + 2, x, high])
    bounds = [np.full(5, 0.25, np.float32), x, np.full(5, 0.75, np.float32)]
    check_derivatives(lambda api: api.lax.clamp, bounds)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32"])
def test_selection(backend, dtype):
    cases = [normal((3, 4), dtype, seed) for seed in range(4)]
    which, truth = np.arange(12, dtype=np.int32).reshape(3, 4) % 4, np.arange(12).reshape(3, 4) % 2 == 0
    with using(backend):
        close(lax.select_n(which, *cases), jax.lax.select_n(which, *cases))
        close(lax.select_n(truth, *cases[:2]), jax.lax.select_n(truth, *cases[:2]))
        close(lax.select(truth, *cases[:2]), jax.lax.select(truth, *cases[:2]))
        close(lax.select_n(np.int32(2), *cases), jax.lax.select_n(np.int32(2), *cases))
        if dtype != "int32" and backend == BACKENDS[0]:
            check_derivatives(lambda api: lambda *xs: api.lax.select_n(which, *xs), cases)
            check_derivatives(lambda api: lambda x: api.lax.select_n(truth, x, cases[1]), cases[:1])
        # Scalars stand beside arrays.
        close(lax.select(truth, cases[0], cases[1][0, 0]), np.where(truth, cases[0], cases[1][0, 0]))


CONVERTED = [
    "bool",
    "int8",
    "uint8",
    "int32",
    "uint32",
    "float16",
    "bfloat16",
    "float32",
    "complex64",
    "int64",
    "float64",
]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("source", CONVERTED)
def test_conversions(backend, source):
    x = normal((6,), source) * as_dtype(source).type(3)
    if np.dtype(as_dtype(source)).kind == "f":
        x = np.concatenate([x, np.array([np.inf, -np.inf, np.nan, 300, -300, 0.5], x.dtype)])

    def program(api):
        return lambda x: {target: api.lax.convert_element_type(x, target) for target in CONVERTED}

    with using(backend, x64=True):
        close(tangrad.jit(program(tangrad))(x), jax.jit(program(jax))(x))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("pair", [("float32", "float16"), ("float32", "complex64"), ("complex64", "float32")], ids=str)
def test_derivatives_of_conversions(pair):
    check_derivatives(lambda api: lambda x: api.lax.convert_element_type(x, pair[1]), [normal((4,), pair[0])])


def test_integers_carry_no_tangents(backend):
    with using(backend):
        through = lambda x: lax.convert_element_type(lax.convert_element_type(x, "int32"), "float32")
        assert float(tangrad.grad(through)(1.5)) == 0


def test_conversion_of_complex_numbers_warns():
    with using("numpy"), pytest.warns(np.exceptions.ComplexWarning, match="drops the imaginary part"):
        lax.convert_element_type(np.ones(2, np.complex64), "float32")


BITCASTS = [
    ("float32", "int32"), ("float32", "uint8"), ("int32", "int16"), ("float16", "bfloat16"), ("uint8", "int8"),
    ("bool", "bool"), ("complex64", "complex64"),
]  # fmt: skip


@pytest.mark.parametrize("pair", BITCASTS, ids=str)
def test_bitcasts(backend, pair):
    x = normal((3, 4), pair[0])
    with using(backend):
        there = lax.bitcast_convert_type(x, pair[1])
        close(there, jax.lax.bitcast_convert_type(x, pair[1]))
        close(lax.bitcast_convert_type(there, pair[0]), x)
        check_mapped(lambda x: lax.bitcast_convert_type(x, pair[1]), [x], (1,))
        check_mapped(lambda x: lax.bitcast_convert_type(x, pair[0]), [np.asarray(there)], (1,))


@pytest.mark.parametrize("bits", [(5, 10), (8, 7), (4, 3), (8, 23), (2, 1)])
def test_reduce_precision(backend, bits):
    x = np.concatenate([normal((50,)), np.array([np.inf, np.nan, 1e-8, 70000, -0.0, 3e38], np.float32)])
    with using(backend):
        close(lax.reduce_precision(x, *bits), jax.lax.reduce_precision(x, *bits))
    if backend == BACKENDS[0]:
        check_derivatives(lambda api: lambda x: api.lax.reduce_precision(x, *bits), [x[:50]])


def test_rounding(backend):
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388609.0, -0.0], np.float32)
    with using(backend):
        for method in (0, 1):
            close(lax.round(x, method), jax.lax.round(x, jax.lax.RoundingMethod(method)))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_total_order(backend, dtype):
    x = np.array([-np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan], np.float32)
    x = np.concatenate([x, -x]) if dtype == "float32" else normal((8,), dtype)
    one, other = [part.ravel() for part in np.meshgrid(x, x)]
    pairs = [(p.eq_to_p, "eq_to_p"), (p.lt_to_p, "lt_to_p"), (p.le_to_p, "le_to_p")]
    with using(backend):
        for primitive, name in pairs:
            close(primitive(one, other), getattr(jax.lax, name).bind(jax.numpy.asarray(one), jax.numpy.asarray(other)))


@pytest.mark.parametrize("name", sorted(UNARY | BINARY))
def test_mapping(name):
    accepted, domain, _ = (UNARY | BINARY)[name]
    dtype = "float32" if "float32" in accepted else accepted[0]
    count = 1 if name in UNARY else 2
    args = [sample(domain, (2, 4), dtype, seed) for seed in range(count)]
    function = getattr(lax, name)
    with using("numpy"):
        for axes in [(0,), (2,)] if count == 1 else [(0, 0), (0, 2), (None, 1), (1, None)]:
            check_mapped(function, args, axes, jit=False)
        if count == 2:  # scalars beside arrays, on either side, mapped or not
            scalar = args[0][0, 0]
            check_mapped(function, [np.asarray(scalar), args[1]], (0, None), jit=False)
            check_mapped(function, [np.asarray(scalar), args[1]], (None, 1), jit=False)
            check_mapped(function, [args[1], np.asarray(scalar)], (2, 0), jit=False)


def test_mapping_of_selection(backend):
    which, x, y = np.array([True, False, True, False]), normal((4,)), normal((4,), seed=1)
    with using(backend):
        for axes in [(0, None, None), (None, 0, None), (0, 0, 1), (None, 1, 0)]:
            check_mapped(lax.select_n, [which, x, y], axes)
        check_mapped(lax.select_n, [np.asarray(1, np.int32), x, y, x + y], (0, None, 1, None), size=2)
        check_mapped(lax.clamp, [np.float32(-0.5), x, np.float32(0.5)], (0, None, None))
        check_mapped(lax.clamp, [np.float32(-0.5), x, np.float32(0.5)], (None, 0, 0))


def test_transposes_by_dot_product(backend):
    x, y = normal((3, 4)), normal((3, 4), seed=1)
    with using(backend):
        check_dot_product(lambda x, y: lax.add(lax.mul(x, 2.0), lax.neg(lax.sub(y, x))), [x, y])
        check_dot_product(lambda x: lax.select(lax.gt(lax.abs(x), 0.5), x, lax.div(x, 3.0)), [x])
        check_dot_product(lambda x, s: lax.mul(lax.sub(x, s), s), [x, np.float32(0.7)])
        check_dot_product(lambda x, y: lax.imag(lax.conj(lax.complex(x, y))), [x, y])


# --- types ---------------------------------------------------------------------------------------------------------


def test_numbers_beside_arrays():
    x, i = np.arange(3, dtype=np.float32), np.arange(3, dtype=np.int8)
    with using("numpy"):
        assert lax.add(x, 1).dtype == np.float32 and not lax.add(x, 1).weak_type
        assert lax.add(2, i).dtype == np.int8
        assert lax.add(1.0, 2.0).weak_type and lax.eq(1.0, 2.0).dtype == bool
        assert lax.clamp(0, x, 1).dtype == np.float32
        with pytest.raises(OverflowError):
            lax.add(i, 300)
        with pytest.raises(TypeError, match=r"one dtype, got int8 and float32"):
            lax.add(i, 1.5)


def test_sizes_of_one_are_stretched():
    with using("numpy"):
        assert lax.add(np.ones((3, 1), np.float32), np.ones((1, 4), np.float32)).shape == (3, 4)
        assert lax.select(np.array(True), np.ones((3, 1), np.float32), np.ones((1, 4), np.float32)).shape == (3, 4)


def test_weak_types_are_those_of_jax():
    def program(api):
        x = api.numpy.float32(1) if api is jax else lax.convert_element_type(1.0, "float32")
        return [
            api.lax.add(1.0, 2.0), api.lax.lt(1.0, 2.0), api.lax.add(x, 1.0), api.lax.select_n(True, 1.0, 2.0),
            api.lax.clamp(0.0, 1.0, 2.0), api.lax.convert_element_type(1.0, float), api.lax.abs(1j),
            api.lax.pow(2.0, 3), api.lax.is_finite(1.0), api.lax.bitcast_convert_type(1.0, "int32"),
            api.lax.reduce_precision(1.0, 5, 3),
        ]  # fmt: skip

    with using("numpy"):
        assert [out.weak_type for out in program(tangrad)] == [out.weak_type for out in program(jax)]


# --- bad input -----------------------------------------------------------------------------------------------------

F, I, B = np.ones(3, np.float32), np.ones(3, np.int32), np.ones(3, bool)
BAD = {
    "dtype of a function": (lambda: lax.sin(I), TypeError, "sin does not accept dtype int32 for x"),
    "dtypes that differ": (
        lambda: lax.add(F, I),
        TypeError,
        "add requires operands of one dtype, got float32 and int32",
    ),
    "shapes that differ": (lambda: lax.add(F, F[:2]), ValueError, r"add requires .* got shapes \(3,\) and \(2,\)"),
    "ranks that differ": (lambda: lax.add(F, F[None]), ValueError, "one shape"),
    "no array": (lambda: lax.add("a", F), TypeError, "add requires arrays or numbers, got 'a' of type str for x"),
    "no array for a function": (lambda: lax.sin(None), TypeError, "sin requires arrays or numbers, got None"),
    "booleans added": (lambda: lax.add(B, B), TypeError, "add does not accept dtype bool"),
    "complex order": (lambda: lax.lt(1j, 1j), TypeError, "lt does not accept dtype complex64"),
    "unsigned absolute value": (lambda: lax.abs(np.ones(3, np.uint8)), TypeError, "abs does not accept dtype uint8"),
    "negative power of integers": (lambda: lax.integer_pow(I, -1), TypeError, "integers have no negative powers"),
    "exponent": (lambda: lax.integer_pow(F, 2.0), TypeError, "y must be an integer, got 2.0"),
    "truth as exponent": (lambda: lax.pow(F, True), TypeError, "pow does not accept dtype bool for y"),
    "no cases": (lambda: lax.select_n(True), TypeError, "at least one case"),
    "which": (lambda: lax.select_n(F, F, F), TypeError, "which must be boolean or int32, got float32"),
    "too many cases": (lambda: lax.select_n(B, F, F, F), TypeError, "at most two cases, got 3"),
    "shape of which": (lambda: lax.select_n(B[:2], F, F), ValueError, r"which must have the shape .* got \(2,\)"),
    "bounds": (lambda: lax.clamp(F[:2], F, 1.0), ValueError, "clamp"),
    "no dtype": (lambda: lax.convert_element_type(F, None), ValueError, "new_dtype must be a dtype"),
    "not a dtype": (lambda: lax.convert_element_type(F, "spam"), TypeError, "spam"),
    "bits of booleans": (lambda: lax.bitcast_convert_type(F, bool), TypeError, "got float32 to bool"),
    "bits too few": (
        lambda: lax.bitcast_convert_type(np.ones(3, np.uint8), "int32"),
        ValueError,
        "last dimension of 4",
    ),
    "exponent bits": (lambda: lax.reduce_precision(F, 0, 3), ValueError, "exponent_bits must be positive"),
    "mantissa bits": (lambda: lax.reduce_precision(F, 5, -1), ValueError, "mantissa_bits must not be negative"),
    "rounding method": (lambda: lax.round(F, 7), ValueError, "7"),
    "number of operands": (lambda: p.add_p(F), TypeError, "add takes 2 operands"),
    "derivative of nextafter": (
        lambda: tangrad.grad(lambda x: lax.nextafter(x, 2.0))(1.0),
        NotImplementedError,
        "nextafter",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, kind, message = BAD[name]
    with using("numpy"), pytest.raises(kind, match=message):
        call()


def test_every_primitive_has_its_functions_and_tests():
    spelled = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "not": "bitwise_not"}
    others = {"integer_pow", "select_n", "clamp", "convert_element_type", "bitcast_convert_type", "reduce_precision"}
    others |= {"eq_to", "lt_to", "le_to"}
    others |= {"log2", "log10"}  # functions of numpy alone: tests/numpy/test_ufuncs.py
    tested = set(UNARY) | set(BINARY) | others
    assert {spelled.get(name, name) for name in elementwise.primitives} <= tested
