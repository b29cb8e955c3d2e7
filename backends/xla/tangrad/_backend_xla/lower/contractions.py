"""How contractions become StableHLO: the dimension numbers, and how exactly products are computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad._backend_xla.compiler_options import is_small_product
from tangrad._backend_xla.dimension_values import has_symbolic
from tangrad._backend_xla.helpers import convert, reshape
from tangrad._backend_xla.windows import precision_config
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.lax import (
    DotAlgorithmPreset,
    DotDimensionNumbers,
    algorithm_dtypes,
    algorithm_parts,
    check_cpu_algorithm,
    dot_general_p,
    free_axes,
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
    return contraction(ctx, (lhs, rhs), ctx.in_avals, ctx.out_aval, dimension_numbers, precision)


def contraction(
    ctx: FunctionContext,
    operands: tuple[IrValue, IrValue],
    avals: Sequence[ShapedArray],
    out: ShapedArray,
    dimension_numbers: object,
    precision: object,
) -> IrValue:
    """The product of operands of these types, with a result of type `out`."""
    (lhs, rhs), (left, right), result = operands, avals, out
    ctx.module.has_large_products |= _is_large(left, right, out, dimension_numbers)
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


def _is_large(left: ShapedArray, right: ShapedArray, out: ShapedArray, numbers: Any) -> bool:
    (contracted, _), (batch, _) = numbers
    if has_symbolic(left.shape) or has_symbolic(right.shape):
        return True
    terms, batches = [prod([left.shape[axis] for axis in axes]) for axes in (contracted, batch)]
    return not is_small_product(left, right, out, terms, batches)


def _both_narrow(left: ShapedArray, right: ShapedArray) -> bool:
    """Whether both operands are 8-bit floats, which XLA takes as they are."""
    return left.dtype.name.startswith("float8") and right.dtype.name.startswith("float8")


def _in_dtype(ctx: FunctionContext, value: IrValue, aval: ShapedArray, dtype: DType) -> IrValue:
    return value if aval.dtype is dtype else convert(ctx, value, aval, aval.update(dtype=dtype))


def _dimension_numbers(ctx: FunctionContext, numbers: Any) -> IrAttribute:
    def make(context: object) -> IrAttribute:
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = [[list(axes) for axes in pair] for pair in numbers]
        text = (
            f"#stablehlo.dot<lhs_batching_dimensions = {lhs_batch}, rhs_batching_dimensions = {rhs_batch}, "
            f"lhs_contracting_dimensions = {lhs_contract}, rhs_contracting_dimensions = {rhs_contract}>"
        )
        return ctx.vocabulary.ir.Attribute.parse(text, context)

    return ctx.vocabulary.made(("dot", numbers), make)


def _algorithm(ctx: FunctionContext, precision: object, lhs: DType, rhs: DType) -> IrAttribute:
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


# --- on CPUs ---
#
# Where an operand has more than one contracted or free dimension, XLA copies it into an order of its own, though it
# multiplies matrices with either dimension contracted. So dimensions that stand together are made one: the programs of
# a transformer compile in 0.9 of the time; products of a few columns take 0.3 to 0.8 of it to run, others 0.9 to 1.0.

cpu = RuleSet("lower.xla.cpu", api=1)

# XLA's quick products want the contracted dimension of `lhs` last. Where it comes first, its copy is worth its time
# (without: 1.02 to 1.7 of it) unless one side of the result has no more elements than this.
THIN = 8


class Matrices(NamedTuple):
    """A contraction with one contracted and at most one free dimension for each operand: shapes and numbers."""

    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    out: tuple[int, ...]
    numbers: DotDimensionNumbers


@cpu.rule(dot_general_p)
def _of_matrices(
    ctx: FunctionContext,
    lhs: IrValue,
    rhs: IrValue,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: object,
    preferred_element_type: DType | None,
) -> IrValue:
    left, right = avals = ctx.in_avals
    form = None
    if ctx.module.meshes is None and not has_symbolic(left.shape) and not has_symbolic(right.shape):
        form = as_matrices(left.shape, right.shape, dimension_numbers)
    if form is None:
        return contraction(ctx, (lhs, rhs), avals, ctx.out_aval, dimension_numbers, precision)
    left, right = left.update(shape=form.lhs), right.update(shape=form.rhs)
    operands = reshape(ctx, lhs, left), reshape(ctx, rhs, right)
    out = ctx.out_aval.update(shape=form.out)
    product = contraction(ctx, operands, (left, right), out, form.numbers, precision)
    return reshape(ctx, product, ctx.out_aval)


@lru_cache(1024)
def as_matrices(lhs: tuple[int, ...], rhs: tuple[int, ...], numbers: DotDimensionNumbers) -> Matrices | None:
    """A contraction of arrays of these shapes as one of matrices; None where it is one, or has no such form."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    order = sorted(range(len(lhs_contract)), key=lhs_contract.__getitem__)
    contract = [lhs_contract[i] for i in order], [rhs_contract[i] for i in order]
    batch = tuple(range(len(lhs_batch)))
    free = free_axes(len(lhs), lhs_contract, lhs_batch), free_axes(len(rhs), rhs_contract, rhs_batch)
    groups = [*contract, *free]
    if not all(groups) or max(map(len, groups)) == 1:
        return None
    if batch != tuple(lhs_batch) or batch != tuple(rhs_batch) or not all(map(_together, groups)):
        return None
    rows, columns = prod([lhs[at] for at in free[0]]), prod([rhs[at] for at in free[1]])
    if contract[0] < [*free[0]] and min(rows, columns) > THIN:
        return None
    batches = lhs[: len(batch)]
    left, left_axis = _matrix(lhs, batches, contract[0], free[0])
    right, right_axis = _matrix(rhs, batches, contract[1], free[1])
    axes = DotDimensionNumbers((((left_axis,), (right_axis,)), (batch, batch)))
    return Matrices(left, right, (*batches, rows, columns), axes)


def _together(dimensions: Sequence[int]) -> bool:
    """Whether the dimensions stand one after the other, in order."""
    return [*dimensions] == [*range(dimensions[0], dimensions[0] + len(dimensions))]


def _matrix(
    shape: tuple[int, ...], batches: tuple[int, ...], contract: Sequence[int], free: Sequence[int]
) -> tuple[tuple[int, ...], int]:
    """The shape with one contracted and one free dimension, and which of them is contracted."""
    groups = sorted([(contract[0], contract), (free[0], free)])
    sizes = [prod([shape[at] for at in group]) for _, group in groups]
    return (*batches, *sizes), len(batches) + (groups[0][1] is free)
