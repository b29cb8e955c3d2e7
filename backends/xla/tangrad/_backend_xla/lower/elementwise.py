"""Division and remainder of integers, where a divisor of zero must not end the process.

Both are defined for every divisor: the quotient by 0 is -1 (all bits set), the remainder by 0 the dividend. XLA's
machine code keeps to that. But MLIR's folder of constant operations divides at compile time without looking, and a
divisor of 0 is then a SIGFPE. What it may take for a constant cannot be known beforehand (it finds out that `x * 0` is
one). So a divisor is replaced by 1 where it is 0, and the result put right, unless it is sure not to be folded into a
zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.complex_functions import (
    CONJUGATE,
    ODD,
    Symmetry,
    as_in_c,
    cosh,
    cosine,
    direction,
    direction_of_kind,
    exponential_less_one,
    inverse_hyperbolic_tangent,
    less_one,
    log_of_one_plus,
    log_plus_one,
    magnitude,
    sine,
    sinh,
    turned,
)
from tangrad._backend_xla.extrema import MAXIMUM, MINIMUM, Extremum
from tangrad._backend_xla.helpers import (
    Rule,
    broadcast,
    broadcast_operands,
    compare,
    comparison,
    convert,
    elementwise,
    full,
    physical_aval,
    same_type,
    select,
)
from tangrad._backend_xla.mlir import IrValue, ir
from tangrad.core import RuleSet, ShapedArray, dtypes
from tangrad.dtypes import ExtendedDType
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad.core.protocols import LoweringRule
    from tangrad.typing import DType


# --- Division and remainder of integers, where a divisor of zero must not end the process ---
# Both are defined for every divisor: the quotient by 0 is -1 (all bits set), the remainder by 0 the dividend. XLA's
# machine code keeps to that. But MLIR's folder of constant operations divides at compile time without looking, and a
# divisor of 0 is then a SIGFPE. What it may take for a constant cannot be known beforehand (it finds out that `x * 0`
# is one). So a divisor is replaced by 1 where it is 0, and the result put right, unless it is sure not to be folded
# into a zero.

# Operations whose result is zero only if an element of the operand is.
_REARRANGING = ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose")
# Constants up to this size are looked at: reading a larger one costs more than guarding the division does.
_CONSTANT_LIMIT = 256


def division(name: str, remainder: bool) -> LoweringRule:
    """The rule of `stablehlo.divide` or `stablehlo.remainder`, for numbers of any dtype."""
    plain = elementwise(name)

    def rule(ctx: FunctionContext, x: IrValue, y: IrValue) -> IrValue:
        out = ctx.out_aval
        if not dtypes.issubdtype(out.dtype, np.integer) or _is_safe(y):
            return plain(ctx, x, y)
        x, y = broadcast_operands(ctx, (x, y), out.shape)
        by_zero = compare(ctx, "EQ", y, full(ctx, 0, out), out)
        safe = select(ctx, by_zero, full(ctx, 1, out), y, out)
        result = ctx.op(name, ctx.out_type, (x, safe))
        return select(ctx, by_zero, x if remainder else full(ctx, _all_bits(out.dtype), out), result, out)

    return rule


def _all_bits(dtype: DType) -> int:
    return dtypes.iinfo(dtype).max if dtypes.issubdtype(dtype, np.unsignedinteger) else -1


def _is_safe(divisor: ir.Value) -> bool:
    """Whether a divisor cannot become a constant with a zero: an argument of a function, or a constant without one."""
    while not isinstance(divisor.owner, ir.Block):
        operation = divisor.owner
        if operation.name == "stablehlo.constant":
            return _has_no_zero(operation.attributes["value"])
        if operation.name not in _REARRANGING:
            return False
        divisor = operation.operands[0]
    return bool(divisor.owner.owner.operation.name == "func.func")  # those of regions may stand for constants outside


def _has_no_zero(contents: Any) -> bool:
    if contents.is_splat:
        return bool(contents.get_splat_value().value != 0)
    readable = contents.type.element_type.width >= 8  # the bindings cannot index smaller integers
    return readable and len(contents) <= _CONSTANT_LIMIT and all(contents)


__all__ = ["division"]


# --- How elementwise primitives become StableHLO ---

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


lower = RuleSet("lower.xla", api=1)

lower.table(
    {
        # signs and rounding
        p.neg_p: elementwise("stablehlo.negate"),
        p.floor_p: elementwise("stablehlo.floor"),
        p.ceil_p: elementwise("stablehlo.ceil"),
        p.is_finite_p: elementwise("stablehlo.is_finite"),
        # functions of one variable
        p.rsqrt_p: elementwise("stablehlo.rsqrt"),
        p.cbrt_p: whole_cbrt,
        # complex parts
        p.real_p: elementwise("stablehlo.real"),
        p.imag_p: elementwise("stablehlo.imag"),
        p.complex_p: elementwise("stablehlo.complex"),
        # arithmetic
        p.add_p: elementwise("stablehlo.add"),
        p.sub_p: elementwise("stablehlo.subtract"),
        p.mul_p: elementwise("stablehlo.multiply"),
        p.div_p: division("stablehlo.divide", remainder=False),
        p.rem_p: division("stablehlo.remainder", remainder=True),
        p.atan2_p: elementwise("stablehlo.atan2"),
        p.nextafter_p: elementwise("chlo.next_after"),
        # bits
        p.not_p: elementwise("stablehlo.not"),
        p.and_p: elementwise("stablehlo.and"),
        p.or_p: elementwise("stablehlo.or"),
        p.xor_p: elementwise("stablehlo.xor"),
        p.shift_left_p: elementwise("stablehlo.shift_left"),
        p.shift_right_logical_p: elementwise("stablehlo.shift_right_logical"),
        p.shift_right_arithmetic_p: elementwise("stablehlo.shift_right_arithmetic"),
        p.population_count_p: elementwise("stablehlo.popcnt"),
        p.clz_p: elementwise("stablehlo.count_leading_zeros"),
        # comparisons
        p.eq_p: comparison("EQ"),
        p.ne_p: comparison("NE"),
        p.lt_p: comparison("LT"),
        p.le_p: comparison("LE"),
        p.gt_p: comparison("GT"),
        p.ge_p: comparison("GE"),
        p.eq_to_p: comparison("EQ", total_order=True),
        p.lt_to_p: comparison("LT", total_order=True),
        p.le_to_p: comparison("LE", total_order=True),
        # the rest
        p.bitcast_convert_type_p: lambda ctx, x, new_dtype: ctx.op("stablehlo.bitcast_convert", ctx.out_type, (x,)),
        p.convert_element_type_p: lambda ctx, x, **_: convert(ctx, x, ctx.in_avals[0], ctx.out_aval),
        p.reduce_precision_p: elementwise(
            "stablehlo.reduce_precision",
            lambda ctx, exponent_bits, mantissa_bits: {
                "exponent_bits": ctx.vocabulary.integer32(exponent_bits),
                "mantissa_bits": ctx.vocabulary.integer32(mantissa_bits),
            },
        ),
    }
)


def _is_complex(aval: ShapedArray) -> bool:
    return bool(aval.dtype.kind == "c")


def _function(
    name: str, reference: Callable[..., np.ndarray] | np.ufunc, symmetry: Symmetry, oscillates: str | None = None
) -> Rule:
    """The rule of a function of one variable, real or complex; the arguments are those of `as_in_c`."""
    real_rule = elementwise(name)
    complex_rule = as_in_c(lambda ctx, z, a, b: ctx.op(name, ctx.out_type, (z,)), reference, symmetry, oscillates)
    return _of_either(real_rule, complex_rule)


def _of_either(real_rule: Rule, complex_rule: Rule) -> Rule:
    def rule(ctx: FunctionContext, x: IrValue) -> IrValue:
        return (complex_rule if _is_complex(ctx.in_avals[0]) else real_rule)(ctx, x)

    return rule


_exp = _function("stablehlo.exponential", np.exp, CONJUGATE, "imaginary")
_complex_atanh = as_in_c(inverse_hyperbolic_tangent, np.arctanh, ODD)
_complex_expm1 = as_in_c(exponential_less_one, less_one, CONJUGATE, "imaginary")
_complex_log1p = as_in_c(log_plus_one, log_of_one_plus, CONJUGATE)
_complex_sign = as_in_c(direction, direction_of_kind, ODD)
lower.table(
    {
        p.abs_p: _of_either(elementwise("stablehlo.abs"), magnitude),
        p.exp_p: _exp,
        p.expm1_p: _of_either(elementwise("stablehlo.exponential_minus_one"), _complex_expm1),
        p.log_p: _function("stablehlo.log", np.log, CONJUGATE),
        p.log1p_p: _of_either(elementwise("stablehlo.log_plus_one"), _complex_log1p),
        p.sqrt_p: _function("stablehlo.sqrt", np.sqrt, CONJUGATE),
        p.tan_p: _function("stablehlo.tan", np.tan, ODD, "real"),
        p.asin_p: _function("chlo.asin", np.arcsin, ODD),
        p.acos_p: _function("chlo.acos", np.arccos, CONJUGATE),
        p.atan_p: _of_either(elementwise("chlo.atan"), turned(_complex_atanh)),
        p.sin_p: _of_either(elementwise("stablehlo.sine"), sine),
        p.cos_p: _of_either(elementwise("stablehlo.cosine"), cosine),
        p.sinh_p: _of_either(elementwise("chlo.sinh"), sinh),
        p.cosh_p: _of_either(elementwise("chlo.cosh"), cosh),
        p.tanh_p: _function("stablehlo.tanh", np.tanh, ODD, "imaginary"),
        p.asinh_p: _function("chlo.asinh", np.arcsinh, ODD),
        p.acosh_p: _function("chlo.acosh", np.arccosh, CONJUGATE),
        p.atanh_p: _of_either(elementwise("chlo.atanh"), _complex_atanh),
    }
)


@lower.rule(p.sign_p)
def _sign(ctx: FunctionContext, x: IrValue) -> IrValue:
    aval = ctx.out_aval
    if _is_complex(aval):
        return _complex_sign(ctx, x)
    if not dtypes.issubdtype(aval.dtype, np.unsignedinteger):  # StableHLO's sign leaves unsigned integers out
        return ctx.op("stablehlo.sign", ctx.out_type, (x,))
    zero = full(ctx, 0, aval)
    return select(ctx, compare(ctx, "EQ", x, zero, aval), zero, full(ctx, 1, aval), aval)


@lower.rule(p.round_p)
def _round(ctx: FunctionContext, x: IrValue, *, rounding_method: object) -> IrValue:
    afz = rounding_method is p.RoundingMethod.AWAY_FROM_ZERO
    return ctx.op("stablehlo.round_nearest_afz" if afz else "stablehlo.round_nearest_even", ctx.out_type, (x,))


@lower.rule(p.exp2_p)
def _exp2(ctx: FunctionContext, x: IrValue) -> IrValue:
    aval = ctx.out_aval
    if not _is_complex(aval):
        return whole_exp2(ctx, x)
    # Each part alone: a product of complex numbers would make NaN of infinities.
    part = aval.update(dtype=dtypes.to_floating_dtype(aval.dtype))
    factor, kind = full(ctx, np.log(2), part), ctx.types[part]
    parts = [ctx.op(name, kind, (x,)) for name in ("stablehlo.real", "stablehlo.imag")]
    scaled = ctx.op("stablehlo.complex", ctx.out_type, [same_type(ctx, "stablehlo.multiply", factor, x) for x in parts])
    return _exp(ctx, scaled)


@lower.rule(p.logistic_p)
def _logistic(ctx: FunctionContext, x: IrValue) -> IrValue:
    # As JAX: StableHLO's own logistic is less accurate.
    one, kind = full(ctx, 1, ctx.out_aval), ctx.out_type
    growth = ctx.op("stablehlo.exponential", kind, (ctx.op("stablehlo.negate", kind, (x,)),))
    return ctx.op("stablehlo.divide", kind, (one, ctx.op("stablehlo.add", kind, (one, growth))))


@lower.rule(p.square_p)
def _square(ctx: FunctionContext, x: IrValue) -> IrValue:
    if dtypes.issubdtype(ctx.out_aval.dtype, np.integer):
        return ctx.op("stablehlo.multiply", ctx.out_type, (x, x))
    return ctx.op("chlo.square", ctx.out_type, (x,))


@lower.rule(p.integer_pow_p)
def _integer_pow(ctx: FunctionContext, x: IrValue, *, y: int) -> IrValue:
    if y == 0:
        return full(ctx, 1, ctx.out_aval)
    kind = ctx.out_type
    if y == 3:  # in the order that jax multiplies in
        return ctx.op("stablehlo.multiply", kind, (ctx.op("stablehlo.multiply", kind, (x, x)), x))
    power: Any = None  # at least one bit is set
    base, exponent = x, abs(y)
    while True:
        if exponent & 1:
            power = base if power is None else ctx.op("stablehlo.multiply", kind, (power, base))
        exponent >>= 1
        if not exponent:
            break
        base = ctx.op("stablehlo.multiply", kind, (base, base))
    return power if y > 0 else ctx.op("stablehlo.divide", kind, (full(ctx, 1, ctx.out_aval), power))


@lower.rule(p.pow_p)
def _pow(ctx: FunctionContext, x: IrValue, y: IrValue) -> IrValue:
    out = ctx.out_aval
    base, exponent = ctx.in_avals
    if base.dtype is not exponent.dtype:
        y = convert(ctx, y, exponent, exponent.update(dtype=out.dtype))
    x = x if base.shape == out.shape else broadcast(ctx, x, out, ())
    y = y if exponent.shape == out.shape else broadcast(ctx, y, out, ())
    return ctx.op("stablehlo.power", ctx.out_type, (x, y))


@lower.rule(p.conj_p)
def _conj(ctx: FunctionContext, z: IrValue) -> IrValue:
    (aval,) = ctx.in_avals
    if not _is_complex(aval):
        return ctx.op("stablehlo.complex", ctx.out_type, (z, full(ctx, 0, aval)))
    kind = ctx.types[aval.update(dtype=dtypes.to_floating_dtype(aval.dtype))]
    real, imaginary = ctx.op("stablehlo.real", kind, (z,)), ctx.op("stablehlo.imag", kind, (z,))
    return ctx.op("stablehlo.complex", ctx.out_type, (real, ctx.op("stablehlo.negate", kind, (imaginary,))))


def _extremum(kind: Extremum) -> Rule:
    def rule(ctx: FunctionContext, x: IrValue, y: IrValue) -> IrValue:
        out = ctx.out_aval
        x, y = broadcast_operands(ctx, (x, y), out.shape)
        return kind.of(ctx, x, y, out)

    return rule


lower.table(
    {
        p.max_p: _extremum(MAXIMUM),
        p.min_p: _extremum(MINIMUM),
        p.clamp_p: elementwise("stablehlo.clamp"),
    }
)


@lower.rule(p.mulhi_p)
def _mulhi(ctx: FunctionContext, x: IrValue, y: IrValue) -> IrValue:
    """The upper half of the product: of a product in twice the width, or, at 64 bits, of four products of halves."""
    out = ctx.out_aval
    x, y = broadcast_operands(ctx, (x, y), out.shape)
    bits = dtypes.bit_width(out.dtype)
    signed = bool(dtypes.issubdtype(out.dtype, np.signedinteger))
    if bits == 64:
        return _mulhi_64(ctx, x, y, out, signed)
    wide = out.update(dtype=np.dtype(f"{'i' if signed else 'u'}{bits * 2 // 8}"))
    product = same_type(ctx, "stablehlo.multiply", convert(ctx, x, out, wide), convert(ctx, y, out, wide))
    shift = "stablehlo.shift_right_arithmetic" if signed else "stablehlo.shift_right_logical"
    return convert(ctx, same_type(ctx, shift, product, full(ctx, bits, wide)), wide, out)


def _mulhi_64(ctx: FunctionContext, x: IrValue, y: IrValue, out: ShapedArray, signed: bool) -> IrValue:
    wide = out.update(dtype=np.dtype(np.uint64))
    mask, half = full(ctx, 0xFFFFFFFF, wide), full(ctx, 32, wide)

    def low(value: IrValue) -> IrValue:
        return same_type(ctx, "stablehlo.and", value, mask)

    def high(value: IrValue) -> IrValue:
        return same_type(ctx, "stablehlo.shift_right_logical", value, half)

    def add(*values: IrValue) -> IrValue:
        total = values[0]
        for value in values[1:]:
            total = same_type(ctx, "stablehlo.add", total, value)
        return total

    def multiply(a: IrValue, b: IrValue) -> IrValue:
        return same_type(ctx, "stablehlo.multiply", a, b)

    a, b = convert(ctx, x, out, wide), convert(ctx, y, out, wide)
    low_high, high_low = multiply(low(a), high(b)), multiply(high(a), low(b))
    carry = high(add(low(low_high), low(high_low), high(multiply(low(a), low(b)))))
    upper = convert(ctx, add(multiply(high(a), high(b)), high(low_high), high(high_low), carry), wide, out)
    if not signed:
        return upper
    # The unsigned product counts a negative factor 2^64 too high: take the other factor off once for each.
    places = full(ctx, 63, out)
    x_sign = same_type(ctx, "stablehlo.shift_right_arithmetic", x, places)
    y_sign = same_type(ctx, "stablehlo.shift_right_arithmetic", y, places)
    return add(upper, multiply(x_sign, y), multiply(y_sign, x))


@lower.rule(p.select_n_p)
def _select_n(ctx: FunctionContext, which: IrValue, *cases: IrValue) -> IrValue:
    out = ctx.out_aval
    index, *case_avals = ctx.in_avals
    cases = tuple(
        [
            case if aval.shape == out.shape else broadcast(ctx, case, out, ())
            for case, aval in zip(cases, case_avals, strict=True)
        ]
    )
    if len(cases) == 1:
        return cases[0]
    predicate_shape = index.shape
    if isinstance(out.dtype, ExtendedDType) and index.shape:
        # One decision for all the numbers inside an element.
        inner = physical_aval(out)
        which = broadcast(ctx, which, index.update(shape=inner.shape), tuple(range(len(index.shape))))
        predicate_shape = inner.shape
    if index.dtype.kind == "b":
        return select(ctx, which, cases[1], cases[0], out)
    return _select_by_halves(ctx, which, index.update(shape=predicate_shape), 0, cases, out)


def _select_by_halves(
    ctx: FunctionContext, which: IrValue, index: ShapedArray, first: int, cases: Sequence[IrValue], out: ShapedArray
) -> IrValue:
    """Among cases numbered from `first`, the one of number `which`: a tree of comparisons."""
    if len(cases) == 1:
        return cases[0]
    middle = len(cases) // 2
    in_lower_half = compare(ctx, "LT", which, full(ctx, first + middle, index), index)
    lower_half = _select_by_halves(ctx, which, index, first, cases[:middle], out)
    upper_half = _select_by_halves(ctx, which, index, first + middle, cases[middle:], out)
    return select(ctx, in_lower_half, lower_half, upper_half, out)
