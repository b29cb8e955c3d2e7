"""The values of sizes within programs: symbolic dimensions as scalars of int32, shapes as vectors of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad.core import ShapedArray, dtypes
from tangrad.core.arguments import is_symbolic

if TYPE_CHECKING:
    from jaxlib.mlir import ir


SIZE = ShapedArray((), dtypes.as_dtype("int32"))
_ONE = ShapedArray((1,), dtypes.as_dtype("int32"))
_TRUTH = ShapedArray((), dtypes.as_dtype(bool))


def has_symbolic(shape: Sequence[object]) -> bool:
    """Whether any size of a shape is symbolic."""
    return any([is_symbolic(size) for size in shape])


def size_value(ctx: Any, size: Any) -> ir.Value:
    """A size as a scalar of int32."""
    return size.evaluate(ctx.sizes, Arithmetic(ctx)) if is_symbolic(size) else ctx.constant(np.int32(size))


def shape_value(ctx: Any, shape: Sequence[object]) -> ir.Value:
    """A shape as a vector of int32, for operations whose sizes are operands."""
    if not has_symbolic(shape):
        return ctx.constant(np.array(shape, np.int32))
    return vector(ctx, [ctx.size(size) for size in shape])


def vector(ctx: Any, sizes: Sequence[ir.Value]) -> ir.Value:
    """Scalars of int32 as a vector."""
    parts = [ctx.op("stablehlo.reshape", ctx.types[_ONE], (size,)) for size in sizes]
    if len(parts) == 1:
        return parts[0]
    kind = ctx.types[SIZE.update(shape=(len(parts),))]
    return ctx.op("stablehlo.concatenate", kind, parts, {"dimension": ctx.vocabulary.integer(0)})


class Arithmetic:
    """Arithmetic with sizes in a function: what `SymbolicDimension.evaluate` computes with. Divisors are positive."""

    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx

    def _op(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.ctx.op(f"stablehlo.{name}", self.ctx.types[SIZE], (a, b))

    def constant(self, value: int) -> ir.Value:
        return self.ctx.size(value)

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._op("add", a, b)

    def multiply(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._op("multiply", a, b)

    def maximum(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._op("maximum", a, b)

    def minimum(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._op("minimum", a, b)

    def floordiv(self, a: ir.Value, b: ir.Value) -> ir.Value:
        # StableHLO rounds towards zero: what a negative dividend leaves is taken away first.
        return self._op("divide", self._op("subtract", a, self.mod(a, b)), b)

    def mod(self, a: ir.Value, b: ir.Value) -> ir.Value:
        left = self._op("remainder", a, b)
        return self._select(self.compare("LT", left, self.constant(0)), self._op("add", left, b), left)

    def subtract(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._op("subtract", a, b)

    def compare(self, direction: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """A comparison, EQ, LT, GE and so on, as a scalar truth value."""
        parsed = self.ctx.vocabulary.parsed
        attributes = {
            "comparison_direction": parsed(f"#stablehlo<comparison_direction {direction}>"),
            "compare_type": parsed("#stablehlo<comparison_type SIGNED>"),
        }
        return self.ctx.op("stablehlo.compare", self.ctx.types[_TRUTH], (a, b), attributes)

    def _select(self, predicate: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.ctx.op("stablehlo.select", self.ctx.types[SIZE], (predicate, a, b))
