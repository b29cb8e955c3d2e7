"""The elementwise primitives in NumPy, with XLA's semantics where the two differ.

They differ in division and remainder of integers, in shifts and conversions out of range, in the sign of -0.0, and in
narrow dtypes. Everything else is a ufunc.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy import kernels
from tangrad._backend_numpy.bounds import maximum, minimum
from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import ufunc
from tangrad._backend_numpy.whole_results import cube_root, exact_if_whole, exp2
from tangrad.core import RuleSet, dtypes
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)
composed = partial(kernels.composed, any_sizes=True)
FLOAT32 = np.dtype("float32")

lower.table(
    {
        # signs and rounding
        p.neg_p: ufunc(np.negative),
        p.abs_p: ufunc(np.absolute),
        p.floor_p: ufunc(np.floor),
        p.ceil_p: ufunc(np.ceil),
        p.is_finite_p: ufunc(np.isfinite),
        # functions of one variable
        p.exp_p: ufunc(np.exp),
        p.log_p: ufunc(np.log),
        p.log2_p: ufunc(np.log2),
        p.sqrt_p: ufunc(np.sqrt),
        p.square_p: ufunc(np.square),
        p.sin_p: ufunc(np.sin),
        p.cos_p: ufunc(np.cos),
        p.tan_p: ufunc(np.tan),
        p.asin_p: ufunc(np.arcsin),
        p.acos_p: ufunc(np.arccos),
        p.atan_p: ufunc(np.arctan),
        p.sinh_p: ufunc(np.sinh),
        p.cosh_p: ufunc(np.cosh),
        p.tanh_p: ufunc(np.tanh),
        p.asinh_p: ufunc(np.arcsinh),
        p.acosh_p: ufunc(np.arccosh),
        p.atanh_p: ufunc(np.arctanh),
        # arithmetic
        p.add_p: ufunc(np.add),
        p.sub_p: ufunc(np.subtract),
        p.mul_p: ufunc(np.multiply),
        p.max_p: kernels.Kernel(maximum, any_sizes=True),
        p.min_p: kernels.Kernel(minimum, any_sizes=True),
        p.nextafter_p: ufunc(np.nextafter),
        # bits; NumPy's shifts know amounts beyond the width
        p.not_p: ufunc(np.invert),
        p.and_p: ufunc(np.bitwise_and),
        p.or_p: ufunc(np.bitwise_or),
        p.xor_p: ufunc(np.bitwise_xor),
        p.shift_left_p: ufunc(np.left_shift),
        # comparisons
        p.lt_p: ufunc(np.less),
        p.le_p: ufunc(np.less_equal),
        p.gt_p: ufunc(np.greater),
        p.ge_p: ufunc(np.greater_equal),
    }
)


def _is(dtype: np.dtype, kind: type) -> bool:
    return dtypes.issubdtype(dtype, kind)


def _signed(dtype: np.dtype) -> np.dtype:
    return dtypes.as_dtype(f"int{dtypes.bit_width(dtype)}")


def _unsigned(dtype: np.dtype) -> np.dtype:
    return dtypes.as_dtype(f"uint{dtypes.bit_width(dtype)}")


# --- signs and rounding ---


@composed(lower, p.sign_p)
def _(ctx: Lowering, x: Value) -> Value:
    if _is(x.dtype, np.complexfloating) and not hasattr(np, "bitwise_count"):  # NumPy 1: the sign of the real part
        size, zero = ctx.absolute(x), ctx.full((), 0, x.dtype)
        return ctx.where(ctx.equal(size, 0), zero, ctx.divide(x, ctx.cast(size, x.dtype)))
    result = ctx.sign(x)
    return ctx.copysign(result, x) if _is(x.dtype, np.floating) else result  # NumPy's sign of -0.0 is 0.0


@composed(lower, p.round_p)
def _(ctx: Lowering, x: Value, *, rounding_method: p.RoundingMethod) -> Value:
    if rounding_method is p.RoundingMethod.TO_NEAREST_EVEN:
        return ctx.rint(x)
    magnitude = ctx.absolute(x)
    whole = ctx.floor(magnitude)
    # x + 0.5 would be rounded itself; the difference is exact
    up = ctx.cast(ctx.greater_equal(ctx.subtract(magnitude, whole), 0.5), x.dtype)
    return ctx.copysign(ctx.add(whole, up), x)


# --- functions of one variable ---


def _exact(name: str, **instead: Callable[[Any], object]) -> kernels.Kernel:
    """NumPy's ufunc, and functions for dtypes in which its results are a rounding off where they are whole."""

    def emit(ctx: Lowering, x: Value) -> Value:
        exact = instead.get(x.dtype.name)
        return getattr(ctx, name)(x) if exact is None else ctx.call(exact, x, nature=kernels.ELEMENTWISE)

    return kernels.Kernel(emit, any_sizes=True)


