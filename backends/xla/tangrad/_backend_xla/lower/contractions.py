"""How contractions become StableHLO: the dimension numbers, and how exactly products are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._backend_xla.helpers import convert
from tangrad._backend_xla.products import precision_config
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.lax import (
    DotAlgorithmPreset,
    algorithm_dtypes,
    algorithm_parts,
    check_cpu_algorithm,
    dot_general_p,
    is_algorithm,
)

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrAttribute, IrValue
    from tangrad.typing import DType


lower = RuleSet("lower.xla", api=1)


@lower.rule(dot_general_p)
def _dot_general(
    ctx: FunctionContext,
    lhs: IrValue,
    rhs: IrValue,
    *,
    dimension_numbers: object,
    precision: object,
    preferred_element_type: DType | None,
) -> IrValue:
    left, right = ctx.in_avals
    out = result = ctx.out_aval
    attributes = {
        "dot_dimension_numbers": _dimension_numbers(ctx, dimension_numbers),
        "precision_config": precision_config(ctx, precision),
    }
    if is_algorithm(precision):
        if "cpu" in ctx.module.platforms:  # which would silently do something else
            check_cpu_algorithm(precision)
        dtypes = algorithm_dtypes(precision, left.dtype, right.dtype, out.dtype)
        if precision is not DotAlgorithmPreset.DEFAULT:
            attributes["algorithm"] = _algorithm(ctx, precision, dtypes[0], dtypes[1])
        result = out.update(dtype=dtypes[2])
    elif left.dtype is not right.dtype and not _both_narrow(left, right):
        dtypes = out.dtype, out.dtype, out.dtype
    else:
        return ctx.op("stablehlo.dot_general", ctx.types[out], (lhs, rhs), attributes)
    lhs, rhs = _in_dtype(ctx, lhs, left, dtypes[0]), _in_dtype(ctx, rhs, right, dtypes[1])
    product = ctx.op("stablehlo.dot_general", ctx.types[result], (lhs, rhs), attributes)
    return _in_dtype(ctx, product, result, out.dtype)


def _both_narrow(left: ShapedArray, right: ShapedArray) -> bool:
    """Whether both operands are 8-bit floats, which XLA takes as they are."""
    return left.dtype.name.startswith("float8") and right.dtype.name.startswith("float8")


def _in_dtype(ctx: FunctionContext, value: IrValue, aval: ShapedArray, dtype: DType) -> IrValue:
    return value if aval.dtype is dtype else convert(ctx, value, aval, aval.update(dtype=dtype))


def _dimension_numbers(ctx: FunctionContext, numbers: Any) -> IrAttribute:
    def make(context: object) -> Any:
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = [[list(axes) for axes in pair] for pair in numbers]
        text = (
            f"#stablehlo.dot<lhs_batching_dimensions = {lhs_batch}, rhs_batching_dimensions = {rhs_batch}, "
            f"lhs_contracting_dimensions = {lhs_contract}, rhs_contracting_dimensions = {rhs_contract}>"
        )
        return ctx.vocabulary.ir.Attribute.parse(text, context)

    return ctx.vocabulary.made(("dot", numbers), make)


def _algorithm(ctx: FunctionContext, precision: object, lhs: ShapedArray, rhs: ShapedArray) -> IrAttribute:
    parts = algorithm_parts(precision, lhs, rhs)
    names = (
        "lhs_precision_type",
        "rhs_precision_type",
        "accumulation_type",
        "lhs_component_count",
        "rhs_component_count",
        "num_primitive_operations",
        "allow_imprecise_accumulation",
    )
    values = [*parts[:-1], "true" if parts[-1] else "false"]
    text = ", ".join([f"{name} = {value}" for name, value in zip(names, values)])
    return ctx.vocabulary.parsed(f"#stablehlo.dot_algorithm<{text}>")
