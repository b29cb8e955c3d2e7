"""Logarithms to base 2 and 10 that are whole numbers of the powers of their base.

A quotient of logarithms is off by a rounding or two, and `int(log10(1000.0))` would be 2. So the number is split into
m 2ᵉ with m around 1. Then e log 2 is the greater part; it is a product of whole numbers but for a small rest, which is
added to the small logarithm of m: only the last sum is rounded to the digits of the result.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tangrad.core import dtypes, literal
from tangrad.lax.elementwise.primitives import (
    add_p,
    and_p,
    bitcast_convert_type_p,
    div_p,
    ge_p,
    le_p,
    log_p,
    min_p,
    mul_p,
    shift_left_p,
    shift_right_arithmetic_p,
    sub_p,
)
from tangrad.lax.structure.primitives import stop_gradient_p
from tangrad.numpy.operands import convert, literal_like, select

FLOAT32 = dtypes.as_dtype("float32")
# log 2 to base 10, to some 40 digits.
_LOG10_OF_2 = Fraction("0.3010299956639811952137388947244930267682")


def exact_logarithm(x: Any, base: int) -> Any:
    """The logarithm of real floats to base 2 or 10, of any order differentiable; not weakly typed, as in JAX."""
    dtype = x.aval.dtype
    if dtypes.bit_width(dtype) < 32:  # its rounding makes more of the error than all that is done here
        return convert(exact_logarithm(convert(x, FLOAT32), base), dtype)
    exponent, mantissa = _split(x)
    rest = div_p.bind(log_p.bind(mantissa), literal_like(x, math.log(base)))
    if base == 2:
        return add_p.bind(exponent, rest)
    high, low = _log10_of_2(dtype)
    rest = add_p.bind(mul_p.bind(exponent, literal_like(x, low)), rest)
    return add_p.bind(mul_p.bind(exponent, literal_like(x, high)), rest)


def _log10_of_2(dtype: Any) -> tuple[float, float]:
    """In two parts: the first has so few digits that its product with an exponent is not rounded."""
    digits = int(dtypes.finfo(dtype).nmant) - int(dtypes.finfo(dtype).nexp)
    high = Fraction(round(_LOG10_OF_2 * 2**digits), 2**digits)
    return float(high), float(_LOG10_OF_2 - high)


def _split(x: Any) -> tuple[Any, Any]:
    """e and m with x = m 2**e and m in [√½, √2); 0 and x of what is not a positive normal number."""
    info, dtype = dtypes.finfo(x.aval.dtype), x.aval.dtype
    mantissa, bits = int(info.nmant), dtypes.as_dtype(f"int{dtypes.bit_width(dtype)}")
    number = lambda value: literal(int(value), bits)
    pattern = bitcast_convert_type_p.bind(stop_gradient_p.bind(x), new_dtype=bits)
    least, greatest, root = [np.array(value, dtype).view(bits) for value in (info.tiny, info.max, math.sqrt(0.5))]
    normal = and_p.bind(ge_p.bind(pattern, number(least)), le_p.bind(pattern, number(greatest)))
    exponent = shift_right_arithmetic_p.bind(sub_p.bind(pattern, number(root)), number(mantissa))
    # The greatest exponents have no inverse among the normal numbers; m is then below 4.
    exponent = select(normal, min_p.bind(exponent, number(info.maxexp - 2)), number(0))
    field = sub_p.bind(number(1 - info.minexp), exponent)
    power = bitcast_convert_type_p.bind(shift_left_p.bind(field, number(mantissa)), new_dtype=dtype)
    return convert(exponent, dtype), mul_p.bind(x, power)
