"""Functions of one element that generated code calls. What is written out here the compiler makes vectors of.

Functions of float32 are computed in double precision, so that their polynomials may be short and their results are a
rounding off. The coefficients of sine and cosine are those of FreeBSD's `k_sinf.c` and `k_cosf.c`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils
from numba.extending import intrinsic

from tangrad._numba.loops import FAR

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangrad.core import Array

_plain: Any = njit(error_model="numpy")
_sums: Any = njit(error_model="numpy", fastmath={"reassoc", "nsz"})  # the order of a sum is open
_close: Any = njit(
    error_model="numpy", fastmath={"contract"}
)  # products and sums in one rounding where there is such an instruction


def _llvm(name: str) -> Any:
    """One of LLVM's functions of a floating-point number."""

    @intrinsic
    def call(context: object, x: Any) -> Any:
        def generate(context: object, builder: Any, signature: object, arguments: Any) -> Any:
            kind = arguments[0].type
            width = "f32" if isinstance(kind, ir.FloatType) else "f64"
            function_type = ir.FunctionType(kind, [kind])
            function = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.{name}.{width}")
            return builder.call(function, arguments)

        return x(x), generate

    return call


_rint, _floor, _ceil, _fabs, _sqrt = [_llvm(name) for name in ("rint", "floor", "ceil", "fabs", "sqrt")]


# --- sums and integers ----------------------------------------------------------------------------------------------


@_sums
def plus(x: float, y: float) -> float:
    return x + y


@_plain
def quotient(x: float, y: float) -> float:
    """Rounded to zero; -1 for a division by zero."""
    if y == 0:
        return -1
    if y == -1:
        return -x
    whole = x // y
    return whole + 1 if whole < 0 and whole * y != x else whole


@_plain
def remainder(x: float, y: float) -> float:
    """With the sign of `x`; `x` itself for a division by zero."""
    if y == 0:
        return x
    if y == -1:
        return 0
    rest = x % y
    return rest - y if rest != 0 and (rest < 0) != (x < 0) else rest


def _whole(low: int, high: int) -> Callable[[float], float]:
    least, most = float(low), float(high)

    @_plain
    def whole(x: float) -> float:
        x = 0.0 if x != x else x
        return min(max(x, least), most)

    return whole


@_plain
def whole_i8(x: float) -> np.int64:
    if x != x:
        return np.int64(0)
    if x >= 9.223372036854775807e18:
        return np.int64(9223372036854775807)
    if x <= -9.223372036854775808e18:
        return np.int64(-9223372036854775808)
    return np.int64(x)


@_plain
def whole_u8(x: float) -> np.uint64:
    if not x > 0.0:
        return np.uint64(0)
    if x >= 1.8446744073709551615e19:
        return np.uint64(18446744073709551615)
    return np.uint64(x)


# --- float32 in double precision ------------------------------------------------------------------------------------


@_close
def _turned(x: float, turn: int) -> float:
    """sin(x + turn pi / 2), for |x| < FAR."""
    n = _rint(x * 0.63661977236758134308)
    r = (x - n * 1.57079631090164184570) - n * 1.58932547735281966916e-08
    q = np.int32(n) + np.int32(turn)
    z = r * r
    w = z * z
    s = (r + (z * r) * (-0.166666666416265235595 + z * 0.0083333293858894631756)) + (z * r) * w * (
        -0.000198393348360966317347 + z * 0.0000027183114939898219064
    )
    c = ((1.0 + z * -0.499999997251031003120) + w * 0.0416666233237390631894) + (w * z) * (
        -0.00138867637746099294692 + z * 0.0000243904487962774090654
    )
    value = c if (q & np.int32(1)) != 0 else s
    return -value if (q & np.int32(2)) != 0 else value


@_plain
def near_sin_f4(x: float) -> np.float32:
    return np.float32(_turned(np.float64(x), 0))


@_plain
def near_cos_f4(x: float) -> np.float32:
    return np.float32(_turned(np.float64(x), 1))


@_plain
def sin_f4(x: float) -> np.float32:
    return near_sin_f4(x) if _fabs(x) < FAR else np.float32(math.sin(np.float64(x)))


@_plain
def cos_f4(x: float) -> np.float32:
    return near_cos_f4(x) if _fabs(x) < FAR else np.float32(math.cos(np.float64(x)))


@_close
def _power_of_e(x: float) -> tuple[float, int]:
    """exp(x), to 1e-11: zero below -150, infinite above 150 once it is float32."""
    x = 150.0 if x > 150.0 else (-150.0 if x < -150.0 else x)  # NaN stays
    n = _rint(x * 1.4426950408889634074)
    r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10
    p = 1.0 + r * (
        1.0
        + r
        * (
            0.5
            + r
            * (
                0.16666666666666666
                + r
                * (
                    0.041666666666666664
                    + r
                    * (
                        0.008333333333333333
                        + r * (0.001388888888888889 + r * (0.0001984126984126984 + r * 2.48015873015873e-05))
                    )
                )
            )
        )
    )
    bits = np.int64((np.int64(np.int32(n)) + np.int64(1023)) << np.int64(52))
    return p * bits.view(np.float64)


