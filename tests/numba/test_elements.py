"""Elementwise primitives in compiled loops: the results of the ordinary code, at special values too."""

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tests.numba.support import check, values_of

pytest.importorskip("numba", reason="numba is not installed: loops run in the ordinary code")

ONE = {
    "f": "abs neg sign floor ceil is_finite round exp exp2 log log1p expm1 logistic sqrt rsqrt cbrt square sin cos tan "
    "asin acos atan sinh cosh tanh asinh acosh atanh erf erfc lgamma",
    "i": "abs neg sign square bitwise_not",
    "u": "sign neg square bitwise_not",
    "b": "bitwise_not",
}
TWO = {
    "f": "add sub mul div rem max min atan2 pow eq ne lt le gt ge",
    "i": "add sub mul div rem max min eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor shift_left "
    "shift_right_logical shift_right_arithmetic",
    "b": "bitwise_and bitwise_or bitwise_xor eq ne max min",
}
TWO["u"] = TWO["i"]
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


def every_function(dtype, names):
    """A loop over pairs of numbers, whose body applies everything."""
    kind = np.dtype(dtype).kind

    def body(carry, pair):
        x, y = pair
        results = [getattr(lax, name)(x) for name in ONE[kind].split() if name in names]
        results += [getattr(lax, name)(x, y) for name in TWO[kind].split() if name in names]
        return carry, tuple(results)

    return lambda xs, ys: lax.scan(body, 0, (xs, ys))[1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_one_and_two_numbers(dtype):
    with tangrad.enable_x64():
        values = values_of(dtype)
        xs, ys = [np.ascontiguousarray(grid) for grid in np.meshgrid(values, values, indexing="ij")]
        kind = np.dtype(dtype).kind
        names = set(ONE[kind].split()) | set(TWO[kind].split())
        check(every_function(dtype, names), xs, ys, tolerance=3e-6 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions(dtype):
    with tangrad.enable_x64():
        values = values_of(dtype)
        if values.dtype.kind == "f":
            values = np.concatenate([values, np.array([2.0**31, 2.0**63, -(2.0**63), 2.0**64, 254.9, 255.5], dtype)])

        def body(carry, x):
            converted = [lax.convert_element_type(x, other) for other in DTYPES]
            return carry, (converted, lax.select(converted[0], x, x * 0 if x.dtype != bool else ~x))

        check(lambda xs: lax.scan(body, 0, xs)[1], values[:, None])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_powers_clamps_and_choices(dtype):
    with tangrad.enable_x64():
        values = values_of(dtype)

        def body(carry, pair):
            x, y = pair
            powers = [lax.integer_pow(x, n) for n in (0, 1, 2, 3, 7)]
            return carry + 1, (
                powers,
                lax.clamp(x, y, x + 1),
                lax.select_n(x > y, x, y),
                lax.select_n(np.int32(2) - carry % 3, x, y, x - y),
            )

        xs, ys = [np.ascontiguousarray(grid) for grid in np.meshgrid(values, values)]
        check(lambda xs, ys: lax.scan(body, np.int32(0), (xs, ys))[1], xs, ys)
