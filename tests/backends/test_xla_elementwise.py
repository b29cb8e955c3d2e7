"""Elementwise primitives on the XLA backend: the numbers of jax, bit for bit."""

import numpy as np
import pytest

pytest.importorskip("jaxlib")
jax = pytest.importorskip("jax")
primitives = pytest.importorskip("tangrad._lax.elementwise.primitives")

import ml_dtypes

import tangrad
from tangrad._backend_xla.lower import special
from tangrad.core import ShapedArray, get_backend

XLA = get_backend("xla")
RNG = np.random.default_rng(0)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 1e-3, 30.0, -30.0, np.inf, -np.inf, np.nan]
FLOATS = ("float32", "float64", "bfloat16")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int32")
UNSIGNED = ("uint8", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMERIC = FLOATS + COMPLEX + INTEGERS
ORDERED = FLOATS + INTEGERS + ("bool",)


def samples(dtype: str, seed: int = 0) -> np.ndarray:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if dtype == "bool":
        return np.array([True, False, True, True] * 4)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        edges = [0, 1, 2, 3, 7, limits.max, limits.min, limits.max - 1]
        return np.roll(np.array(edges + [5, 11, 100, 60], dtype=kind), seed * 5)
    values = np.roll(np.array(SPECIAL + list(RNG.normal(size=3))), seed * 3)
    if dtype in COMPLEX:
        finite = np.nan_to_num(values, nan=0.25, posinf=4.0, neginf=-4.0)
        return (finite + 1j * np.roll(finite, 1)).astype(kind)
    return values.astype(kind)


def assert_same(result: np.ndarray, expected: np.ndarray) -> None:
    """Equal, NaN included, which NumPy does not see in the dtypes of ml_dtypes."""
    if result.dtype.kind == "V":
        result, expected = result.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(result, expected)


def put(array: np.ndarray) -> object:
    return XLA.put(array, ShapedArray(array.shape, array.dtype))


def jax_primitive(name: str):
    return getattr(jax._src.lax.lax, f"{name}_p")


def jax_apply(name: str, arrays: list, params: dict):
    with jax.enable_x64(True):
        return jax.jit(lambda *xs: jax_primitive(name).bind(*xs, **params))(*arrays)


# What has more digits here than in JAX, or is rounded in other places: held against NumPy in double precision.
OWN_FORMULAS = {"exp2": FLOATS, **dict.fromkeys(("abs", "expm1", "sign", "sin", "cos", "sinh", "cosh"), COMPLEX)}
WIDE = {"f": np.float64, "c": np.complex128, "V": np.float64}


def assert_nearly(result: np.ndarray, expected: np.ndarray) -> None:
    digits = ml_dtypes.finfo(result.dtype).eps
    wide = WIDE[result.dtype.kind]
    np.testing.assert_allclose(result.astype(wide), expected, rtol=max(4 * float(digits), 1e-15), atol=0)


def check(name: str, arrays: list, params: dict | None = None, jax_params: dict | None = None) -> None:
    primitive = getattr(primitives, f"{name}_p")
    params = params or {}
    expected = jax_apply(name, arrays, params if jax_params is None else jax_params)
    operands = [put(array) for array in arrays]
    result = primitive.bind(*operands, **params)
    assert result.dtype == expected.dtype
    if arrays[0].dtype.name in OWN_FORMULAS.get(name, ()):
        with np.errstate(all="ignore"):
            assert_nearly(result.to_numpy(), getattr(np, name)(arrays[0].astype(WIDE[arrays[0].dtype.kind])))
    elif name == "integer_pow" and arrays[0].dtype.kind == "c":  # products of several roundings, fused or not
        np.testing.assert_allclose(result.to_numpy(), np.asarray(expected), rtol=3e-7)
    else:
        assert_same(result.to_numpy(), np.asarray(expected))


WITH_ACCURACY = [
    "exp",
    "exp2",
    "log",
    "expm1",
    "log1p",
    "logistic",
    "sqrt",
    "rsqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "tanh",
]  # jax's primitives take an accuracy

UNARY = {
    "neg": NUMERIC,
    "sign": NUMERIC,
    "abs": FLOATS + COMPLEX + SIGNED,
    "floor": FLOATS,
    "ceil": FLOATS,
    "is_finite": FLOATS,
    "square": NUMERIC,
    "real": COMPLEX,
    "imag": COMPLEX,
    "not": INTEGERS + ("bool",),
    "population_count": INTEGERS,
    "clz": INTEGERS,
    **dict.fromkeys(("exp", "exp2", "log", "expm1", "log1p", "logistic", "sqrt", "rsqrt"), FLOATS + COMPLEX),
    **dict.fromkeys(("sin", "cos", "tan", "tanh"), FLOATS + COMPLEX),
    "cbrt": FLOATS,
    **dict.fromkeys(("asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"), ("float32", "complex64")),
}
BINARY = {
    **dict.fromkeys(("add", "sub", "mul", "div"), NUMERIC),
    "rem": FLOATS + INTEGERS,
    **dict.fromkeys(("max", "min"), FLOATS + COMPLEX + INTEGERS + ("bool",)),
    "atan2": FLOATS,
    "nextafter": ("float32", "float64"),
    **dict.fromkeys(("and", "or", "xor"), INTEGERS + ("bool",)),
    **dict.fromkeys(("shift_left", "shift_right_logical", "shift_right_arithmetic"), INTEGERS),
    **dict.fromkeys(("eq", "ne"), FLOATS + COMPLEX + INTEGERS + ("bool",)),
    **dict.fromkeys(("lt", "le", "gt", "ge"), ORDERED),
    **dict.fromkeys(("eq_to", "lt_to", "le_to"), FLOATS + INTEGERS),
}


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name, kinds in UNARY.items() for dtype in kinds])
def test_unary(name: str, dtype: str) -> None:
    check(name, [samples(dtype)], jax_params={"accuracy": None} if name in WITH_ACCURACY else None)


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name, kinds in BINARY.items() for dtype in kinds])
def test_binary(name: str, dtype: str) -> None:
    check(name, [samples(dtype), samples(dtype, 1)])


