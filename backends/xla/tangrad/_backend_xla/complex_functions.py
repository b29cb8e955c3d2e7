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
    ordinary: Callable[..., Any], reference: Callable[[Any], Any], symmetry: Symmetry, oscillates: str | None = None
) -> Callable[..., Any]:
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


def turned(rule: Callable[..., Any]) -> Callable[..., Any]:
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


def _real_functions(ctx: FunctionContext, angle: IrValue, x: IrValue) -> tuple[Any, Any, Any, Any, Any]:
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

    One has sinh x, the other cosh x: `odd_with_cos` says which. Where these are infinite or 0 an unknown cosine counts
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
    ctx: FunctionContext, x: IrValue, signs: tuple[Any, Any], which: tuple[bool, bool], aval: ShapedArray
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


def _is_tabled(ctx: FunctionContext, kinds: tuple[Any, Any], oscillates: str | None) -> IrValue:
    places = ctx.out_aval.update(dtype=INT32)
    two = full(ctx, 2, places)
    special = compare(ctx, "GE", same_type(ctx, "stablehlo.maximum", *kinds), two, places)
    if oscillates is None:
        return special
    turning = kinds[0] if oscillates == "real" else kinds[1]
    return same_type(ctx, "stablehlo.and", special, compare(ctx, "NE", turning, full(ctx, 1, places), places))


def _from_table(
    ctx: FunctionContext, reference: Callable[[Any], Any], kinds: tuple[Any, Any], negative: IrValue | None
) -> IrValue:
    """The function of numbers of these kinds, the real part of either sign if `negative` says which."""
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


def less_one(z: Any) -> np.ndarray:
    """exp(z) - 1, by parts: a difference of complex numbers could lose the sign of a zero."""
    power = np.exp(z)
    return _joined(power.real - 1, power.imag)


def log_of_one_plus(z: Any) -> np.ndarray:
    """log(1 + z), likewise."""
    return np.log(_joined(z.real + 1, z.imag))


def _joined(real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    z = np.empty(real.shape, complex)
    z.real, z.imag = real, imaginary
    return z
