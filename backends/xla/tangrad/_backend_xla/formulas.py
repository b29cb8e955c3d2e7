"""Formulas as StableHLO: values with operators, for lowerings that are whole algorithms (`lower/special.py`).

A *term* is an array of float64 and one shape under construction, or a mask of that shape. `Arithmetic` is what
`tangrad._lax.special.incomplete` asks for; it emits operations at the place where its context stands, which is inside
the body while a loop is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tangrad._backend_xla.helpers import broadcast_operands, compare, convert, full, reduce_by, select
from tangrad.core import ShapedArray, dtypes
from tangrad.extend.lax import HALF_LOG_2PI, NEAR_2, STIRLING, STIRLING_FROM

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrType, IrValue


DOUBLE = dtypes.as_dtype("float64")
BOOL = dtypes.as_dtype(bool)


class Term:
    """A value with operators. Numbers beside it are constants."""

    __slots__ = ("home", "value")

    def __init__(self, home: Arithmetic, value: IrValue) -> None:
        self.home = home
        self.value = value


Operand: TypeAlias = Term | float


class Mask(Term):
    """Truth values."""

    __slots__ = ()

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.home, self.home.emit("stablehlo.and", self.home.mask_type, self, other))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.home, self.home.emit("stablehlo.or", self.home.mask_type, self, other))

    def __invert__(self) -> Mask:
        return Mask(self.home, self.home.emit("stablehlo.not", self.home.mask_type, self))


class Real(Term):
    """Numbers."""

    __slots__ = ()

    def __neg__(self) -> Real:
        return self.home.op("stablehlo.negate", self)

    def __add__(self, other: Operand) -> Real:
        return self.home.op("stablehlo.add", self, other)

    def __radd__(self, other: Operand) -> Real:
        return self.home.op("stablehlo.add", other, self)

    def __sub__(self, other: Operand) -> Real:
        return self.home.op("stablehlo.subtract", self, other)

    def __rsub__(self, other: Operand) -> Real:
        return self.home.op("stablehlo.subtract", other, self)

    def __mul__(self, other: Operand) -> Real:
        return self.home.op("stablehlo.multiply", self, other)

    def __rmul__(self, other: Operand) -> Real:
        return self.home.op("stablehlo.multiply", other, self)

    def __truediv__(self, other: Operand) -> Real:
        return self.home.op("stablehlo.divide", self, other)

    def __rtruediv__(self, other: Operand) -> Real:
        return self.home.op("stablehlo.divide", other, self)

    def __eq__(self, other: Operand) -> Mask:  # type: ignore[override]
        return self.home.compare("EQ", self, other)

    def __lt__(self, other: Operand) -> Mask:
        return self.home.compare("LT", self, other)

    def __le__(self, other: Operand) -> Mask:
        return self.home.compare("LE", self, other)

    def __gt__(self, other: Operand) -> Mask:
        return self.home.compare("GT", self, other)

    def __ge__(self, other: Operand) -> Mask:
        return self.home.compare("GE", self, other)


class Arithmetic:
    """The functions of terms of one shape.

    Attributes:
        ctx: where operations go now.
        aval: the type of the terms.
    """

    def __init__(self, ctx: FunctionContext, shape: Sequence[object]) -> None:
        self.ctx = ctx
        self._constants: dict[tuple[FunctionContext, str], IrValue] = {}
        self.aval = ShapedArray(tuple(shape), DOUBLE)
        self.type = ctx.types[self.aval]
        self.mask_type = ctx.types[ShapedArray(tuple(shape), BOOL)]

    # --- operations ------------------------------------------------------------------------------------------------

    def value(self, operand: Operand) -> IrValue:
        """The MLIR value of a term or a number."""
        return operand.value if isinstance(operand, Term) else self._constant(float(operand))

    def _constant(self, number: float) -> IrValue:
        """A number in all elements; once in each region, because the loops' bodies are mostly constants else."""
        key = (self.ctx, number.hex())
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = full(self.ctx, number, self.aval)
        return found

    def emit(self, name: str, result_type: IrType, *operands: Operand) -> IrValue:
        """One operation; its result."""
        return self.ctx.op(name, result_type, [self.value(operand) for operand in operands])

    def op(self, name: str, *operands: Operand) -> Real:
        """One operation on numbers, of the same type."""
        return Real(self, self.emit(name, self.type, *operands))

    def compare(self, direction: str, x: Operand, y: Operand) -> Mask:
        """A comparison."""
        return Mask(self, compare(self.ctx, direction, self.value(x), self.value(y), self.aval))

    def where(self, mask: Mask, x: Operand, y: Operand) -> Real:
        """x where the mask holds, else y."""
        return Real(self, select(self.ctx, mask.value, self.value(x), self.value(y), self.aval))

    def like(self, x: Operand, number: float) -> Real:
        """An array full of a number."""
        return Real(self, self._constant(number))

    def is_finite(self, x: Operand) -> Mask:
        """Whether x is neither infinite nor NaN."""
        return Mask(self, self.emit("stablehlo.is_finite", self.mask_type, x))

    def copysign(self, x: Operand, sign: Real) -> Real:
        """|x| with the sign of another number (where that is 0: x as it is)."""
        return self.where(sign < 0, -self.abs(x), self.abs(x))

    def polynomial(self, x: Real, coefficients: Sequence[float]) -> Real:
        """The polynomial with these coefficients, the highest power first."""
        total = self.like(x, coefficients[0])
        for coefficient in coefficients[1:]:
            total = total * x + coefficient
        return total

    # --- functions of one operation --------------------------------------------------------------------------------

    def exp(self, x: Operand) -> Real:
        """e to the power x."""
        return self.op("stablehlo.exponential", x)

    def expm1(self, x: Operand) -> Real:
        """exp(x) - 1."""
        return self.op("stablehlo.exponential_minus_one", x)

    def log(self, x: Operand) -> Real:
        """The natural logarithm."""
        return self.op("stablehlo.log", x)

    def log1p(self, x: Operand) -> Real:
        """log(1 + x)."""
        return self.op("stablehlo.log_plus_one", x)

    def sqrt(self, x: Operand) -> Real:
        """The square root."""
        return self.op("stablehlo.sqrt", x)

    def abs(self, x: Operand) -> Real:
        """|x|."""
        return self.op("stablehlo.abs", x)

    def erfc(self, x: Operand) -> Real:
        """1 - erf(x)."""
        return self.op("chlo.erfc", x)

    def digamma(self, x: Operand) -> Real:
        """The derivative of log Γ."""
        return self.op("chlo.digamma", x)

    def minimum(self, x: Operand, y: Operand) -> Real:
        """The lesser one."""
        return self.op("stablehlo.minimum", x, y)

    def maximum(self, x: Operand, y: Operand) -> Real:
        """The greater one."""
        return self.op("stablehlo.maximum", x, y)

    # --- functions that StableHLO lacks, or has with fewer digits --------------------------------------------------

    def lgamma_1p(self, x: Real) -> Real:
        """log Γ(1 + x)."""
        small = x < 0.5
        near = self.where(small, x, 0.25)
        return self.where(small, near * self.polynomial(near, NEAR_2) - self.log1p(near), self.lgamma(x + 1))

    def lgamma(self, x: Real) -> Real:
        """log Γ(x) for x > 0; by Stirling's series where it is exact, which the operation is not."""
        large = x >= STIRLING_FROM
        safe = self.where(large, x, STIRLING_FROM)
        series = (safe - 0.5) * (self.log(safe) - 1) - 0.5 + HALF_LOG_2PI + self.stirling_remainder(safe)
        return self.where(large, series, self.op("chlo.lgamma", x))

    def stirling_remainder(self, x: Real) -> Real:
        """log Γ(x) less the first terms of Stirling's series."""
        return self.polynomial(1 / (x * x), STIRLING) / x

    # --- pieces and loops ------------------------------------------------------------------------------------------

    def piecewise(self, arguments: Sequence[Real], *pieces: Any) -> Real:
        """Every function everywhere, on numbers that are safe where its mask fails; then one of the results."""
        out: Any = None
        for mask, function, safe in pieces:
            given = arguments
            if safe is not None:
                given = [self.where(mask, argument, number) for argument, number in zip(arguments, safe, strict=True)]
            value = function(*given)
            out = value if out is None else self.where(mask, value, out)
        return out

    def converge(self, step: Callable[..., Any], state: Sequence[Real], limit: int) -> tuple[Real, ...]:
        """A loop that ends when all elements are finished, or at the limit."""
        outer = self.ctx
        scalar = outer.types[ShapedArray((), BOOL)]
        start = [self.like(state[0], 1.0), *state]
        going = full(outer, True, ShapedArray(self.aval.shape, BOOL))
        types = [self.type] * len(start) + [self.mask_type]
        loop = outer.ops("stablehlo.while", types, [*[self.value(term) for term in start], going], None, 2)
        condition, arguments = outer.region(loop, 0, types, captures=True)
        condition.give([self._continues(condition, arguments[0], arguments[-1], limit, scalar)])
        body, arguments = outer.region(loop, 1, types, captures=True)
        self.ctx = body
        n, *terms = [Real(self, argument) for argument in arguments[:-1]]
        new, finished = step(n, *terms)
        body.give([self.value(term) for term in (n + 1, *new, ~finished)])
        self.ctx = outer
        return tuple([Real(self, result) for result in list(loop.results)[1:-1]])

    def _continues(self, ctx: FunctionContext, n: IrValue, going: IrValue, limit: int, scalar: IrType) -> IrValue:
        axes = tuple(range(self.aval.ndim))
        flag = ShapedArray((), BOOL)
        if axes:
            # n is the same in all elements.
            going = reduce_by(ctx, "stablehlo.or", going, False, axes, flag)
            n = reduce_by(ctx, "stablehlo.maximum", n, 0.0, axes, ShapedArray((), DOUBLE))
        within = compare(ctx, "LE", n, ctx.constant(np.asarray(limit, DOUBLE)), ShapedArray((), DOUBLE))
        return ctx.op("stablehlo.and", scalar, (going, within))


def in_double(function: Callable[..., Any]) -> Callable[..., IrValue]:
    """The rule that computes `function(arithmetic, *terms)` in double precision."""

    def rule(ctx: FunctionContext, *operands: IrValue) -> IrValue:
        out = ctx.out_aval
        wide = out.update(dtype=DOUBLE)
        operands = tuple(broadcast_operands(ctx, operands, out.shape))
        if out.dtype is not DOUBLE:
            operands = tuple([convert(ctx, operand, out, wide) for operand in operands])
        arithmetic = Arithmetic(ctx, out.shape)
        result = function(arithmetic, *[Real(arithmetic, operand) for operand in operands]).value
        return result if out.dtype is DOUBLE else convert(ctx, result, wide, out)

    return rule
