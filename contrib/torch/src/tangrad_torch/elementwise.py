"""How elementwise primitives become torch's functions: operands have one shape, or rank 0 beside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from tangrad.core import dtypes
from tangrad_torch.programs import from_decomposition, rules, same
from tangrad_torch.tensors import (
    converted,
    in_order,
    is_complex,
    is_floating,
    is_unsigned,
    shifted_right,
    stored,
    torch_dtype,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from tangrad.core import ShapedArray
    from tangrad.extend.lax import RoundingMethod
    from tangrad.typing import DType
    from tangrad_torch.programs import Call, SimpleRule
    from tangrad_torch.tensors import Operation, Operations

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def is_integer(aval: ShapedArray) -> bool:
    return torch_dtype(aval.dtype) in INTEGERS


def for_integers(integers: SimpleRule, others: Operation) -> SimpleRule:
    """The rule of a primitive whose integers are another matter: a rule of those, and a function of the others."""
    return lambda call, **params: integers(call, **params) if is_integer(call.inputs[0]) else others


def for_complex(complexes: Operation, others: Operation) -> SimpleRule:
    """The rule of a primitive for which torch has a function of real numbers alone."""
    return lambda call: complexes if is_complex(call.inputs[0].dtype) else others


def by_parts(function: Operation) -> Operation:
    """A sum of complex numbers and the like: torch multiplies by 1, which makes NaN of infinities and 0 of -0."""
    return lambda *xs: torch.complex(function(*[x.real for x in xs]), function(*[x.imag for x in xs]))


addition = for_complex(by_parts(torch.add), torch.add)


# --- order: unsigned integers are held as signed ones --------------------------------------------------------------


def compared(function: Operation) -> SimpleRule:
    """The rule of a comparison."""

    def rule(call: Call) -> Operation:
        if is_unsigned(call.inputs[0].dtype):
            return lambda x, y: function(in_order(x), in_order(y))
        return function

    return rule


def chosen(function: Operation, is_less: Operation) -> SimpleRule:
    """The rule of max or min; complex numbers go by their real parts, then by the imaginary ones."""

    def among_complex(x: Tensor, y: Tensor) -> Tensor:
        beyond = is_less(x.real, y.real) | ((x.real == y.real) & is_less(x.imag, y.imag))
        return torch.where(x.isnan() | (~y.isnan() & ~beyond), x, y)

    def rule(call: Call) -> Operation:
        if is_complex(call.inputs[0].dtype):
            return among_complex
        if is_unsigned(call.inputs[0].dtype):
            return lambda x, y: in_order(function(in_order(x), in_order(y)))
        return function

    return rule


greater, lesser = chosen(torch.maximum, torch.lt), chosen(torch.minimum, torch.gt)


def clamp(call: Call) -> Operation | Operations:
    if is_complex(call.inputs[0].dtype):
        return from_decomposition(call.primitive)(call)
    if is_unsigned(call.inputs[0].dtype):
        order = in_order
        return lambda low, x, high: order(torch.minimum(torch.maximum(order(x), order(low)), order(high)))
    return lambda low, x, high: torch.minimum(torch.maximum(x, low), high)


def of_elements(function: Operation, join: Operation) -> SimpleRule:
    """The rule of a test for equality; a random key is equal if all its words are."""

    def rule(call: Call) -> Operation:
        inside = len(stored(call.inputs[0]).shape) - call.inputs[0].ndim
        if not inside:
            return function
        inner = tuple(range(-inside, 0))
        return lambda x, y: join(function(x, y), inner)

    return rule


def total_order(function: Operation) -> SimpleRule:
    """The rule of a comparison in the order of the bits: of floats, those of negative numbers turned round."""

    def key(x: Tensor) -> Tensor:
        bits = x.view(getattr(torch, f"int{8 * x.itemsize}"))
        return torch.where(bits < 0, bits ^ torch.iinfo(bits.dtype).max, bits)

    def rule(call: Call) -> Operation:
        return (
            (lambda x, y: function(key(x), key(y))) if is_floating(call.inputs[0].dtype) else compared(function)(call)
        )

    return rule


# --- signs and rounding --------------------------------------------------------------------------------------------


def sign(call: Call) -> Operation:
    aval = call.inputs[0]
    if is_unsigned(aval.dtype):
        return lambda x: (x != 0).to(x.dtype)
    if is_floating(aval.dtype):
        return lambda x: torch.where((x == 0) | x.isnan(), x, torch.sign(x))
    return complex_sign if is_complex(aval.dtype) else torch.sgn


def complex_expm1(x: Tensor) -> Tensor:
    """exp(x) - 1: near 0 from expm1 of the real part and 1 - cos b = 2 sin²(b/2), elsewhere from the exponential."""
    power = torch.exp(x)
    near = torch.expm1(x.real) * torch.cos(x.imag) - 2 * torch.sin(x.imag / 2) ** 2
    return torch.complex(torch.where(x.real.abs() < 0.5, near, power.real - 1), power.imag)


def complex_sign(x: Tensor) -> Tensor:
    """x / |x|, which of one infinite part is a direction, and of two is NaN."""
    far = torch.complex(*[torch.where(part.isinf(), torch.sign(part), 0) for part in (x.real, x.imag)])
    far = torch.where(x.real.isinf() & x.imag.isinf(), complex(math.nan, math.nan), far)
    return torch.where(x.isinf(), far, torch.sgn(x))


def rounded(call: Call, *, rounding_method: RoundingMethod) -> Operation:
    if rounding_method.name == "TO_NEAREST_EVEN":
        nearest: Operation = torch.round
        return nearest

    def away_from_zero(x: Tensor) -> Tensor:
        whole = torch.trunc(x)
        return torch.where((x - whole).abs() >= 0.5, whole + torch.sign(x), whole)

    return away_from_zero


def cube_root(x: Tensor) -> Tensor:
    """In 64 bits: what 1/3 is off by counts as often as x has factors."""
    return torch.copysign(x.double().abs().pow(1 / 3), x).to(x.dtype)


def remainder(x: Tensor, y: Tensor) -> Tensor:
    """fmod, which is NaN where x / y overflows, but for arrays of few elements: by large multiples of y first."""
    dtype = torch.promote_types(x.dtype, y.dtype)
    x, y = x.double(), y.double()
    half = y * 2.0**600
    for divisor in (half * 2.0**600, half, y):
        x = torch.fmod(x, divisor)
    return x.to(dtype)


def complex_exp2(x: Tensor) -> Tensor:
    return torch.exp(torch.complex(x.real * math.log(2), x.imag * math.log(2)))


# --- arithmetic of integers ----------------------------------------------------------------------------------------


def quotient_and_rest(call: Call) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Rounded towards zero. By 0 the quotient has all bits set and the rest is x; the least by -1 wraps."""
    dtype = call.inputs[0].dtype

    def signed(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        x, y = torch.broadcast_tensors(x, y)
        quotient = torch.div(x, torch.where((y == 0) | (y == -1), 1, y), rounding_mode="trunc")
        quotient = torch.where(y == 0, -1, torch.where(y == -1, -x, quotient))
        return quotient, torch.where(y == 0, x, x - quotient * y)

    def unsigned(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Half of x divided as signed numbers, twice, is at most 1 too little; a large y goes once, or not at all."""
        x, y = torch.broadcast_tensors(x, y)
        quotient = torch.div(shifted_right(x, 1, dtype), torch.where(y > 0, y, 1), rounding_mode="trunc") * 2
        rest = x - quotient * y
        more = in_order(rest) >= in_order(y)
        quotient, rest = quotient + more, torch.where(more, rest - y, rest)
        once = in_order(x) >= in_order(y)
        quotient = torch.where(y < 0, once.to(x.dtype), quotient)
        rest = torch.where(y < 0, torch.where(once, x - y, x), rest)
        return torch.where(y == 0, -1, quotient), torch.where(y == 0, x, rest)

    def bytes_(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        x, y = torch.broadcast_tensors(x, y)
        quotient = torch.div(x, torch.where(y == 0, 1, y), rounding_mode="trunc")
        return torch.where(y == 0, 255, quotient), torch.where(y == 0, x, x - quotient * y)

    return bytes_ if call.dtype == torch.uint8 else unsigned if is_unsigned(dtype) else signed


def one_of_two(which: int) -> SimpleRule:
    def rule(call: Call) -> Operation:
        divide = quotient_and_rest(call)
        return lambda x, y: divide(x, y)[which]

    return rule


def upper_half(call: Call) -> Operation:
    """The upper half of the bits of a product."""
    dtype, width = call.inputs[0].dtype, dtypes.bit_width(call.inputs[0].dtype)
    wide = dtypes.as_dtype("int64")
    if width == 64:
        raise call.lacks("torch has no integers of 128 bits")
    return lambda x, y: (converted(x, dtype, wide) * converted(y, dtype, wide) >> width).to(x.dtype)


def power(call: Call) -> Operation:
    exponent = call.inputs[1].dtype
    if not is_unsigned(exponent):
        plain: Operation = torch.pow
        return plain
    wide = dtypes.as_dtype("int64")
    return lambda x, y: torch.pow(x, converted(y, exponent, wide))


# --- bits ----------------------------------------------------------------------------------------------------------


def shift_left(call: Call) -> Operation:
    width = dtypes.bit_width(call.inputs[0].dtype)
    return lambda x, y: torch.where(beyond(y, width), 0, x << y.clamp(0, width - 1))


def beyond(count: Tensor, width: int) -> Tensor:
    """Where a number of bits, without a sign, is not below the width."""
    return (count < 0) | (count >= width)


def shift_right(logical: bool) -> SimpleRule:
    def rule(call: Call) -> Operation:
        dtype, width = call.inputs[0].dtype, dtypes.bit_width(call.inputs[0].dtype)

        def arithmetically(x: Tensor, y: Tensor) -> Tensor:
            held = x.view(torch.int8) if x.dtype == torch.uint8 else x
            count = torch.where(beyond(y, width), width - 1, y).to(held.dtype)
            return (held >> count).view(x.dtype)

        def logically(x: Tensor, y: Tensor) -> Tensor:
            count = y.clamp(0, width - 1)
            shifted = torch.where(y == 0, x, shifted_right(x, 1, dtype) >> (count - 1).clamp(0))
            return torch.where(beyond(y, width), 0, shifted)

        return logically if logical else arithmetically

    return rule


def count_bits(x: Tensor) -> Tensor:
    """The number of bits that are set: neighbours are added up, then pairs of them, and so on, in each half."""

    def below_32(v: Tensor) -> Tensor:
        v = v - ((v >> 1) & 0x55555555)
        v = (v & 0x33333333) + ((v >> 2) & 0x33333333)
        v = (v + (v >> 4)) & 0x0F0F0F0F
        return ((v * 0x01010101) >> 24) & 0xFF

    if x.itemsize == 8:
        return below_32(x & 0xFFFFFFFF) + below_32((x >> 32) & 0xFFFFFFFF)
    return below_32(x.to(torch.int64) & ((1 << 8 * x.itemsize) - 1)).to(x.dtype)


def leading_zeros(call: Call) -> Operation:
    dtype, width = call.inputs[0].dtype, dtypes.bit_width(call.inputs[0].dtype)

    def function(x: Tensor) -> Tensor:
        for place in range(width.bit_length() - 1):  # every bit below the highest one is set
            x = x | shifted_right(x, 1 << place, dtype)
        return width - count_bits(x)

    return function


# --- selection and conversion --------------------------------------------------------------------------------------


def select(call: Call) -> Operation:
    """By halves; what is out of range takes the first or the last case."""
    inside = len(call.shape) - call.outputs[0].ndim
    shape = call.shape

    def choose(index: Tensor, offset: int, values: Sequence[Tensor]) -> Tensor:
        if len(values) == 1:
            return values[0]
        middle = len(values) // 2
        first, second = choose(index, offset, values[:middle]), choose(index, offset + middle, values[middle:])
        return torch.where(index < offset + middle, first, second)

    def function(index: Tensor, *values: Tensor) -> Tensor:
        if index.ndim:
            index = index.reshape(*index.shape, *[1] * inside)
        if len(values) == 1:
            return values[0].expand(shape)
        return torch.where(index, values[1], values[0]) if index.dtype == torch.bool else choose(index, 0, values)

    return function


def convert(call: Call, *, new_dtype: DType, weak_type: bool) -> Operation:
    old = call.inputs[0].dtype
    return lambda x: x if old == new_dtype else converted(x, old, new_dtype)


def bitcast(call: Call, *, new_dtype: DType) -> Operation:
    old, held, shape = call.inputs[0].dtype, call.dtype, call.shape
    if old == new_dtype:
        return lambda x: x
    wide = dtypes.bit_width(old)

    def function(x: Tensor) -> Tensor:
        if wide > dtypes.bit_width(new_dtype):
            x = x.unsqueeze(-1)
        return x.contiguous().view(held).reshape(shape)

    return function


def reduce_precision(call: Call, *, exponent_bits: int, mantissa_bits: int) -> Operation:
    """On the bits: halves round to even, too large becomes infinite, and what would be subnormal is zero."""
    info, width = dtypes.finfo(call.inputs[0].dtype), dtypes.bit_width(call.inputs[0].dtype)
    held, whole = getattr(torch, f"int{width}"), int(info.nmant)
    dropped, own_exponent = max(whole - mantissa_bits, 0), width - 1 - whole
    bias, narrow_bias = (1 << own_exponent - 1) - 1, (1 << exponent_bits - 1) - 1
    infinity = ((1 << own_exponent) - 1) << whole

    def function(x: Tensor) -> Tensor:
        bits = x.contiguous().view(held)
        magnitude, sign = bits & torch.iinfo(held).max, bits & torch.iinfo(held).min
        if dropped:
            magnitude = magnitude + ((magnitude >> dropped) & 1) + ((1 << dropped - 1) - 1) >> dropped << dropped
        if exponent_bits < own_exponent:
            exponent = magnitude >> whole
            magnitude = torch.where(exponent > bias + narrow_bias, infinity, magnitude)
            magnitude = torch.where(exponent < bias - narrow_bias + 1, 0, magnitude)
        return torch.where(x.isnan(), x, (magnitude | sign).view(x.dtype))

    return function


SAME: dict[str, Operation] = {
    "abs": torch.abs,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "is_finite": torch.isfinite,
    "exp": torch.exp,
    "log": torch.log,
    "log1p": torch.log1p,
    "logistic": torch.sigmoid,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "cbrt": cube_root,
    "square": torch.square,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "asin": torch.asin,
    "acos": torch.acos,
    "atan": torch.atan,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "tanh": torch.tanh,
    "asinh": torch.asinh,
    "acosh": torch.acosh,
    "atanh": torch.atanh,
    "real": torch.real,
    "imag": torch.imag,
    "complex": torch.complex,
    "mul": torch.mul,
    "atan2": torch.atan2,
    "nextafter": torch.nextafter,
    "not": torch.bitwise_not,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
    "population_count": count_bits,
}

lower = rules(
    "elementwise",
    {name: same(function) for name, function in SAME.items()}
    | {
        "neg": for_complex(by_parts(torch.neg), torch.neg),
        "sign": sign,
        "round": rounded,
        "expm1": for_complex(complex_expm1, torch.expm1),
        "exp2": for_complex(complex_exp2, torch.exp2),
        "conj": for_complex(torch.conj_physical, lambda x: torch.complex(x, torch.zeros_like(x))),
        "add": addition,
        "sub": for_complex(by_parts(torch.sub), torch.sub),
        "div": for_integers(one_of_two(0), torch.div),
        "rem": for_integers(one_of_two(1), remainder),
        "max": greater,
        "min": lesser,
        "mulhi": upper_half,
        "pow": power,
        "shift_left": shift_left,
        "shift_right_logical": shift_right(True),
        "shift_right_arithmetic": shift_right(False),
        "clz": leading_zeros,
        "eq": of_elements(torch.eq, torch.all),
        "ne": of_elements(torch.ne, torch.any),
        "lt": compared(torch.lt),
        "le": compared(torch.le),
        "gt": compared(torch.gt),
        "ge": compared(torch.ge),
        "eq_to": total_order(torch.eq),
        "lt_to": total_order(torch.lt),
        "le_to": total_order(torch.le),
        "select_n": select,
        "clamp": clamp,
        "convert_element_type": convert,
        "bitcast_convert_type": bitcast,
        "reduce_precision": reduce_precision,
    },
)