@pytest.mark.parametrize("name", ["add", "sub", "max", "lt", "pow", "atan2", "complex"])
def test_an_operand_of_rank_0_is_broadcast(name: str) -> None:
    array, scalar = samples("float32"), np.array(1.5, np.float32)
    primitive = getattr(primitives, f"{name}_p")
    whole = np.full_like(array, scalar)
    for given, meant in (((scalar, array), (whole, array)), ((array, scalar), (array, whole))):
        result = primitive.bind(*map(put, given))
        np.testing.assert_array_equal(result.to_numpy(), primitive.bind(*map(put, meant)).to_numpy())


@pytest.mark.parametrize("dtype", INTEGERS)
def test_mulhi(dtype: str) -> None:
    x, y = samples(dtype), samples(dtype, 1)
    bits = 8 * x.dtype.itemsize
    expected = [(int(a) * int(b)) >> bits for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(primitives.mulhi_p.bind(put(x), put(y)).to_numpy(), np.array(expected, dtype))


@pytest.mark.parametrize("y", [-3, -1, 0, 1, 2, 3, 7])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32"])
def test_integer_pow(dtype: str, y: int) -> None:
    if dtype == "int32" and y < 0:
        pytest.skip("integers have no negative powers")
    check("integer_pow", [samples(dtype)], {"y": y})


@pytest.mark.parametrize(
    ("base", "exponent"), [("float32", "float32"), ("float32", "int32"), ("complex64", "complex64")]
)
def test_pow(base: str, exponent: str) -> None:
    check("pow", [samples(base)[:12], samples(exponent, 1)[:12]])


def test_round() -> None:
    methods = primitives.RoundingMethod
    for method in methods:
        theirs = jax.lax.RoundingMethod(int(method))
        check("round", [samples("float32")], {"rounding_method": method}, {"rounding_method": theirs})


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_conj(dtype: str) -> None:
    x = samples(dtype)
    expected = np.conj(x) if dtype == "complex64" else x.astype(np.complex64 if dtype == "float32" else np.complex128)
    np.testing.assert_array_equal(primitives.conj_p.bind(put(x)).to_numpy(), expected)


@pytest.mark.parametrize(
    "source", ["bool", "int8", "int32", "uint8", "int64", "float16", "bfloat16", "float32", "float64"]
)
@pytest.mark.parametrize(
    "target", ["bool", "int8", "int32", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"]
)
def test_convert_element_type(source: str, target: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, target, target))
    x = samples(source)
    with jax.enable_x64(True):
        expected = jax.lax.convert_element_type_p.bind(
            jax.numpy.asarray(x), new_dtype=dtype, weak_type=False, sharding=None
        )
    result = primitives.convert_element_type_p.bind(put(x), new_dtype=dtype, weak_type=False)
    assert result.dtype == dtype
    assert_same(result.to_numpy(), np.asarray(expected))


def test_complex_numbers_lose_their_imaginary_part() -> None:
    z = np.array([1 + 2j, 0 + 3j], np.complex64)
    result = primitives.convert_element_type_p.bind(put(z), new_dtype=np.dtype("float32"), weak_type=False)
    np.testing.assert_array_equal(result.to_numpy(), [1, 0])


def test_clamp_and_select() -> None:
    x = samples("float32")
    low, high = np.array(-1, np.float32), np.array(1, np.float32)
    np.testing.assert_array_equal(primitives.clamp_p.bind(put(low), put(x), put(high)).to_numpy(), np.clip(x, -1, 1))
    which = np.arange(x.size, dtype=np.int32) % 5
    cases = [np.roll(x, k) for k in range(5)]
    result = primitives.select_n_p.bind(put(which), *map(put, cases))
    np.testing.assert_array_equal(result.to_numpy(), np.choose(which, cases))
    for predicate in (x > 0, np.array(True), np.array(False)):
        result = primitives.select_n_p.bind(put(predicate), put(x), put(low))
        np.testing.assert_array_equal(result.to_numpy(), np.where(predicate, low, x))


def test_bits() -> None:
    x = samples("float32")
    result = primitives.bitcast_convert_type_p.bind(put(x), new_dtype=np.dtype("uint32"))
    np.testing.assert_array_equal(result.to_numpy(), x.view(np.uint32))
    narrow = primitives.bitcast_convert_type_p.bind(put(x), new_dtype=np.dtype("uint8"))
    assert narrow.shape == (*x.shape, 4)
    np.testing.assert_array_equal(narrow.to_numpy(), x.view(np.uint8).reshape(-1, 4))
    check("reduce_precision", [x], {"exponent_bits": 5, "mantissa_bits": 10})


def test_every_primitive_of_the_family_has_a_lowering() -> None:
    from tangrad.core import rule_table

    table = rule_table("lower.xla")
    statuses = {
        primitive.name: table.cell(primitive).status for primitive in primitives.elementwise.primitives.values()
    }
    assert set(statuses.values()) <= {"rule", "derived"}, statuses


# --- functions of large arrays, which are formulas in double precision on CPUs ----------------------------------------

FORMULAS = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "cbrt": np.cbrt,
    "atan2": np.arctan2,
}
LARGE = special.MANY
ENDS = [
    *SPECIAL,
    0.25,
    -0.75,
    2.0**-13,
    -(2.0**-14),
    1e-30,
    -1.2e-38,
    3e38,
    -3e38,
    6000.5,
    11807.738,
    1.5707964,
    -3.1415927,
]