_exp2 = _exact("exp2", float32=exp2)
lower.table(
    {
        p.cbrt_p: _exact("cbrt", float32=exact_if_whole(np.cbrt), float64=cube_root),
        p.log10_p: _exact("log10", float32=exact_if_whole(np.log10)),
    }
)


@composed(lower, p.exp2_p)
def _(ctx: Lowering, x: Value) -> Value | tuple[Value, ...]:
    if not _is(x.dtype, np.complexfloating):
        return _exp2(ctx, x)
    # Each part alone: a product of complex numbers would make NaN of infinities.
    real, imaginary = [ctx.multiply(part, math.log(2)) for part in (ctx.real(x), ctx.imag(x))]
    return ctx.exp(_complex(ctx, real, imaginary))


@composed(lower, p.expm1_p)
def _(ctx: Lowering, x: Value) -> Value:
    if not _is(x.dtype, np.complexfloating):
        return ctx.expm1(x)
    # Near 0 from expm1(a) and 1 - cos b = 2 sin²(b/2). Elsewhere it is the exponential, which knows infinities and NaN.
    a, b = ctx.real(x), ctx.imag(x)
    power = ctx.exp(x)
    lowered = ctx.subtract(0, ctx.multiply(ctx.square(ctx.sin(ctx.multiply(b, 0.5))), 2))
    near = ctx.add(ctx.multiply(ctx.expm1(a), ctx.cos(b)), lowered)
    small = ctx.less(ctx.absolute(a), 0.5)
    return _complex(ctx, ctx.where(small, near, ctx.subtract(ctx.real(power), 1)), ctx.imag(power))


@composed(lower, p.log1p_p)
def _(ctx: Lowering, x: Value) -> Value:
    if not _is(x.dtype, np.complexfloating):
        return ctx.log1p(x)
    # log|1 + x| = log1p(a (2 + a) + b²) / 2 near 0, where NumPy's own loses all digits
    a, b = ctx.real(x), ctx.imag(x)
    near = ctx.multiply(ctx.log1p(ctx.add(ctx.multiply(a, ctx.add(a, 2)), ctx.square(b))), 0.5)
    far = ctx.log(ctx.hypot(ctx.add(a, 1), b))
    small = ctx.less(ctx.maximum(ctx.absolute(a), ctx.absolute(b)), 0.5)
    return _complex(ctx, ctx.where(small, near, far), ctx.arctan2(b, ctx.add(a, 1)))


@composed(lower, p.logistic_p)
def _(ctx: Lowering, x: Value) -> Value:
    return ctx.divide(1, ctx.add(ctx.exp(ctx.negative(x)), 1))


@composed(lower, p.rsqrt_p)
def _(ctx: Lowering, x: Value) -> Value:
    return ctx.divide(1, ctx.sqrt(x))


@composed(lower, p.integer_pow_p)
def _(ctx: Lowering, x: Value, *, y: int) -> Value:
    exponent, power, result = abs(y), x, None
    while exponent:
        if exponent & 1:
            result = power if result is None else ctx.multiply(result, power)
        exponent >>= 1
        if exponent:
            power = ctx.multiply(power, power)
    if result is None:
        return ctx.full(x.shape, 1, x.dtype)
    return ctx.divide(1, result) if y < 0 else result


# --- complex parts ---


@composed(lower, p.real_p)
def _(ctx: Lowering, x: Value) -> Value:
    return ctx.real(x)


@composed(lower, p.imag_p)
def _(ctx: Lowering, x: Value) -> Value:
    return ctx.imag(x)


@composed(lower, p.conj_p)
def _(ctx: Lowering, x: Value) -> Value:
    if _is(x.dtype, np.complexfloating):
        return ctx.conjugate(x)
    return _complex(ctx, x, ctx.full(x.shape, 0, x.dtype))


@composed(lower, p.complex_p)
def _complex(ctx: Lowering, x: Value, y: Value) -> Value:
    return ctx.call(_joined, x, y, nature="elementwise", like=ctx.out_aval)


