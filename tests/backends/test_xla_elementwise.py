"""Elementwise primitives on the XLA backend: the numbers of jax, bit for bit."""

import numpy as np
import pytest

pytest.importorskip("jaxlib")
jax = pytest.importorskip("jax")
primitives = pytest.importorskip("tangrad._lax.elementwise.primitives")

import ml_dtypes

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
