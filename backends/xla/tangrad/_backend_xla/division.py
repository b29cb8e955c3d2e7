"""Division and remainder of integers, where a divisor of zero must not end the process.

Both are defined for every divisor: the quotient by 0 is -1 (all bits set), the remainder by 0 the dividend. XLA's
machine code keeps to that. But MLIR's folder of constant operations divides at compile time without looking, and a
divisor of 0 is then a SIGFPE. What it may take for a constant cannot be known beforehand (it finds out that `x * 0` is
one). So a divisor is replaced by 1 where it is 0, and the result put right, unless it is sure not to be folded into a
zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.helpers import broadcast_operands, compare, elementwise, full, select
from tangrad._backend_xla.mlir import IrValue, ir
from tangrad.core import dtypes

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad.core.protocols import LoweringRule
    from tangrad.typing import DType


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