def _joined(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x + iy. As a sum, `1j * y` would make NaNs of infinities."""
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x.dtype, np.complex64))
    out.real = x
    out.imag = y
    return out


# --- arithmetic ---


@composed(lower, p.div_p)
def _(ctx: Lowering, x: Value, y: Value) -> Value:
    if not _is(x.dtype, np.integer):
        return ctx.divide(x, y)
    if _is_one_above_zero(y):
        return _quotient(ctx, x, y)
    by_zero = ctx.equal(y, 0)
    if _is(x.dtype, np.unsignedinteger):
        quotient = ctx.floor_divide(x, y)
        return ctx.where(by_zero, ctx.full(x.shape, dtypes.iinfo(x.dtype).max, x.dtype), quotient)
    # Without the remainder the division is exact, so that rounding down is rounding to zero.
    quotient = ctx.floor_divide(ctx.subtract(x, _remainder(ctx, x, y)), y)
    return ctx.where(by_zero, -1, quotient)


@composed(lower, p.rem_p)
def _(ctx: Lowering, x: Value, y: Value) -> Value:
    if not _is(x.dtype, np.integer):
        return ctx.fmod(x, y)
    if _is_one_above_zero(y):
        return ctx.subtract(x, ctx.multiply(_quotient(ctx, x, y), y))
    return ctx.where(ctx.equal(y, 0), x, _remainder(ctx, x, y))


def _is_one_above_zero(y: Value) -> bool:
    """Which NumPy divides by with vectors."""
    return y.constant is not None and y.constant.size == 1 and bool(y.constant > 0)


def _quotient(ctx: Lowering, x: Value, y: Value) -> Value:
    """Towards 0: what is below 0 is rounded down when one less than the divisor has been added."""
    if _is(x.dtype, np.signedinteger):
        x = ctx.add(x, ctx.bitwise_and(ctx.right_shift(x, dtypes.iinfo(x.dtype).bits - 1), ctx.subtract(y, 1)))
    return ctx.floor_divide(x, y)


def _remainder(ctx: Lowering, x: Value, y: Value) -> Value:
    if _is(x.dtype, np.unsignedinteger):
        return ctx.fmod(x, y)
    # x % -1 is 0, and a trap of the processor for the least x
    return ctx.fmod(x, ctx.where(ctx.equal(y, -1), 1, y))


@composed(lower, p.atan2_p)
def _(ctx: Lowering, x: Value, y: Value) -> Value:
    if not _is(x.dtype, np.complexfloating):
        return ctx.arctan2(x, y)
    radius = ctx.sqrt(ctx.add(ctx.square(x), ctx.square(y)))
    return ctx.multiply(-1j, ctx.log(ctx.divide(ctx.add(y, ctx.multiply(x, 1j)), radius)))


@composed(lower, p.pow_p)
def _(ctx: Lowering, x: Value, y: Value) -> Value:
    return ctx.power(x, _converted(ctx, y, x.dtype))


@composed(lower, p.mulhi_p)
def _(ctx: Lowering, x: Value, y: Value) -> Value:
    width = dtypes.bit_width(x.dtype)
    if width == 64:
        return _high_half(ctx, x, y)
    wide = np.dtype("int64" if _is(x.dtype, np.signedinteger) else "uint64")
    product = ctx.multiply(ctx.cast(x, wide), ctx.cast(y, wide))
    return ctx.cast(ctx.right_shift(product, width), x.dtype)


def _high_half(ctx: Lowering, x: Value, y: Value) -> Value:
    """Of the product of 64-bit integers, by halves of 32 bits."""
    unsigned = np.dtype("uint64")
    a, b = ctx.bitcast(x, unsigned), ctx.bitcast(y, unsigned)
    low = 0xFFFFFFFF
    a_low, a_high = ctx.bitwise_and(a, low), ctx.right_shift(a, 32)
    b_low, b_high = ctx.bitwise_and(b, low), ctx.right_shift(b, 32)
    middle = ctx.add(ctx.multiply(a_high, b_low), ctx.right_shift(ctx.multiply(a_low, b_low), 32))
    other = ctx.add(ctx.multiply(a_low, b_high), ctx.bitwise_and(middle, low))
    high = ctx.add(ctx.multiply(a_high, b_high), ctx.add(ctx.right_shift(middle, 32), ctx.right_shift(other, 32)))
    if _is(x.dtype, np.signedinteger):  # a negative factor was taken 2^64 too large
        zero = ctx.full((), 0, unsigned)
        high = ctx.subtract(high, ctx.where(ctx.less(x, 0), b, zero))
        high = ctx.subtract(high, ctx.where(ctx.less(y, 0), a, zero))
    return ctx.bitcast(high, x.dtype)


# --- bits ---


@composed(lower, p.shift_right_arithmetic_p)
def _(ctx: Lowering, x: Value, y: Value) -> Value:
    return _shifted_as(ctx, _signed(x.dtype), x, y)


@composed(lower, p.shift_right_logical_p)
def _(ctx: Lowering, x: Value, y: Value) -> Value:
    return _shifted_as(ctx, _unsigned(x.dtype), x, y)


def _shifted_as(ctx: Lowering, dtype: np.dtype, x: Value, y: Value) -> Value:
    # amounts as unsigned numbers: negative ones are beyond the width
    return ctx.bitcast(ctx.right_shift(ctx.bitcast(x, dtype), ctx.bitcast(y, dtype)), x.dtype)


@composed(lower, p.population_count_p)
def _(ctx: Lowering, x: Value) -> Value:
    return _count_bits(ctx, ctx.bitcast(x, _unsigned(x.dtype)), x.dtype)


def _count_bits(ctx: Lowering, x: Value, dtype: np.dtype) -> Value:
    if hasattr(np, "bitwise_count"):
        return ctx.bitcast(ctx.cast(ctx.bitwise_count(x), x.dtype), dtype)
    # NumPy 1: the counts of neighbours are added up, pairs of 1 bit first, then of 2, of 4, …
    width, half = dtypes.bit_width(x.dtype), 1
    while half < width:
        mask = ((1 << width) - 1) // ((1 << half) + 1)
        upper = ctx.bitwise_and(ctx.right_shift(x, half), mask)
        x = ctx.add(ctx.bitwise_and(x, mask), upper)
        half *= 2
    return ctx.bitcast(x, dtype)


@composed(lower, p.clz_p)
def _(ctx: Lowering, x: Value) -> Value:
    width = dtypes.bit_width(x.dtype)
    bits = ctx.bitcast(x, _unsigned(x.dtype))
    shift = 1
    while shift < width:  # every bit below the highest one becomes 1
        bits = ctx.bitwise_or(bits, ctx.right_shift(bits, shift))
        shift *= 2
    return ctx.subtract(ctx.full((), width, x.dtype), _count_bits(ctx, bits, x.dtype))


# --- comparisons in the total order ---


def _total_order(function: np.ufunc) -> Callable[[Lowering, Value, Value], Value]:
    def emit(ctx: Lowering, x: Value, y: Value) -> Value:
        if _is(x.dtype, np.floating):
            x, y = _order_key(ctx, x), _order_key(ctx, y)
        return ctx.ufunc(function, x, y)

    return emit


def _order_key(ctx: Lowering, x: Value) -> Value:
    """The bits as a signed integer, those of negative numbers turned round: ordered as the floats are."""
    bits = ctx.bitcast(x, _signed(x.dtype))
    turned = ctx.bitwise_xor(bits, int(np.iinfo(bits.dtype).max))
    return ctx.where(ctx.less(bits, 0), turned, bits)


composed(lower, p.eq_to_p)(_total_order(np.equal))
composed(lower, p.lt_to_p)(_total_order(np.less))
composed(lower, p.le_to_p)(_total_order(np.less_equal))


# --- conversions ---


@composed(lower, p.convert_element_type_p)
def _(ctx: Lowering, x: Value, *, new_dtype: np.dtype, weak_type: bool) -> Value:
    return x if x.dtype == new_dtype or isinstance(new_dtype, dtypes.ExtendedDType) else _converted(ctx, x, new_dtype)


def _converted(ctx: Lowering, x: Value, dtype: np.dtype) -> Value:
    if x.dtype == dtype:
        return x
    if _is(dtype, np.bool_):
        return ctx.not_equal(x, 0)
    if _is(x.dtype, np.complexfloating) and not _is(dtype, np.complexfloating):
        x = ctx.real(x)
    if _is(x.dtype, np.floating) and _is(dtype, np.integer):
        return _saturated(ctx, x, dtype)
    return ctx.cast(x, dtype)


def _saturated(ctx: Lowering, x: Value, dtype: np.dtype) -> Value:
    """Floats as integers: rounded to zero, the nearest integer there is beyond the range, 0 for NaN."""
    limits = dtypes.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    if dtype in _WHOLE and x.dtype in _FLOATS:
        return ctx.call(_saturation(low, high, dtype), x, nature=FRESH)
    wide = x if x.dtype == np.float64 else ctx.cast(x, np.dtype("float64"))
    wide = ctx.maximum(ctx.where(ctx.isnan(wide), 0, wide), low)
    if dtypes.bit_width(dtype) < 64:
        return ctx.cast(ctx.minimum(wide, high), dtype)
    beyond = ctx.greater_equal(wide, float(high))  # the greatest 64-bit integer is no double: 2^63 or 2^64 is
    inside = ctx.cast(ctx.where(beyond, 0, wide), dtype)
    return ctx.where(beyond, ctx.full((), high, dtype), inside)


_FLOATS = {np.dtype(name) for name in ("float32", "float64")}
_WHOLE = {np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4)}


def _saturation(low: int, high: int, dtype: np.dtype) -> Callable[..., np.ndarray]:
    """Of an array whose least and greatest number fit, and that has no NaN, NumPy's conversion alone."""

    def run(x: np.ndarray) -> np.ndarray:
        if np.minimum.reduce(x, None, initial=0) >= low and np.maximum.reduce(x, None, initial=0) < high + 1:
            return x.astype(dtype)
        wide = np.where(np.isnan(x), 0, x).astype(np.float64)
        return np.minimum(np.maximum(wide, low), high).astype(dtype)

    return run


@kernels.composed(lower, p.bitcast_convert_type_p)
def _(ctx: Lowering, x: Value, *, new_dtype: np.dtype) -> Value:
    if x.dtype == new_dtype or isinstance(new_dtype, dtypes.ExtendedDType):
        return x
    old, new = dtypes.bit_width(x.dtype), dtypes.bit_width(new_dtype)
    if old == new:
        return ctx.bitcast(x, new_dtype)
    if min(old, new) < 8:
        return ctx.call(_repacked(new_dtype, old, new), x)
    shape = ctx.out_aval.shape
    if old > new:
        return ctx.call(lambda a: np.ascontiguousarray(a).reshape((*a.shape, 1)).view(new_dtype), x, nature="view")
    return ctx.call(lambda a: np.ascontiguousarray(a).view(new_dtype).reshape(shape), x, nature="view")


def _repacked(new_dtype: np.dtype, old: int, new: int) -> Callable[[np.ndarray], np.ndarray]:
    """For dtypes of fewer than 8 bits, which NumPy keeps in a byte each: through single bits, the lowest first."""

    def convert(x: np.ndarray) -> np.ndarray:
        stored = np.ascontiguousarray(x).reshape((*x.shape, 1)).view(np.uint8)
        bits = np.unpackbits(stored, axis=-1, bitorder="little")[..., :old]
        if old > new:
            bits = bits.reshape((*x.shape, old // new, new))
        else:
            bits = bits.reshape((*x.shape[:-1], new))
        out = np.packbits(bits, axis=-1, bitorder="little")
        if new < 8 and _is(new_dtype, np.signedinteger):  # ml_dtypes wants the sign in the upper bits
            out = np.where(out >> (new - 1), out | (0xFF << new & 0xFF), out).astype(np.uint8)
        return np.ascontiguousarray(out).view(new_dtype)[..., 0]

    return convert


@composed(lower, p.reduce_precision_p)
def _(ctx: Lowering, x: Value, *, exponent_bits: int, mantissa_bits: int) -> Value:
    info = dtypes.finfo(x.dtype)
    width, own_mantissa = dtypes.bit_width(x.dtype), int(info.nmant)
    own_exponent = width - 1 - own_mantissa
    unsigned = _unsigned(x.dtype)
    bits = ctx.bitcast(x, unsigned)
    if mantissa_bits < own_mantissa:
        bits = _rounded_mantissa(ctx, bits, own_mantissa - mantissa_bits)
    if exponent_bits < own_exponent:
        bits = _limited_exponent(ctx, bits, own_exponent, own_mantissa, exponent_bits)
    return ctx.where(ctx.isnan(x), x, ctx.bitcast(bits, x.dtype))


def _rounded_mantissa(ctx: Lowering, bits: object, dropped: int) -> Value:
    """To nearest, halves to even; a carry goes into the exponent, as it should."""
    last = ctx.bitwise_and(ctx.right_shift(bits, dropped), 1)
    bias = ctx.add(last, (1 << (dropped - 1)) - 1)
    return ctx.left_shift(ctx.right_shift(ctx.add(bits, bias), dropped), dropped)


def _limited_exponent(ctx: Lowering, bits: object, own_exponent: int, own_mantissa: int, exponent_bits: int) -> Value:
    """Too large becomes infinite, too small zero (there are no subnormals), both with their sign."""
    sign_mask = 1 << (own_exponent + own_mantissa)
    bias, narrow_bias = (1 << (own_exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
    greatest, least = bias + narrow_bias, bias - narrow_bias + 1
    exponent = ctx.right_shift(ctx.bitwise_and(bits, sign_mask - 1), own_mantissa)
    sign = ctx.bitwise_and(bits, sign_mask)
    infinity = ctx.bitwise_or(sign, ((1 << own_exponent) - 1) << own_mantissa)
    bits = ctx.where(ctx.greater(exponent, greatest), infinity, bits)
    return ctx.where(ctx.less(exponent, least), sign, bits)
