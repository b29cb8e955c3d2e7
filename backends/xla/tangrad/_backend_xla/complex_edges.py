"""Complex functions whose own formula in XLA has a square that underflows, or a power that overflows too soon.

Each is the ordinary formula `(ctx, z, a, b)` of z = a + ib that `as_in_c` asks for: b has no sign, and a none either
where the function is odd.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.helpers import compare, full, same_type, select
from tangrad.core import ShapedArray, dtypes

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


MULTIPLY, SUBTRACT = "stablehlo.multiply", "stablehlo.subtract"
# Half of this is where exp(z) - 1 is exp(z) to the last digit of double precision.
LARGE_EXPONENT = 80
# By the number of bits: of what is less than one power of 2, by which it is multiplied.
LIFTS = {32: ((-60, 33), (-93, 66)), 64: ((-508, 440), (-760, 700))}


def _part(ctx: FunctionContext) -> ShapedArray:
    """The type of the parts."""
    return ctx.out_aval.update(dtype=dtypes.to_floating_dtype(ctx.out_aval.dtype))


def _complex(ctx: FunctionContext, real: IrValue, imaginary: IrValue) -> IrValue:
    return ctx.op("stablehlo.complex", ctx.out_type, (real, imaginary))


def exponential_less_one(ctx: FunctionContext, z: IrValue, a: IrValue, b: IrValue) -> IrValue:
    """expm1(a) cos b - (1 - cos b) + i exp(a) sin b; of large a as the square of exp(a / 2), which overflows later.

    1 - cos b is 2 sin²(b / 2), which keeps its digits.
    """
    aval = _part(ctx)
    half, zero, one = [full(ctx, x, aval) for x in (0.5, 0, 1)]
    far = compare(ctx, "GT", a, full(ctx, LARGE_EXPONENT, aval), aval)
    a = select(ctx, far, same_type(ctx, MULTIPLY, half, a), a, aval)
    a = select(ctx, compare(ctx, "EQ", a, zero, aval), zero, a, aval)  # -0 has the result of 0
    power = same_type(ctx, "stablehlo.exponential", a)
    grown = same_type(ctx, "stablehlo.exponential_minus_one", a)
    root = same_type(ctx, "stablehlo.sine", same_type(ctx, MULTIPLY, half, b))
    lowered = same_type(ctx, MULTIPLY, full(ctx, 2, aval), same_type(ctx, MULTIPLY, root, root))
    turned = same_type(ctx, MULTIPLY, grown, same_type(ctx, SUBTRACT, one, lowered))
    real = same_type(ctx, SUBTRACT, turned, lowered)
    imaginary = same_type(ctx, MULTIPLY, same_type(ctx, "stablehlo.sine", b), power)
    factor = select(ctx, far, power, one, aval)
    real, imaginary = [same_type(ctx, MULTIPLY, part, factor) for part in (real, imaginary)]
    on_axis = compare(ctx, "EQ", b, zero, aval)  # where 0 · ∞ is 0
    return _complex(ctx, real, select(ctx, on_axis, zero, imaginary, aval))


def _lifted(ctx: FunctionContext, at: float, a: IrValue, b: IrValue, order: float) -> tuple[IrValue, IrValue]:
    """b, times a power of 2 where z is so close above a pole that b² may be 0; and `order` times that one's logarithm.

    There the real part is linear in log b, but a logarithm of its own would cost a tenth of the function's time.
    """
    aval = _part(ctx)
    above = compare(ctx, "EQ", a, full(ctx, at, aval), aval)
    scale, shift = full(ctx, 1, aval), full(ctx, 0, aval)
    # One power would make the greater of them too large, or leave the smaller ones too small.
    for below, exponent in LIFTS[dtypes.bit_width(aval.dtype)]:
        small = compare(ctx, "LT", b, full(ctx, 2.0**below, aval), aval)
        close = same_type(ctx, "stablehlo.and", above, small)
        scale = select(ctx, close, full(ctx, 2.0**exponent, aval), scale, aval)
        shift = select(ctx, close, full(ctx, order * exponent * np.log(2), aval), shift, aval)
    return same_type(ctx, MULTIPLY, b, scale), shift


def _shifted(ctx: FunctionContext, name: str, a: IrValue, b: IrValue, shift: Any) -> IrValue:
    """A function of a + ib, with a shift of its real part."""
    kind = ctx.types[_part(ctx)]
    found = ctx.op(name, ctx.out_type, (_complex(ctx, a, b),))
    real, imaginary = [ctx.op(f"stablehlo.{part}", kind, (found,)) for part in ("real", "imag")]
    return _complex(ctx, same_type(ctx, SUBTRACT, real, shift), imaginary)


def log_plus_one(ctx: FunctionContext, z: IrValue, a: IrValue, b: IrValue) -> IrValue:
    """log(1 + z); right above -1 its real part is log b."""
    return _shifted(ctx, "stablehlo.log_plus_one", a, *_lifted(ctx, -1, a, b, 1))


def inverse_hyperbolic_tangent(ctx: FunctionContext, z: IrValue, a: IrValue, b: IrValue) -> IrValue:
    """artanh z; right above 1 its real part is (log 2 - log b) / 2, and the other π / 4."""
    return _shifted(ctx, "chlo.atanh", a, *_lifted(ctx, 1, a, b, -0.5))


def direction(ctx: FunctionContext, z: IrValue, a: IrValue, b: IrValue) -> IrValue:
    """z / |z|, and 0 of 0: by quotients with the greater part, whose squares neither overflow nor underflow."""
    aval = _part(ctx)
    zero, one = full(ctx, 0, aval), full(ctx, 1, aval)
    greater = same_type(ctx, "stablehlo.maximum", a, b)
    divisor = select(ctx, compare(ctx, "EQ", greater, zero, aval), one, greater, aval)
    parts = [same_type(ctx, "stablehlo.divide", x, divisor) for x in (a, b)]
    squares = [same_type(ctx, MULTIPLY, x, x) for x in parts]
    # The sum is 1 or more, but for zero. (XLA would join two divisions, and the joint divisor may overflow.)
    total = same_type(ctx, "stablehlo.maximum", same_type(ctx, "stablehlo.add", *squares), one)
    inverse = same_type(ctx, "stablehlo.rsqrt", total)
    return _complex(ctx, *[same_type(ctx, MULTIPLY, x, inverse) for x in parts])


def direction_of_kind(z: np.ndarray) -> np.ndarray:
    """z / |z| of zeros, infinities and NaN, as NumPy 2 has it: along the one part that is infinite; NaN of two."""
    infinite = np.isinf(z.real), np.isinf(z.imag)
    along = np.where(infinite[0], np.sign(z.real) + 0j, 1j * np.sign(z.imag))
    size = np.abs(z)
    usual = z / np.where(size == 0, 1, size)
    return np.where(infinite[0] ^ infinite[1], along, np.where(infinite[0], complex(np.nan, np.nan), usual))
