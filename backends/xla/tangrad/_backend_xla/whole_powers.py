"""Powers of 2 and cubic roots that are exact where the result is a number of few digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_xla.helpers import compare, convert, full, same_type, select
from tangrad.core import dtypes

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


FLOAT32, FLOAT64 = np.dtype("float32"), np.dtype("float64")
MULTIPLY = "stablehlo.multiply"


def whole_exp2(ctx: FunctionContext, x: IrValue) -> IrValue:
    """2**x of real x as 2**(x - n) 2**n with the nearest whole n: the second factor is made of bits.

    It is applied in two halves, each a normal number wherever the result is one.
    """
    out = ctx.out_aval
    narrow = dtypes.bit_width(out.dtype) < 32
    aval = out.update(dtype=FLOAT32) if narrow else out
    x = convert(ctx, x, out, aval) if narrow else x
    info, kind = dtypes.finfo(aval.dtype), ctx.types[aval]
    # Beyond these it is 0 or infinite.
    least, greatest = full(ctx, info.minexp - info.nmant - 2, aval), full(ctx, info.maxexp + 1, aval)
    x = ctx.op("stablehlo.clamp", kind, (least, x, greatest))
    whole = same_type(ctx, "stablehlo.round_nearest_even", x)
    rest = same_type(ctx, MULTIPLY, same_type(ctx, "stablehlo.subtract", x, whole), full(ctx, np.log(2), aval))
    found = same_type(ctx, "stablehlo.exponential", rest)
    integer = aval.update(dtype=np.dtype(f"int{dtypes.bit_width(aval.dtype)}"))
    exponent = ctx.op("stablehlo.convert", ctx.types[integer], (whole,))
    half = same_type(ctx, "stablehlo.shift_right_arithmetic", exponent, full(ctx, 1, integer))
    for part in (half, same_type(ctx, "stablehlo.subtract", exponent, half)):
        field = same_type(ctx, "stablehlo.add", part, full(ctx, 1 - int(info.minexp), integer))
        pattern = same_type(ctx, "stablehlo.shift_left", field, full(ctx, int(info.nmant), integer))
        found = same_type(ctx, MULTIPLY, found, ctx.op("stablehlo.bitcast_convert", kind, (pattern,)))
    return convert(ctx, found, aval, out) if narrow else found


def whole_cbrt(ctx: FunctionContext, x: IrValue) -> IrValue:
    """The cubic root; in double precision the root with 18 digits where its cube, which is not rounded, is x."""
    aval = ctx.out_aval
    found = ctx.op("stablehlo.cbrt", ctx.out_type, (x,))
    if aval.dtype != FLOAT64:
        return found
    words = ctx.vocabulary
    digits = {"exponent_bits": words.integer32(11), "mantissa_bits": words.integer32(17)}
    short = ctx.op("stablehlo.reduce_precision", ctx.out_type, (found,), digits)
    cube = same_type(ctx, MULTIPLY, same_type(ctx, MULTIPLY, short, short), short)
    return select(ctx, compare(ctx, "EQ", cube, x, aval), short, found, aval)