@_plain
def exp_f4(x: float) -> np.float32:
    return np.float32(_power_of_e(np.float64(x)))


@_plain
def exp2_f4(x: float) -> np.float32:
    return np.float32(_power_of_e(np.float64(x) * 0.693147180559945309417))


@_plain
def logistic_f4(x: float) -> np.float32:
    return np.float32(1.0 / (1.0 + _power_of_e(-np.float64(x))))


@_plain
def tanh_f4(x: float) -> np.float32:
    given = np.float64(x)
    wide = 20.0 if given > 20.0 else (-20.0 if given < -20.0 else given)
    power = _power_of_e(2.0 * wide)
    near = wide * (1.0 - wide * wide * 0.3333333333333333)
    return np.float32(near if abs(wide) < 1e-3 else (power - 1.0) / (power + 1.0))


@_plain
def power_3_2(x: float) -> np.float32:
    """x ** -1.5."""
    wide = np.float64(x)
    return np.float32(1.0 / (wide * _sqrt(wide))) if wide > 0.0 else np.float32(math.pow(wide, -1.5))


# --- both floating types --------------------------------------------------------------------------------------------


@_plain
def _away(x: float) -> float:
    """To the nearest whole number, halves away from zero."""
    size = _fabs(x)
    whole = _floor(size)
    return math.copysign(whole + (1.0 if size - whole >= 0.5 else 0.0), x)


@_plain
def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


@_plain
def _rsqrt(x: float) -> float:
    return 1.0 / _sqrt(x)


@_plain
def _cbrt(x: float) -> object:
    return np.cbrt(x)


@_plain
def _exp2(x: float) -> object:
    return np.exp2(x)


@_plain
def _fmod(x: float | Array, y: float | Array) -> object:
    return np.fmod(x, y)


@_plain
def _log2(x: float) -> object:
    return np.log2(x)


@_plain
def _log10(x: float) -> object:
    return np.log10(x)


def _in_double(function: Callable[..., float]) -> dict[str, object]:
    """A function of one or two numbers, for each floating type: of float32 in double precision."""

    @_plain
    def single(x: float) -> np.float32:
        return np.float32(function(np.float64(x)))

    @_plain
    def double(x: float) -> np.float64:
        return np.float64(function(x))

    return {"f4": single, "f8": double}


def _of_two(function: Callable[..., float]) -> dict[str, object]:
    @_plain
    def single(x: float, y: float) -> np.float32:
        return np.float32(function(np.float64(x), np.float64(y)))

    @_plain
    def double(x: float, y: float) -> object:
        return function(x, y)

    return {"f4": single, "f8": double}


def _clamps(kind: Callable[[float], float]) -> object:
    @_plain
    def clamp(low: float, x: float, high: float) -> float:
        if low != low or x != x or high != high:
            return kind(np.nan)
        x = low if x < low else x
        return high if x > high else x

    return clamp


_OF_MATH = "exp log expm1 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc lgamma"
_OF_ONE = {
    **{name: getattr(math, name) for name in _OF_MATH.split()},
    "away": _away,
    "logistic": _logistic,
    "rsqrt": _rsqrt,
    "cbrt": _cbrt,
    "exp2": _exp2,
    "log2": _log2,
    "log10": _log10,
}
_EXACT = {"rint": _rint, "floor": _floor, "ceil": _ceil, "fabs": _fabs, "sqrt": _sqrt}


def namespace() -> dict[str, object]:
    """What generated code may name."""
    codes = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
    names: dict[str, Any] = {code: np.dtype(code).type for code in codes}
    names |= {"b1": np.bool_, "nan": math.nan, "inf": math.inf}
    for name, function in _OF_ONE.items():
        names |= {f"{name}_{code}": made for code, made in _in_double(function).items()}
    for name, function in (("atan2", math.atan2), ("pow", math.pow), ("fmod", _fmod)):
        names |= {f"{name}_{code}": made for code, made in _of_two(function).items()}
    names |= {f"{name}_{code}": function for name, function in _EXACT.items() for code in ("f4", "f8")}
    names |= {f"clamp_{code}": _clamps(names[code]) for code in ("f4", "f8")}
    for code in codes[:8]:
        limits = np.iinfo(code)
        names[f"whole_{code}"] = _whole(int(limits.min), int(limits.max))
    own = (
        plus,
        quotient,
        remainder,
        whole_i8,
        whole_u8,
        near_sin_f4,
        near_cos_f4,
        sin_f4,
        cos_f4,
        exp_f4,
        exp2_f4,
        logistic_f4,
        tanh_f4,
        power_3_2,
    )
    return names | {function.__name__: function for function in own}