@pytest.fixture
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled kernels have functions of their own."""
    kernels = pytest.importorskip("tangrad._kernels.on_xla_cpu")
    monkeypatch.setattr(kernels, "is_here", lambda ctx: False)


def apply(name: str, *arrays: np.ndarray) -> np.ndarray:
    function = tangrad.jit(lambda *xs: getattr(primitives, f"{name}_p").bind(*xs))
    return np.asarray(function(*map(put, arrays)))


def numbers(size: int, seed: int, name: str = "") -> np.ndarray:
    """Of all magnitudes, half of them near 1."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0x00800000, 0x7F800000, size).astype(np.int32).view(np.float32)
    near = rng.normal(size=size).astype(np.float32)
    found = np.where(np.arange(size) % 2, near, bits * rng.choice(np.array([-1, 1], np.float32), size))
    return np.tanh(near) if name in ("asin", "acos") else found


def errors(name: str, found: np.ndarray, arrays: list) -> np.ndarray:
    """In units in the last place, where results are normal numbers."""
    with np.errstate(all="ignore"):
        exact = FORMULAS[name](*[array.astype(np.float64) for array in arrays])
        unit = np.spacing(np.abs(exact.astype(found.dtype))).astype(np.float64)
        distance = np.abs(found.astype(np.float64) - exact) / unit
        is_normal = np.abs(exact) >= float(ml_dtypes.finfo(found.dtype).smallest_normal)
        return np.where(is_normal & np.isfinite(unit), distance, 0)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", FORMULAS)
