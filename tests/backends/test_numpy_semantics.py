"""Primitives on NumPy mean what they mean on XLA, in the corners too, and in however many threads."""

import math
import os
import subprocess
import sys
import threading
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad._backend_numpy import blocks, running, threads
from tangrad._backend_numpy.lower import fft
from tangrad.core import literal

from .numpy_support import compiled, put, same

p = pytest.importorskip("tangrad._lax.elementwise.primitives")

INF, NAN = math.inf, math.nan
INT_DTYPES = ("int8", "int16", "int32", "int64")
UINT_DTYPES = ("uint8", "uint16", "uint32", "uint64")


def check(result: Any, expected: Any, dtype: Any) -> None:
    same(result, np.array(expected, dtype))


# --- integers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INT_DTYPES)
def test_signed_integers_wrap_and_divide_as_xla(dtype: str) -> None:
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    x, one, zero = put([least, most, -7, 7], dtype), put(1, dtype), put(0, dtype)
    check(p.add_p.bind(x, one), [least + 1, least, -6, 8], dtype)
    check(p.neg_p.bind(x), [least, -most, 7, -7], dtype)
    check(p.abs_p.bind(x), [least, most, 7, 7], dtype)
    check(p.div_p.bind(x, zero), [-1, -1, -1, -1], dtype)
    check(p.rem_p.bind(x, zero), [least, most, -7, 7], dtype)
    check(p.div_p.bind(x, put(-1, dtype)), [least, -most, 7, -7], dtype)
    check(p.rem_p.bind(x, put(-1, dtype)), [0, 0, 0, 0], dtype)
    check(p.div_p.bind(x, put(2, dtype)), [least // 2, most // 2, -3, 3], dtype)
    check(p.rem_p.bind(x, put(2, dtype)), [0, 1, -1, 1], dtype)
    check(p.integer_pow_p.bind(put([2, -1], dtype), y=np.iinfo(dtype).bits), [0, 1], dtype)


@pytest.mark.parametrize("dtype", INT_DTYPES + UINT_DTYPES)
def test_division_by_one_number_of_a_program(dtype: str) -> None:
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    numbers = [least, least + 1, most, most - 1, 0, 1, 6, 7, 8, -(least // 3), most // 2]
    for divisor in (1, 2, 7, most - 1, most):
        of_size = [abs(x) // divisor * (1 if x > 0 else -1) for x in numbers]
        x, y = put(numbers, dtype), literal(divisor, dtype)
        quotient, remainder = [
            compiled(lambda x, f=f, y=y: (f(x, y),), x).execute([x])[0] for f in (p.div_p.bind, p.rem_p.bind)
        ]
        check(quotient, of_size, dtype)
        check(remainder, [x - divisor * y for x, y in zip(numbers, of_size)], dtype)


@pytest.mark.parametrize("dtype", UINT_DTYPES)
def test_unsigned_integers(dtype: str) -> None:
    most = int(np.iinfo(dtype).max)
    x = put([0, 5, most], dtype)
    check(p.sub_p.bind(x, put(1, dtype)), [most, 4, most - 1], dtype)
    check(p.neg_p.bind(x), [0, most - 4, 1], dtype)
    check(p.div_p.bind(x, put(0, dtype)), [most, most, most], dtype)
    check(p.rem_p.bind(x, put(0, dtype)), [0, 5, most], dtype)


@pytest.mark.parametrize("dtype", INT_DTYPES + UINT_DTYPES)
def test_shifts_beyond_the_width(dtype: str) -> None:
    bits, signed = np.iinfo(dtype).bits, np.dtype(dtype).kind == "i"
    x, y = put([-1 if signed else int(np.iinfo(dtype).max)] * 4, dtype), put([0, 1, bits, bits + 1], dtype)
    full, half = (-1, (1 << (bits - 1)) - 1) if signed else ((1 << bits) - 1, (1 << (bits - 1)) - 1)
    check(p.shift_left_p.bind(x, y), [full, full - 1, 0, 0], dtype)
    check(p.shift_right_logical_p.bind(x, y), [full, half, 0, 0], dtype)
    check(p.shift_right_arithmetic_p.bind(x, y), [full] * 4, dtype)
    if signed:
        negative = put([-1, -2, -bits, -bits], dtype)
        check(p.shift_left_p.bind(x, negative), [0] * 4, dtype)
        check(p.shift_right_logical_p.bind(x, negative), [0] * 4, dtype)
        check(p.shift_right_arithmetic_p.bind(x, negative), [-1] * 4, dtype)


@pytest.mark.parametrize("dtype", INT_DTYPES + UINT_DTYPES)
def test_bits_are_counted(dtype: str) -> None:
    bits = np.iinfo(dtype).bits
    values = [0, 1, 2, 5, int(np.iinfo(dtype).max), int(np.iinfo(dtype).min)]
    patterns = [value % (1 << bits) for value in values]
    check(p.population_count_p.bind(put(values, dtype)), [pattern.bit_count() for pattern in patterns], dtype)
    check(p.clz_p.bind(put(values, dtype)), [bits - pattern.bit_length() for pattern in patterns], dtype)


@pytest.mark.parametrize("dtype", INT_DTYPES + UINT_DTYPES)
def test_upper_half_of_products(dtype: str) -> None:
    info = np.iinfo(dtype)
    values = [0, 1, 3, int(info.max), int(info.min), int(info.max) // 3]
    pairs = [(a, b) for a in values for b in values]
    result = p.mulhi_p.bind(put([a for a, _ in pairs], dtype), put([b for _, b in pairs], dtype))
    check(result, [(a * b) >> info.bits for a, b in pairs], dtype)


# --- floats --------------------------------------------------------------------------------------------------------


def test_signs_of_zero_and_nans() -> None:
    x = put(np.array([-0.0, 0.0, NAN, -INF, 3.0], "float32"))
    assert np.signbit(np.asarray(p.sign_p.bind(x))).tolist() == [True, False, False, True, False]
    check(p.sign_p.bind(x), [-0.0, 0.0, NAN, -1, 1], "float32")
    zero = put(0.0)
    for primitive in (p.max_p, p.min_p):
        assert np.isnan(np.asarray(primitive.bind(x, zero))).tolist() == [False, False, True, False, False]
        assert np.isnan(np.asarray(primitive.bind(zero, x))).tolist() == [False, False, True, False, False]
    check(p.clamp_p.bind(zero, x, put(1.0)), [0, 0, NAN, 0, 1], "float32")
    check(p.clamp_p.bind(put(2.0), zero, put(1.0)), 1, "float32")


def test_rounding() -> None:
    x = put(np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388609.0, INF, NAN, -0.2], "float32"))
    even = p.round_p.bind(x, rounding_method=p.RoundingMethod.TO_NEAREST_EVEN)
    away = p.round_p.bind(x, rounding_method=p.RoundingMethod.AWAY_FROM_ZERO)
    check(even, [0, 2, 2, 0, -2, 0, 8388609, INF, NAN, 0], "float32")
    check(away, [1, 2, 3, -1, -2, 0, 8388609, INF, NAN, 0], "float32")
    assert np.signbit(np.asarray(away)[-1])


@pytest.mark.parametrize("source", ["float16", "float32", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize("target", INT_DTYPES + UINT_DTYPES)
def test_conversions_to_integers_saturate(source: str, target: str) -> None:
    if source == "bfloat16":
        source = pytest.importorskip("ml_dtypes").bfloat16
    info = np.iinfo(target)
    least, most = int(info.min), int(info.max)
    x = put(np.array([NAN, INF, -INF, 1.75, -1.75, 0.0], "float32").astype(source))
    result = p.convert_element_type_p.bind(x, new_dtype=np.dtype(target), weak_type=False)
    check(result, [0, most, least, 1, max(-1, least), 0], target)


def test_conversions_at_the_edge_of_64_bits() -> None:
    x = put(np.array([2.0**63, 2.0**63 - 1024, -(2.0**63), 2.0**64, 1e300], "float64"))
    signed = p.convert_element_type_p.bind(x, new_dtype=np.dtype("int64"), weak_type=False)
    unsigned = p.convert_element_type_p.bind(x, new_dtype=np.dtype("uint64"), weak_type=False)
    check(signed, [2**63 - 1, 2**63 - 1024, -(2**63), 2**63 - 1, 2**63 - 1], "int64")
    check(unsigned, [2**63, 2**63 - 1024, 0, 2**64 - 1, 2**64 - 1], "uint64")


def test_other_conversions() -> None:
    def convert(x: Any, dtype: str) -> Any:
        return p.convert_element_type_p.bind(x, new_dtype=np.dtype(dtype), weak_type=False)

    check(convert(put([0.0, 0.5, NAN]), "bool"), [False, True, True], "bool")
    check(convert(put([300, -1], "int32"), "uint8"), [44, 255], "uint8")
    check(convert(put(np.array([1 + 2j, 0j], "complex64")), "float32"), [1, 0], "float32")
    check(convert(put(np.array([1e300])), "float32"), [INF], "float32")
    check(convert(put([True, False], "bool"), "complex64"), [1, 0], "complex64")


def test_total_order() -> None:
    x = np.array([-NAN, -INF, -1, -0.0, 0.0, 1, INF, NAN], "float32")
    x[0] = np.copysign(np.float32(NAN), np.float32(-1))
    for i in range(len(x)):
        for j in range(len(x)):
            a, b = put(x[i]), put(x[j])
            assert p.lt_to_p.bind(a, b).item() is (i < j)
            assert p.le_to_p.bind(a, b).item() is (i <= j)
            assert p.eq_to_p.bind(a, b).item() is (i == j)


def test_select_with_indices_out_of_range() -> None:
    cases = [put([float(k)] * 5) for k in range(3)]
    check(p.select_n_p.bind(put([-5, 0, 1, 2, 99], "int32"), *cases), [0, 0, 1, 2, 2], "float32")
    check(p.select_n_p.bind(put(True, "bool"), put([1.0, 2.0]), put([3.0, 4.0])), [3, 4], "float32")
    check(p.select_n_p.bind(put([True, False], "bool"), put(1.0), put(2.0)), [2, 1], "float32")


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex64", "complex128"])
def test_select_of_any_size(dtype: str, size: int) -> None:
    random = np.random.default_rng(0)
    mask = random.normal(size=size) > 0
    x, y = (random.normal(size=size) * 10).astype(dtype), (random.normal(size=size) * 10).astype(dtype)
    if dtype.startswith(("float", "complex")):
        x[:2], y[:2] = NAN, -0.0
    zero, minus = literal(0, np.dtype(dtype)), literal(np.array(-0.0).astype(dtype).item(), np.dtype(dtype))
    for first, second in ((x, y), (x, zero), (zero, y), (x, minus), (zero, minus), (zero, zero), (x, x)):
        operands = [put(value) if isinstance(value, np.ndarray) else value for value in (first, second)]
        if operands[0] is operands[1] is zero or not any(isinstance(value, np.ndarray) for value in (first, second)):
            operands = [put(np.full(size, np.asarray(value))) for value in (first, second)]
        expected = np.where(mask, np.asarray(first), np.asarray(second)).astype(dtype)
        result = np.asarray(p.select_n_p.bind(put(mask), operands[1], operands[0]))
        same(result, expected)
        assert result.tobytes() == expected.tobytes()


def test_powers() -> None:
    x = put([2.0, -2.0, 0.0])
    check(p.pow_p.bind(x, put([3, 3, 0], "int32")), [8, -8, 1], "float32")
    check(p.pow_p.bind(x, put([0.5, 0.5, -1.0])), [np.float32(2) ** np.float32(0.5), NAN, INF], "float32")
    check(p.integer_pow_p.bind(x, y=-2), [0.25, 0.25, INF], "float32")
    check(p.integer_pow_p.bind(x, y=0), [1, 1, 1], "float32")


def test_complex_numbers() -> None:
    z = put(np.array([3 - 4j, 1e-6 + 1e-6j, -1 + 0j], "complex64"))
    check(p.real_p.bind(z), [3, 1e-6, -1], "float32")
    check(p.imag_p.bind(z), [-4, 1e-6, 0], "float32")
    check(p.abs_p.bind(put(np.array([3 - 4j], "complex64"))), [5], "float32")
    expected = np.log1p(np.asarray(z).astype("complex128")[:2])
    np.testing.assert_allclose(np.asarray(p.log1p_p.bind(z))[:2].real[0], expected[0].real, rtol=1e-6)
    assert np.asarray(p.log1p_p.bind(z))[1].real == pytest.approx(1e-6, rel=1e-5)
    joined = np.asarray(p.complex_p.bind(put([1.0, INF]), put([INF, NAN])))
    assert joined.real.tolist() == [1, INF] and joined.imag[0] == INF and np.isnan(joined.imag[1])


def test_bits_reinterpreted() -> None:
    x = put(np.array([1.0, -2.0], "float32"))
    as_int = p.bitcast_convert_type_p.bind(x, new_dtype=np.dtype("int32"))
    check(as_int, [0x3F800000, -0x40000000], "int32")
    as_bytes = p.bitcast_convert_type_p.bind(x, new_dtype=np.dtype("uint8"))
    check(as_bytes, [[0, 0, 0x80, 0x3F], [0, 0, 0, 0xC0]], "uint8")
    same(p.bitcast_convert_type_p.bind(as_bytes, new_dtype=np.dtype("float32")), x)


def test_reduced_precision() -> None:
    x = np.array([1 + 2**-10, 1 + 2**-11, 1 + 3 * 2**-11, 7e4, 1e-30, -1e30, NAN, 3.14159], "float32")
    result = np.asarray(p.reduce_precision_p.bind(put(x), exponent_bits=5, mantissa_bits=10))
    check(result[:7], [1 + 2**-10, 1, 1 + 2**-9, INF, 0, -INF, NAN], "float32")
    assert result[7] == np.float32(np.float16(3.14159))


# --- narrow dtypes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_narrow_floats(name: str) -> None:
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    x = put(np.array([0.5, 1, 2]).astype(dtype))
    for primitive, function in ((p.sin_p, np.sin), (p.exp_p, np.exp), (p.cbrt_p, np.cbrt), (p.logistic_p, None)):
        result = primitive.bind(x)
        assert result.dtype == dtype
        if function is not None:
            expected = function(np.asarray(x).astype("float32")).astype(dtype)
            same(np.asarray(result).astype("float32"), expected.astype("float32"))
    assert p.add_p.bind(x, put(np.array(1).astype(dtype))).dtype == dtype


def test_four_bit_integers() -> None:
    int4 = np.dtype(pytest.importorskip("ml_dtypes").int4)
    x = put(np.array([-8, -1, 0, 7]).astype(int4))
    assert np.asarray(p.add_p.bind(x, put(np.array(1).astype(int4)))).astype(int).tolist() == [-7, 0, 1, -8]
    assert np.asarray(p.not_p.bind(x)).astype(int).tolist() == [7, 0, -1, -8]
    packed = p.bitcast_convert_type_p.bind(put(np.array([[1, -2]]).astype(int4)), new_dtype=np.dtype("int8"))
    check(packed, [np.array(0xE1, "uint8").astype("int8")], "int8")
    unpacked = p.bitcast_convert_type_p.bind(packed, new_dtype=int4)
    assert np.asarray(unpacked).astype(int).tolist() == [[1, -2]]


# --- beside JAX ----------------------------------------------------------------------------------------------------

UNARY = [
    "sign",
    "abs",
    "floor",
    "ceil",
    "exp",
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
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
]
BINARY = ["add", "sub", "mul", "div", "rem", "max", "min", "atan2", "nextafter", "pow"]


def _floats() -> np.ndarray:
    special = [0.0, -0.0, 1, -1, INF, -INF, NAN, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-3, 3e4, 60.5, -60.5]
    return np.array([*special, *np.random.default_rng(0).normal(size=16) * 3], "float32")


def _agree(mine: Any, reference: Any) -> None:
    mine, reference = np.asarray(mine), np.asarray(reference)
    assert mine.dtype == reference.dtype
    np.testing.assert_allclose(mine, reference, rtol=2e-6, atol=1e-37)
    zero = mine == 0
    assert np.array_equal(np.signbit(mine[zero]), np.signbit(reference[zero]))


@pytest.mark.parametrize("name", UNARY)
def test_as_jax_on_one_operand(name: str) -> None:
    lax = pytest.importorskip("jax.lax")
    x = _floats()
    _agree(getattr(p, f"{name}_p").bind(put(x)), getattr(lax, name)(x))


@pytest.mark.parametrize("name", BINARY)
def test_as_jax_on_two_operands(name: str) -> None:
    lax = pytest.importorskip("jax.lax")
    x = _floats()
    for y in (np.roll(x, 5), np.roll(x, 11)):
        _agree(getattr(p, f"{name}_p").bind(put(x), put(y)), getattr(lax, name)(x, y))


@pytest.mark.parametrize("bits", [(5, 10), (8, 7), (4, 3), (2, 1), (8, 0)])
def test_reduced_precision_as_jax(bits: tuple[int, int]) -> None:
    lax = pytest.importorskip("jax.lax")
    x = np.concatenate([_floats(), np.random.default_rng(1).normal(size=200).astype("float32") ** 9])
    exponent_bits, mantissa_bits = bits
    mine = p.reduce_precision_p.bind(put(x), exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)
    same(mine, lax.reduce_precision(x, exponent_bits, mantissa_bits))


def test_nothing_warns() -> None:
    x = put(_floats())
    operations: list[Callable[[], Any]] = [lambda n=name: getattr(p, f"{n}_p").bind(x) for name in UNARY]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for operation in operations:
            operation()


# --- threads -------------------------------------------------------------------------------------------------------


def draws(*shape: int, dtype: Any = "float32") -> np.ndarray:
    """Normal numbers, some of them equal or 0, with an infinity and a NaN."""
    x = np.random.default_rng(sum(shape)).normal(size=shape)
    x = np.round(x, 2) if np.dtype(dtype).kind in "fc" else np.round(100 * x)
    return x.astype(dtype)


def places(count: int, below: int, least: int = 0) -> np.ndarray:
    return np.random.default_rng(count).integers(least, below, count).astype("int32")


PARTED: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "cumsum": (tnp.cumsum, (draws(300_001),)),
    "cumsum of float64": (tnp.cumsum, (draws(200_000, dtype="float64"),)),
    "cumsum along axis 0": (lambda x: tnp.cumsum(x, 0), (draws(1_500, 301),)),
    "cumsum of few rows": (lambda x: tnp.cumsum(x, 0), (draws(701, 301),)),
    "cumsum of planes": (lambda x: tnp.cumsum(x, 1), (draws(5, 1_100, 70),)),
    "cumlogsumexp": (tangrad.lax.cumlogsumexp, (draws(70, 1_001),)),
    "gather": (lambda x, i: x[i], (draws(1_000), places(100_003, 1_000))),
    "gather of rows": (lambda x, i: x[i], (draws(1_000, 3, dtype="complex64"), places(50_000, 1_000))),
    "gather out of bounds": (lambda x, i: x[i], (draws(1_000), places(50_000, 1_010, -1_005))),
    "transposed": (lambda x: x + x.T, (draws(1_100, 1_100),)),
    "searchsorted": (tnp.searchsorted, (np.linspace(-3, 3, 1_000, dtype="float32"), draws(200_000))),
    "bincount": (lambda i: tnp.bincount(i, length=100), (places(200_001, 110, -3),)),
    "histogram": (lambda x: tnp.histogram(x, 10)[0], (draws(150_001),)),
    "softmax": (tangrad.nn.softmax, (draws(1_030, 300),)),
    "gradient of a softmax": (
        tangrad.grad(lambda x: tnp.sum(tangrad.nn.softmax(x) ** 2)),
        (draws(1_030, 300),),
    ),
    "gradient of normalised rows": (
        tangrad.grad(lambda x, y: tnp.sum(tangrad.nn.standardize(x) * y * y), 1),
        (draws(2, 1_030, 300), draws(300)),
    ),
    "variances of columns": (lambda x: tnp.var(x, 0), (draws(1_501, 401),)),
    "greatest of columns": (lambda x: tnp.max(x, (0, 1)), (draws(30, 101, 300, dtype="int32"),)),
    "square": (lambda x: x / tnp.sum(abs(x), 1, keepdims=True) + tnp.sum(x, 1), (draws(1_000, 1_000),)),
    "products of rows": (
        lambda x, y: x * tnp.sum(x * y, (1, 2), keepdims=True) - tnp.sum(-y, (1, 2), keepdims=True),
        (draws(301, 5, 101), draws(301, 5, 101)),
    ),
    "softmax with a mask": (lambda x, y: tangrad.nn.softmax(x * 0.2 + y), (draws(2, 301, 300), draws(301, 300))),
    "rows with a mask": (lambda x, y: y + tnp.max(x * 2, -1, keepdims=True), (draws(4, 301, 300), draws(301, 300))),
    "uniform": (lambda: tangrad.random.uniform(tangrad.random.key(3), (300_003,)), ()),
    "normal": (lambda: tangrad.random.normal(tangrad.random.key(3), (633, 633)), ()),
    "bits": (lambda: tangrad.random.bits(tangrad.random.key(3), (400_000,), "uint8"), ()),
    "fft": (tnp.fft.fft, (draws(7, 20_000, dtype="complex64"),)),
    "fft along axis 0": (lambda x: tnp.fft.fft(x, axis=0), (draws(400, 401),)),
    "fft of more": (lambda x: tnp.fft.ifft(x, 500), (draws(400, 401, dtype="complex128"),)),
    "rfft2": (tnp.fft.rfft2, (draws(3, 300, 201),)),
    "rfftn": (lambda x: tnp.fft.rfftn(x, (20, 90, 31)), (draws(3, 20, 100, 30, dtype="float64"),)),
    "irfft2": (lambda x: tnp.fft.irfft2(x, (300, 501)), (draws(300, 251, dtype="complex64"),)),
    "fft2": (tnp.fft.fft2, (draws(600, 300, dtype="complex64"),)),
}


@pytest.fixture
def numpy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fft, "_scipy", lambda: None)


@pytest.mark.parametrize("name", PARTED)
def test_results_do_not_depend_on_the_number_of_threads(name: str, numpy_alone: None) -> None:
    function, arguments = PARTED[name]
    with tangrad.enable_x64(True):
        run = tangrad.jit(function, backend="numpy")
        with threads.numpy_threads(1):
            alone = np.asarray(run(*arguments))
        for count in (2, 3):
            with threads.numpy_threads(count):
                assert np.asarray(run(*arguments)).tobytes() == alone.tobytes()


@pytest.mark.parametrize("transform", ["fft2", "ifft2", "rfft2", "fft", "rfft"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_transforms_in_threads_are_numpys(transform: str, dtype: str, numpy_alone: None) -> None:
    if transform.startswith("r") and dtype.startswith("c"):
        dtype = "float32"
    x = draws(3, 301, 256, dtype=dtype)
    x = x if transform.startswith("r") else x.astype(np.result_type(dtype, "complex64"))
    with tangrad.enable_x64(True), threads.numpy_threads(3):
        found = tangrad.jit(getattr(tnp.fft, transform), backend="numpy")(x)
    same(found, getattr(np.fft, transform)(x))


def test_threads_that_compute_at_once_share_the_pool() -> None:
    run, x = tangrad.jit(tnp.cumsum, backend="numpy"), np.linspace(0, 1, 300_001, dtype="float32")
    expected, found = np.asarray(run(x)).tobytes(), []

    def compute() -> None:
        with threads.numpy_threads(3):
            found.extend([np.asarray(run(x)).tobytes() == expected for _ in range(5)])

    callers = [threading.Thread(target=compute) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [True] * 20


FORKING = """
import os
from tangrad._backend_numpy import blocks, threads

def parts_done():
    done = []
    with threads.numpy_threads(3):
        threads.share(done.extend, range(9))
    return len(done)

assert parts_done() == 9
child = os.fork()
if child == 0:
    os._exit(parts_done())
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX's")
def test_a_child_of_fork_starts_threads_of_its_own() -> None:
    subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING], check=True, timeout=300)


def test_blocks_of_rows_compute_what_whole_arrays_give(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PARTED:
        function, arguments = PARTED[name]
        if arguments and arguments[0].dtype.kind == "f":
            found = np.asarray(tangrad.jit(function, backend="numpy")(*arguments))
            with monkeypatch.context() as patch:
                patch.setattr(blocks, "LARGE", 1 << 60)
                whole = np.asarray(tangrad.jit(lambda *x, f=function: f(*x), backend="numpy")(*arguments))
            scale = np.abs(whole[np.isfinite(whole)]).max()
            np.testing.assert_allclose(found, whole, 1e-5, 1e-6 * scale)


@pytest.mark.parametrize("shape", [(20_011,), (70, 1_000)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_totals_have_no_more_than_a_rounding_or_two(shape: tuple[int, ...], dtype: str) -> None:
    x = np.full(shape, 0.1, dtype)
    with tangrad.enable_x64(True):
        cumsum = tangrad.jit(lambda x: tnp.cumsum(x, 0), backend="numpy")
        exact = x[0] * np.arange(1, shape[0] + 1, dtype="longdouble").reshape(-1, *[1] * (len(shape) - 1))
        np.testing.assert_allclose(np.asarray(cumsum(x)), exact + np.zeros(shape), 16 * np.finfo(dtype).eps)
        x[50], x[60] = np.inf, -np.inf
        found = np.asarray(cumsum(x))
    assert np.isfinite(found[:50]).all() and (found[50:60] == np.inf).all() and np.isnan(found[60:]).all()


@pytest.mark.parametrize("size", [40, 1_100])
def test_running_totals_of_wide_rows_take_little_memory(size: int) -> None:
    x = np.full((size, 140_000 if size < 1_000 else 33_000), 0.1, "float32")
    tracemalloc.start()
    found = running.running_totals(np.add, x, 0, x.dtype)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.6 * x.nbytes + (8 << 20)
    np.testing.assert_allclose(found[:, ::1_000], np.cumsum(x[:, ::1_000], 0, "float64"), 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("shape", [(301, 3), (5, 130, 4, 2), (400, 20)])
def test_differences_of_pairs_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    def pairs(x: Any) -> Any:
        apart = x[..., None, :] - x[..., None, :, :]
        return (apart * (apart[..., :1] > 0)).sum(-2), x[:1] * x + apart.sum(-3)[..., :1]

    x = draws(*shape, dtype=dtype)
    with tangrad.enable_x64(True):
        found = tangrad.jit(pairs, backend="numpy")(x)
    for result, expected in zip(found, pairs(x.astype("float64")), strict=True):
        size = np.abs(expected).max() * max(np.finfo(dtype).eps if dtype[0] == "f" else 0, 1e-7)
        np.testing.assert_allclose(np.asarray(result, "float64"), expected, rtol=0, atol=10 * size)


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64"])
def test_short_rows_side_by_side_are_numpys(dtype: str) -> None:
    x, y = draws(70, 80, 3, dtype=dtype), draws(80, 70, 3, dtype=dtype).swapaxes(0, 1)
    for axis in (-1, -2):
        found = tangrad.jit(lambda x, y, axis=axis: tnp.concatenate((x, y, x), axis), backend="numpy")(x, y)
        same(found, np.concatenate((x, y, x), axis))


def test_constants_of_rows_are_those_of_their_rows() -> None:
    of_rows, x = np.arange(70, dtype="float32").reshape(70, 1, 1), draws(8, 70, 50, 20)

    def function(x: Any) -> Any:
        return x[:, :, 1:] * of_rows + x[:, :, :-1] * (of_rows - 3)

    assert "share(" in tangrad.jit(function, backend="numpy").lower(x).compile().as_text()
    same(tangrad.jit(function, backend="numpy")(x), function(x))


@pytest.mark.parametrize("least", [0, -1_000])
def test_places_count_from_the_end_where_they_are_negative(least: int) -> None:
    x, at = draws(1_000), places(5_000, 1_000, least)
    wrap = tangrad.jit(lambda x, at: (x[at], tnp.where(at < 0, at + 1_000, at), x.at[at].add(1.0)), backend="numpy")
    found = wrap(x, at)
    same(found[0], x[at])
    same(found[1], np.where(at < 0, at + 1_000, at))
    same(found[2], x + np.bincount(at % 1_000, minlength=1_000).astype("float32"))
    np.testing.assert_array_equal(at, places(5_000, 1_000, least))


def test_places_are_wrapped_to_the_shape_of_all_operands() -> None:
    numbers, zeros = np.arange(5_000, dtype="int32"), np.zeros(5_000, "int32")
    wraps = tangrad.jit(
        lambda i: (tnp.where(i < zeros, i + numbers, i), tnp.where(i < 0, i + numbers, i)), backend="numpy"
    )
    for place in (3, -3):
        for result in wraps(place):
            same(result, place + numbers if place < 0 else np.full(5_000, place, "int32"))
