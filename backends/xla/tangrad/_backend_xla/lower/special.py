"""How special functions become StableHLO; and functions of large arrays on CPUs, as formulas in double precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, pi, prod
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from tangrad._backend_xla.formulas import Arithmetic, Mask, Real, in_double
from tangrad._backend_xla.helpers import broadcast_operands, compare, convert, elementwise, full, same_type, select
from tangrad.core import Primitive, RuleSet, dtypes, rule_table
from tangrad.extend import lax
from tangrad.extend.lax import BESSEL_I0_FAR, BESSEL_I0_NEAR

if TYPE_CHECKING:
    from tangrad._backend_xla.helpers import Rule
    from tangrad._backend_xla.lowering import FunctionContext, Module
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)

Formula: TypeAlias = Callable[..., Real]


def _bessel_i0e(m: Arithmetic, x: Real) -> Real:
    size = m.abs(x)
    near = size <= 8
    inside = m.where(near, size, 8.0)
    outside = m.where(near, 8.0, size)
    far = _chebyshev(m, 16 / outside - 1, BESSEL_I0_FAR) / m.sqrt(outside)
    return m.where(near, _chebyshev(m, inside / 4 - 1, BESSEL_I0_NEAR), far)


def _chebyshev(m: Arithmetic, x: Real, coefficients: tuple[float, ...]) -> Real:
    twice = 2 * x
    later = m.like(x, 0.0)
    latest = later
    for coefficient in reversed(coefficients[1:]):
        later, latest = latest, twice * latest - later + coefficient
    return x * latest - later + coefficients[0]


lower.table(
    {
        lax.erf_p: elementwise("chlo.erf"),
        lax.erfc_p: elementwise("chlo.erfc"),
        lax.erf_inv_p: elementwise("chlo.erf_inv"),
        lax.lgamma_p: elementwise("chlo.lgamma"),
        lax.digamma_p: elementwise("chlo.digamma"),
        lax.polygamma_p: elementwise("chlo.polygamma"),
        lax.zeta_p: elementwise("chlo.zeta"),
        lax.bessel_i0e_p: in_double(_bessel_i0e),
        lax.bessel_i1e_p: elementwise("chlo.bessel_i1e"),
        lax.igamma_p: in_double(lax.igamma),
        lax.igammac_p: in_double(lax.igammac),
        lax.igamma_grad_a_p: in_double(lax.igamma_grad_a),
        lax.random_gamma_grad_p: in_double(lax.gamma_sample_gradient),
        lax.regularized_incomplete_beta_p: in_double(lax.betainc),
    }
)


# --- Functions of single-precision arrays on CPUs that XLA computes one element at a time, by calls of C's library ---
# Formulas in double precision take their place, made of what XLA's loops do to several elements at once: a fifth of
# the time and less. The results are those of exact arithmetic rounded once, all but a few in ten thousand. Narrower
# floats are converted. Each takes XLA some 5 ms to compile, so small arrays are left to it, and what comes after the
# first few functions of a program.

on_cpu = RuleSet("lower.xla.cpu", api=1)

MANY, MOST = 1 << 15, 8  # elements of an array, at least; functions in a program
SINGLE = ("float32", "float16", "bfloat16")
INT64, INT32 = np.dtype("int64"), np.dtype("int32")


def _rule(primitive: Primitive, function: Formula) -> Rule:
    in_whole_loops = in_double(function)

    def rule(ctx: FunctionContext, *operands: IrValue) -> IrValue:
        out = ctx.out_aval
        if not _is_long(out.shape) or dtypes.dtype_name(out.dtype) not in SINGLE or not _is_among_first(ctx.module):
            return rule_table("lower.xla")[primitive](ctx, *operands)
        return _ends_its_loop(ctx, broadcast_operands(ctx, operands, out.shape)[0], in_whole_loops(ctx, *operands))

    return rule


def _ends_its_loop(ctx: FunctionContext, x: IrValue, result: IrValue) -> IrValue:
    """`result`, and where `x` is no number `x`: which changes nothing but how XLA parts a program into loops.

    Its library for products and reductions takes the arithmetic before them along, with every coefficient as an array
    in double precision. It takes no selection, so the formula stays one loop with one result in single precision.
    """
    aval = ctx.out_aval
    return select(ctx, compare(ctx, "EQ", x, x, aval), result, x, aval)


def _is_long(shape: Sequence[object]) -> bool:
    sizes = [size for size in shape if type(size) is int]  # others are symbols
    return len(sizes) == len(shape) and prod(sizes) >= MANY


_counts: WeakKeyDictionary[Module, int] = WeakKeyDictionary()


def _is_among_first(module: Module) -> bool:
    _counts[module] = count = _counts.get(module, 0) + 1
    return count <= MOST


# --- bits ------------------------------------------------------------------------------------------------------------


def _bits(m: Arithmetic, x: Real) -> IrValue:
    return m.ctx.op("stablehlo.bitcast_convert", m.ctx.types[m.aval.update(dtype=INT64)], (x.value,))


def _is_negative(m: Arithmetic, x: Real) -> Mask:
    """Whether there is a sign, which -0 has, too."""
    integers = m.aval.update(dtype=INT64)
    return Mask(m, compare(m.ctx, "LT", _bits(m, x), full(m.ctx, 0, integers), integers))


# --- circular functions ----------------------------------------------------------------------------------------------

# 1 / 2π in parts: all but the last have 29 bits, so that their products with numbers of 24 bits are exact.
TURN = (
    float.fromhex("0x1.45f306ep-3"),
    float.fromhex("-0x1.b1bbeadp-34"),
    float.fromhex("-0x1.80f62a1p-64"),
    float.fromhex("0x1.1f534dep-94"),
    float.fromhex("-0x1.f924eb5p-125"),
    float.fromhex("-0x1.9b0ef1bef806cp-156"),
)
# sin(2πt) / t as a polynomial of t² for |t| ≤ 1/4, the highest power first: to 2e-11.
SINE = (
    -14.393966295455941,
    42.009779303153906,
    -76.70427987604262,
    81.60522617402967,
    -41.341702116744,
    6.283185307072264,
)
TINY = 2.0**-13  # below, numbers are their own sines, tangents and inverses of these


def _turns(m: Arithmetic, x: Real) -> Real:
    """x / 2π without its whole part, from -1/2 to 1/2: right to 2**-54 for all numbers of single precision.

    The whole part of each product goes before they are summed up; the last is small for the greatest x.
    """
    total = x * TURN[0]
    total = total - _whole(m, total)
    for part in TURN[1:-1]:
        product = x * part
        total = total + (product - _whole(m, product))
    total = total + x * TURN[-1]
    return total - _whole(m, total)


def _whole(m: Arithmetic, x: Real) -> Real:
    return m.op("stablehlo.round_nearest_even", x)


def _sine_of_turns(m: Arithmetic, t: Real) -> Real:
    """sin(2πt) for |t| ≤ 1/4."""
    return m.polynomial(t * t, SINE) * t


def _unless_tiny(m: Arithmetic, x: Real, found: Real) -> Real:
    """x itself where it is tiny, with the sign of 0."""
    return m.where(m.abs(x) < TINY, x, found)


def sine(m: Arithmetic, x: Real) -> Real:
    t = _turns(m, x)
    return _unless_tiny(m, x, _sine_of_turns(m, m.maximum(m.minimum(t, 0.5 - t), -0.5 - t)))


def cosine(m: Arithmetic, x: Real) -> Real:
    return _sine_of_turns(m, 0.25 - m.abs(_turns(m, x)))


def tangent(m: Arithmetic, x: Real) -> Real:
    t = _turns(m, x)
    t = t - 0.5 * _whole(m, 2 * t)
    return _unless_tiny(m, x, _sine_of_turns(m, t) / _sine_of_turns(m, 0.25 - m.abs(t)))


# --- their inverses --------------------------------------------------------------------------------------------------

# arctan(q) / q as a polynomial of q² for 0 ≤ q ≤ 1, the highest power first: to 1.2e-11.
ARCTANGENT = (
    0.00041922786011272897,
    -0.0031954252407363944,
    0.011427633277375594,
    -0.02600599597760862,
    0.04364658944281667,
    -0.06022196387937433,
    0.07495262378099696,
    -0.09049179093720577,
    0.11105306732424464,
    -0.1428522560816021,
    0.19999978336217084,
    -0.3333333295165722,
    0.9999999999887381,
)


def _angle(m: Arithmetic, x: Real, y: Real) -> Real:
    """The angle of the point (x, y), for y ≥ 0; from 0 to π."""
    size = m.abs(x)
    less, greater = m.minimum(size, y), m.maximum(size, y)
    quotient = m.where(less == greater, m.where(greater == 0, 0.0, 1.0), less / greater)  # zeros, infinities
    angle = m.polynomial(quotient * quotient, ARCTANGENT) * quotient
    angle = m.where(y > size, pi / 2 - angle, angle)
    return m.where(_is_negative(m, x), pi - angle, angle)


def arctangent_of_two(m: Arithmetic, y: Real, x: Real) -> Real:
    angle = _angle(m, x, m.abs(y))
    return m.where(_is_negative(m, y), -angle, angle)


def arcsine(m: Arithmetic, x: Real) -> Real:
    angle = _angle(m, m.sqrt((1 - x) * (1 + x)), m.abs(x))
    return _unless_tiny(m, x, m.where(x < 0, -angle, angle))


def arccosine(m: Arithmetic, x: Real) -> Real:
    return _angle(m, x, m.sqrt((1 - x) * (1 + x)))


# --- cubic roots -----------------------------------------------------------------------------------------------------

FOUR_THIRDS_OF_BIAS = 1430186264  # minus a third of the upper half of a double's bits: within 4 % of x**(-1/3)
SERIES = (14 / 81, 2 / 9, 1 / 3)  # of ((1 - e)**(-1/3) - 1) / e, the highest power of e first
LEAST = 2.0**-126  # numbers below count as 0 on CPUs, as in all of XLA's programs


def cubic_root(m: Arithmetic, x: Real) -> Real:
    """`x * y**2`, where `y` is `x**(-1/3)`: first a number whose exponent is that, then two steps of a series."""
    ctx, size = m.ctx, m.abs(x)
    wide, half = m.aval.update(dtype=INT64), m.aval.update(dtype=INT32)
    shift = full(ctx, 32, wide)
    upper = convert(ctx, same_type(ctx, "stablehlo.shift_right_logical", _bits(m, size), shift), wide, half)
    third = same_type(ctx, "stablehlo.divide", upper, full(ctx, 3, half))
    third = same_type(ctx, "stablehlo.subtract", full(ctx, FOUR_THIRDS_OF_BIAS, half), third)
    bits = same_type(ctx, "stablehlo.shift_left", convert(ctx, third, half, wide), shift)
    y = Real(m, ctx.op("stablehlo.bitcast_convert", m.type, (bits,)))
    for series in (SERIES, SERIES[1:]):
        error = 1 - size * (y * y * y)
        y = y + y * (error * m.polynomial(error, series))
    root = size * (y * y)
    found = m.where(x < 0, -root, root)
    return m.where((size >= LEAST) & (size < inf), found, x)


_FORMULAS: dict[Primitive, Formula] = {
    lax.sin_p: sine,
    lax.cos_p: cosine,
    lax.tan_p: tangent,
    lax.asin_p: arcsine,
    lax.acos_p: arccosine,
    lax.atan2_p: arctangent_of_two,
    lax.cbrt_p: cubic_root,
}
on_cpu.table({primitive: _rule(primitive, formula) for primitive, formula in _FORMULAS.items()})