def test_functions_of_large_arrays_are_rounded_once(name: str, dtype: str, without_kernels: None) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    with np.errstate(all="ignore"):
        arrays = [numbers(LARGE + 3, seed, name).astype(kind) for seed in range(2 if name == "atan2" else 1)]
    found = apply(name, *arrays)
    assert found.dtype == kind
    assert errors(name, found, arrays).max() < 0.5006
    alone = apply(name, *[array[:100] for array in arrays])
    assert errors(name, alone, [array[:100] for array in arrays]).max() < 4  # XLA's own


@pytest.mark.parametrize("name", FORMULAS)
def test_functions_of_large_arrays_have_the_special_values_of_c(name: str, without_kernels: None) -> None:
    ends = np.array(ENDS, np.float32)
    pairs = [ends] if name != "atan2" else [array.ravel() for array in np.meshgrid(ends, ends)]
    found = apply(name, *[np.resize(array, (3, LARGE)) for array in pairs])
    found = found.ravel()[: pairs[0].size]
    with np.errstate(all="ignore"):
        exact = FORMULAS[name](*[array.astype(np.float64) for array in pairs]).astype(np.float32)
    # Numbers that are not normal may be 0 to XLA.
    np.testing.assert_allclose(found, exact, rtol=1.2e-7, atol=1.2e-38)
    np.testing.assert_array_equal(np.signbit(found)[~np.isnan(exact)], np.signbit(exact)[~np.isnan(exact)])


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_next_to_whole_quarters(name: str, without_kernels: None) -> None:
    x = (np.arange(1, LARGE + 1) * (np.pi / 2)).astype(np.float32)
    assert errors(name, apply(name, x), [x]).max() < 0.5006


@pytest.mark.parametrize("name", ["sin", "cos", "cbrt"])
def test_functions_of_large_arrays_are_differentiated_and_mapped(name: str, without_kernels: None) -> None:
    x = numbers(LARGE, 3).reshape(8, -1)
    x = np.where(np.abs(x) < 1e6, x, np.float32(1.5))
    bind = getattr(primitives, f"{name}_p").bind
    found = tangrad.jit(tangrad.vmap(tangrad.vmap(tangrad.grad(bind))))(put(x))
    wide = x.astype(np.float64)
    exact = {"sin": np.cos(wide), "cos": -np.sin(wide), "cbrt": np.cbrt(wide) ** -2 / 3}[name]
    np.testing.assert_allclose(np.asarray(found), exact, rtol=1e-6)


def test_only_the_first_functions_of_a_program_become_formulas(without_kernels: None) -> None:
    def repeated(x: object) -> object:
        for _ in range(special.MOST + 3):
            x = primitives.sin_p.bind(x)
        return x

    text = tangrad.jit(repeated).lower(np.ones(LARGE, np.float32)).as_text()
    assert text.count("stablehlo.sine") == 3
    small = tangrad.jit(repeated).lower(np.ones(LARGE - 1, np.float32)).as_text()
    assert small.count("stablehlo.sine") == special.MOST + 3


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_keep_nothing_in_double_precision(name: str, without_kernels: None) -> None:
    def between_products(x: tangrad.Array) -> tangrad.Array:
        squares = [x @ x] * (2 if name == "atan2" else 1)
        of_argument = getattr(primitives, f"{name}_p").bind(*squares)
        return ((x @ x) * of_argument).sum()

    x = np.ones((4, 128, 128), np.float32)
    for function in (between_products, tangrad.grad(between_products)):
        analysis = tangrad.jit(function).lower(x).compile().memory_analysis()
        assert analysis.temp_size_in_bytes <= 5 * x.nbytes


@pytest.mark.sweep
@pytest.mark.parametrize("exponent", range(1, 255, 2))
def test_functions_of_all_numbers_are_rounded_once(exponent: int, without_kernels: None) -> None:
    x = np.arange(exponent << 23, min(exponent + 2, 255) << 23, dtype=np.int32).view(np.float32)
    for name in FORMULAS:
        if name != "atan2" and not (name in ("asin", "acos") and x[0] >= 1):
            # Next to a zero of cos the rounding of the number of turns is seen, most of large angles.
            assert errors(name, apply(name, x), [x]).max() < {"cos": 0.95, "tan": 1.4}.get(name, 0.6), name
