"""Complex functions at infinities, NaN, signed zeros and along branch cuts, as C has them (C11, Annex G).

XLA's own are right between these. They are asked for parts without a sign where the function is symmetric, and get the
signs back: so zeros keep theirs, and so does the side of a branch cut. Where a part is infinite or NaN, the result
depends on no more than the kinds of both parts (zero, finite, infinite, NaN), and is read from a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.helpers import compare, full, same_type, select
from tangrad.core import ShapedArray, dtypes

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import DType


BOOL, INT32 = np.dtype(bool), np.dtype("int32")
KINDS = (0.0, 0.5, np.inf, np.nan)  # numbers of each kind, in the order of their places in the tables


@dataclass(frozen=True)
class Symmetry:
    """Which signs the parts of the result take from those of the argument.

    Attributes:
        of_real: whether the function is symmetric in the real part of its argument, too.
        real, imaginary: whether they take the sign of the argument's real part, and that of its imaginary part.
    """

    of_real: bool
    real: tuple[bool, bool]
    imaginary: tuple[bool, bool]


CONJUGATE = Symmetry(False, (False, False), (False, True))
ODD = Symmetry(True, (True, False), (False, True))
EVEN = Symmetry(True, (False, False), (True, True))


def as_in_c(
    ordinary: Callable[..., IrValue],
    reference: Callable[..., np.ndarray] | np.ufunc,
    symmetry: Symmetry,
    oscillates: str | None = None,
) -> Callable[..., IrValue]:
    """The rule of a complex function: `ordinary(ctx, z, a, b)`, and NumPy's `reference` where a part is not finite.

    `oscillates`: the part ("real" or "imaginary") along which the function turns: while that is finite and not 0, the
    ordinary formula is right even where the other part is infinite.
    """

    def rule(ctx: FunctionContext, z: IrValue) -> IrValue:
        aval = ctx.out_aval
        part = aval.update(dtype=dtypes.to_floating_dtype(aval.dtype))
        kind = ctx.types[part]
        a, b = ctx.op("stablehlo.real", kind, (z,)), ctx.op("stablehlo.imag", kind, (z,))
        signs = _is_negative(ctx, a, part), _is_negative(ctx, b, part)
        b = same_type(ctx, "stablehlo.abs", b)
        if symmetry.of_real:
            a = same_type(ctx, "stablehlo.abs", a)
        found = ordinary(ctx, ctx.op("stablehlo.complex", ctx.out_type, (a, b)), a, b)
        kinds = _kind_of(ctx, a, part), _kind_of(ctx, b, part)
        tabled = _from_table(ctx, reference, kinds, None if symmetry.of_real else signs[0])
        found = select(ctx, _is_tabled(ctx, kinds, oscillates), tabled, found, aval)
        real, imaginary = ctx.op("stablehlo.real", kind, (found,)), ctx.op("stablehlo.imag", kind, (found,))
        real = _with_signs(ctx, real, signs, symmetry.real, part)
        imaginary = _with_signs(ctx, imaginary, signs, symmetry.imaginary, part)
        return ctx.op("stablehlo.complex", ctx.out_type, (real, imaginary))

    return rule


def turned(rule: Callable[..., IrValue]) -> Callable[..., IrValue]:
    """The rule of f with f(a + ib) = v + iu where the other function has g(b + ia) = u + iv: arctan of arctanh."""

    def of_turned(ctx: FunctionContext, z: IrValue) -> IrValue:
        return _exchanged(ctx, rule(ctx, _exchanged(ctx, z)))

    return of_turned


def _exchanged(ctx: FunctionContext, z: IrValue) -> IrValue:
    aval = ctx.out_aval
    kind = ctx.types[aval.update(dtype=dtypes.to_floating_dtype(aval.dtype))]
    a, b = ctx.op("stablehlo.real", kind, (z,)), ctx.op("stablehlo.imag", kind, (z,))
    return ctx.op("stablehlo.complex", ctx.out_type, (b, a))


def magnitude(ctx: FunctionContext, z: IrValue) -> IrValue:
    """The rule of |z|: infinite where a part is, whatever the other is."""
    aval, out = ctx.in_avals[0], ctx.out_aval
    kind = ctx.types[out]
    found, infinity = ctx.op("stablehlo.abs", kind, (z,)), full(ctx, np.inf, out)
    parts = [ctx.op(f"stablehlo.{name}", kind, (z,)) for name in ("real", "imag")]
    infinite = [compare(ctx, "EQ", same_type(ctx, "stablehlo.abs", x), infinity, out) for x in parts]
    either = ctx.op("stablehlo.or", ctx.types[aval.update(dtype=BOOL)], infinite)
    return select(ctx, either, infinity, found, out)


# --- circular and hyperbolic -----------------------------------------------------------------------------------------


MULTIPLY = "stablehlo.multiply"


def _real_functions(
    ctx: FunctionContext, angle: IrValue, x: IrValue
) -> tuple[IrValue, IrValue, IrValue, IrValue, IrValue]:
    """Sine and cosine of the angle, sinh and cosh of x ≥ 0 without a factor, and that factor.

    The latter are made of expm1, to keep their digits near 0. Far out the factor is exp(x / 2), by which is multiplied
    last: exp(x) may overflow where its product with a small sine does not.
    """
    aval = ctx.out_aval.update(dtype=dtypes.to_floating_dtype(ctx.out_aval.dtype))
    sin, cos = same_type(ctx, "stablehlo.sine", angle), same_type(ctx, "stablehlo.cosine", angle)
    half = full(ctx, 0.5, aval)
    grown = same_type(ctx, "stablehlo.exponential_minus_one", x)
    shrunk = same_type(ctx, "stablehlo.exponential_minus_one", same_type(ctx, "stablehlo.negate", x))
    root = same_type(ctx, "stablehlo.exponential", same_type(ctx, MULTIPLY, half, x))
    far = compare(ctx, "GT", x, full(ctx, 30, aval), aval)
    large = same_type(ctx, MULTIPLY, half, root)
    twice_sinh = same_type(ctx, "stablehlo.subtract", grown, shrunk)
    twice_cosh = same_type(ctx, "stablehlo.add", same_type(ctx, "stablehlo.add", grown, shrunk), full(ctx, 2, aval))
    sinh, cosh = [
        select(ctx, far, large, same_type(ctx, MULTIPLY, half, twice), aval) for twice in (twice_sinh, twice_cosh)
    ]
    return sin, cos, sinh, cosh, select(ctx, far, root, full(ctx, 1, aval), aval)


def _oscillating(
    ctx: FunctionContext, z_type: ShapedArray, angle: IrValue, x: IrValue, odd_with_cos: bool
) -> tuple[IrValue, IrValue]:
    """The part with the cosine of the angle, and the part with its sine, for an angle and x that are not negative.

    One has sinh x, the other cosh x: `odd_with_cos` is which. Where these are infinite or 0 an unknown cosine counts
    as 1. The part with the sine is 0 where the angle is 0, whatever x, and where sinh x is, whatever the angle.
    """
    aval = z_type.update(dtype=dtypes.to_floating_dtype(z_type.dtype))
    sin, cos, odd, even, factor = _real_functions(ctx, angle, x)
    zero, infinity = full(ctx, 0, aval), full(ctx, np.inf, aval)
    compared = same_type(ctx, "stablehlo.add", x, x) if odd_with_cos else infinity  # 0 too is twice itself
    unknown = compare(ctx, "NE", cos, cos, aval)
    as_one = same_type(ctx, "stablehlo.and", unknown, compare(ctx, "EQ", x, compared, aval))
    cos = select(ctx, as_one, full(ctx, 1, aval), cos, aval)
    with_cos, with_sin = (odd, even) if odd_with_cos else (even, odd)
    vanishes = compare(ctx, "EQ", angle, zero, aval)
    if not odd_with_cos:
        on_axis = same_type(ctx, "stablehlo.and", unknown, compare(ctx, "EQ", x, zero, aval))
        vanishes = same_type(ctx, "stablehlo.or", vanishes, on_axis)
    # In this order: exp(x / 2), the factor, comes last.
    first, second = [
        same_type(ctx, MULTIPLY, same_type(ctx, MULTIPLY, *pair), factor) for pair in ((cos, with_cos), (sin, with_sin))
    ]
    return first, select(ctx, vanishes, zero, second, aval)


@dataclass(frozen=True)
class Oscillation:
    """A circular or hyperbolic function, as products of real functions.

    Attributes:
        symmetry: which signs its parts take.
        real_angle: whether it turns along the real part of its argument, and grows along the other.
        odd_with_cos: see `_oscillating`.
        real_with_cos: whether the real part of the result has the cosine.
        negative: whether its imaginary part is the negative product.
    """

    symmetry: Symmetry
    real_angle: bool
    odd_with_cos: bool
    real_with_cos: bool
    negative: bool = False

    def __call__(self, ctx: FunctionContext, z: IrValue) -> IrValue:
        aval = ctx.out_aval
        part = aval.update(dtype=dtypes.to_floating_dtype(aval.dtype))
        parts = [ctx.op(f"stablehlo.{name}", ctx.types[part], (z,)) for name in ("real", "imag")]
        signs = _is_negative(ctx, parts[0], part), _is_negative(ctx, parts[1], part)
        sizes = [same_type(ctx, "stablehlo.abs", x) for x in parts]
        angle, x = sizes if self.real_angle else reversed(sizes)
        products = _oscillating(ctx, aval, angle, x, self.odd_with_cos)
        real, imaginary = products if self.real_with_cos else reversed(products)
        if self.negative:
            imaginary = same_type(ctx, "stablehlo.negate", imaginary)
        real = _with_signs(ctx, real, signs, self.symmetry.real, part)
        imaginary = _with_signs(ctx, imaginary, signs, self.symmetry.imaginary, part)
        return ctx.op("stablehlo.complex", ctx.out_type, (real, imaginary))


sine = Oscillation(ODD, real_angle=True, odd_with_cos=True, real_with_cos=False)  # sin a cosh b + i cos a sinh b
cosine = Oscillation(EVEN, real_angle=True, odd_with_cos=False, real_with_cos=True, negative=True)
sinh = Oscillation(ODD, real_angle=False, odd_with_cos=True, real_with_cos=True)  # sinh a cos b + i cosh a sin b
cosh = Oscillation(EVEN, real_angle=False, odd_with_cos=False, real_with_cos=True)  # cosh a cos b + i sinh a sin b


# --- signs and kinds -------------------------------------------------------------------------------------------------


def _is_negative(ctx: FunctionContext, x: IrValue, aval: ShapedArray) -> IrValue:
    """Whether the sign is set, that of zero included."""
    bits = aval.update(dtype=np.dtype(f"int{dtypes.bit_width(aval.dtype)}"))
    pattern = ctx.op("stablehlo.bitcast_convert", ctx.types[bits], (x,))
    return compare(ctx, "LT", pattern, full(ctx, 0, bits), bits)


def _with_signs(
    ctx: FunctionContext, x: IrValue, signs: tuple[IrValue, IrValue], which: tuple[bool, bool], aval: ShapedArray
) -> IrValue:
    """`x`, negated once for each of the signs that count and are set."""
    chosen = [sign for sign, counts in zip(signs, which, strict=True) if counts]
    if not chosen:
        return x
    negative = chosen[0] if len(chosen) == 1 else same_type(ctx, "stablehlo.xor", *chosen)
    return select(ctx, negative, same_type(ctx, "stablehlo.negate", x), x, aval)


def _kind_of(ctx: FunctionContext, x: IrValue, aval: ShapedArray) -> IrValue:
    """The place in `KINDS`: 0 of zeros, 1 of other finite numbers, 2 of infinities, 3 of NaN."""
    places = aval.update(dtype=INT32)
    size = same_type(ctx, "stablehlo.abs", x)
    tests = (("NE", x, full(ctx, 0, aval)), ("EQ", size, full(ctx, np.inf, aval)))
    number, infinite = [
        ctx.op("stablehlo.convert", ctx.types[places], (compare(ctx, direction, x, y, aval),))
        for direction, x, y in tests
    ]
    known = same_type(ctx, "stablehlo.add", number, infinite)
    return select(ctx, compare(ctx, "NE", x, x, aval), full(ctx, 3, places), known, places)


def _is_tabled(ctx: FunctionContext, kinds: tuple[IrValue, IrValue], oscillates: str | None) -> IrValue:
    places = ctx.out_aval.update(dtype=INT32)
    two = full(ctx, 2, places)
    special = compare(ctx, "GE", same_type(ctx, "stablehlo.maximum", *kinds), two, places)
    if oscillates is None:
        return special
    turning = kinds[0] if oscillates == "real" else kinds[1]
    return same_type(ctx, "stablehlo.and", special, compare(ctx, "NE", turning, full(ctx, 1, places), places))


def _from_table(
    ctx: FunctionContext,
    reference: Callable[..., object] | np.ufunc,
    kinds: tuple[IrValue, IrValue],
    negative: IrValue | None,
) -> IrValue:
    """The function of numbers of these kinds, the real part of either sign if `negative` selects it."""
    places = ctx.out_aval.update(dtype=INT32)
    count = len(KINDS)
    row = kinds[0]
    if negative is not None:
        below = select(ctx, negative, full(ctx, count, places), full(ctx, 0, places), places)
        row = same_type(ctx, "stablehlo.add", row, below)
    index = same_type(
        ctx, "stablehlo.add", same_type(ctx, "stablehlo.multiply", row, full(ctx, count, places)), kinds[1]
    )
    values = _table(reference, (*KINDS, *[-x for x in KINDS]) if negative is not None else KINDS, ctx.out_aval.dtype)
    words = ctx.vocabulary
    numbers = f"#stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {places.ndim}>"
    attributes = {
        "dimension_numbers": words.parsed(numbers),
        "indices_are_sorted": words.false,
        "slice_sizes": words.integers((1,)),
    }
    return ctx.op("stablehlo.gather", ctx.out_type, (ctx.constant(values, _type_of(values)), index), attributes)


def _type_of(values: np.ndarray) -> ShapedArray:
    return ShapedArray(values.shape, values.dtype)


def _table(reference: Callable[[Any], Any], reals: tuple[float, ...], dtype: DType) -> np.ndarray:
    arguments = np.array([complex(a, b) for a in reals for b in KINDS])
    with np.errstate(all="ignore"):
        return reference(arguments).astype(dtype)


def less_one(z: np.ndarray) -> np.ndarray:
    """exp(z) - 1, by parts: a difference of complex numbers could lose the sign of a zero."""
    power = np.exp(z)
    return _joined(power.real - 1, power.imag)


def log_of_one_plus(z: np.ndarray) -> np.ndarray:
    """log(1 + z), likewise."""
    return np.log(_joined(z.real + 1, z.imag))


def _joined(real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    z = np.empty(real.shape, complex)
    z.real, z.imag = real, imaginary
    return z


SUBTRACT = "stablehlo.subtract"
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


def _shifted(ctx: FunctionContext, name: str, a: IrValue, b: IrValue, shift: IrValue) -> IrValue:
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
