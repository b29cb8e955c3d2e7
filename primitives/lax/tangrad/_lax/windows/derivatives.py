"""How convolutions and reductions over windows act on tangents, and map cotangents back.

`reduce_window` has no rule of its own: its derivative is that of the slices that it decomposes into.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad._lax.elementwise.primitives import convert_element_type_p, ge_p
from tangrad._lax.reductions.primitives import greatest, least
from tangrad._lax.structure.primitives import pad_p, rev_p, slice_p
from tangrad._lax.windows.dimensions import (
    ConvDimensionNumbers,
    join_axis,
    lhs_gradient_pads,
    permuted,
    rhs_gradient_pads,
    split_axis,
)
from tangrad._lax.windows.primitives import (
    SELECTIONS,
    conv_general_dilated_p,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
)
from tangrad.autodiff import (
    Linear,
    Zero,
    add_tangents,
    has_tangent,
    instantiate,
    is_linear,
    linear_jvp,
    linear_transpose_rule,
    symbolic_zeros,
)
from tangrad.core import Array, Primitive, RuleSet, ShapedArray, literal
from tangrad.typing import Value, Values

jvp = RuleSet("jvp", api=1)

linear_jvp(jvp, reduce_window_sum_p)


@jvp.rule(conv_general_dilated_p)
@symbolic_zeros
def _conv_general_dilated(
    primals: Values, tangents: tuple[Value | Zero, ...], **params: object
) -> tuple[Value, Value | Zero]:
    (lhs, rhs), (lhs_tangent, rhs_tangent) = primals, tangents
    answer = conv_general_dilated_p.bind(lhs, rhs, **params)
    total: Any = Zero.of(answer)
    if not has_tangent(answer.aval.dtype):
        return answer, total
    if type(lhs_tangent) is not Zero:
        total = conv_general_dilated_p.bind(lhs_tangent, rhs, **params)
    if type(rhs_tangent) is not Zero:
        total = add_tangents(total, conv_general_dilated_p.bind(lhs, rhs_tangent, **params))
    return answer, total


def _extremum(primitive: Primitive, select_prim: Primitive) -> Callable[..., tuple[Array, Array]]:
    """The tangent of the first element that is the greatest, or least."""

    def rule(primals: Values, tangents: Values, **params: object) -> tuple[Array, Array]:
        (operand,), (tangent,) = primals, tangents
        answer = primitive.bind(operand, **params)
        return answer, select_and_gather_add_p.bind(tangent, operand, select_prim=select_prim, **params)

    return rule


jvp.table({primitive: _extremum(primitive, select_prim) for primitive, select_prim in SELECTIONS.items()})


def _selected(primitive: Primitive) -> Any:
    """Linear in the first argument; what is selected does not change with the second."""

    @symbolic_zeros
    def rule(primals: Values, tangents: Values, **params: object) -> tuple[Array, Array]:
        answer = primitive.bind(*primals, **params)
        if type(tangents[0]) is Zero:
            return answer, Zero.of(answer)
        return answer, primitive.bind(tangents[0], primals[1], **params)

    return rule


jvp.table({primitive: _selected(primitive) for primitive in (select_and_gather_add_p, select_and_scatter_add_p)})


# --- cotangents ---
# Spatial dimensions apart, a convolution contracts [batch, in] [in, out] -> [batch, out]. So the cotangent of the input
# is [batch, out] [out, in], that of the kernel [in, batch] [batch, out]. Groups of features become groups of features
# for the input and groups of the batch for the kernel; groups of the batch become groups of features for both.

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("it is not linear", *SELECTIONS)


# --- convolution ---


@transpose.rule(conv_general_dilated_p)
def _conv_general_dilated_transposed(ct: Value, lhs: Any, rhs: Any, **params: Any) -> tuple[Value | None, ...]:
    if is_linear(lhs):
        return _input_cotangent(ct, lhs, rhs, **params), None
    return None, _kernel_cotangent(ct, lhs, rhs, **params)


def _input_cotangent(
    ct: Value,
    lhs: Linear,
    rhs: Value,
    *,
    window_strides: tuple[int, ...],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: object,
) -> Value:
    """The cotangent, dilated by the strides, convolved with the reversed kernel in steps of the input's dilation."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = lhs_gradient_pads(
        permuted(lhs.aval.shape, lhs_spec)[2:],
        permuted(rhs.aval.shape, rhs_spec)[2:],
        window_strides,
        permuted(ct.aval.shape, out_spec)[2:],
        padding,
        lhs_dilation,
        rhs_dilation,
    )
    groups = max(feature_group_count, batch_group_count)
    if groups > 1:  # the groups move from the output features of the kernel to its input features
        rhs = join_axis(split_axis(rhs, rhs_spec[0], groups), rhs_spec[0], rhs_spec[1])
    reversed_kernel = _in_dtype(rev_p.bind(rhs, dimensions=rhs_spec[2:]), ct.aval)
    out: Value = conv_general_dilated_p.bind(
        ct,
        reversed_kernel,
        window_strides=lhs_dilation,
        padding=tuple(pads),
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, _exchanged(rhs_spec), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        **params,
    )
    out = _in_dtype(out, lhs.aval)
    if batch_group_count > 1:
        out = join_axis(split_axis(out, lhs_spec[1], batch_group_count), lhs_spec[1], lhs_spec[0])
    return out


def _kernel_cotangent(
    ct: Value,
    lhs: Value,
    rhs: Linear,
    *,
    window_strides: tuple[int, ...],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: object,
) -> Value:
    """The input convolved with the cotangent, dilated by the strides, in steps of the kernel's dilation."""
    if 0 in ct.aval.shape:  # a kernel without elements could not be convolved with
        return instantiate(Zero(rhs.aval))
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = rhs_gradient_pads(
        permuted(lhs.aval.shape, lhs_spec)[2:],
        permuted(rhs.aval.shape, rhs_spec)[2:],
        window_strides,
        permuted(ct.aval.shape, out_spec)[2:],
        padding,
        lhs_dilation,
        rhs_dilation,
    )
    out = conv_general_dilated_p.bind(
        _in_dtype(lhs, ct.aval),
        ct,
        window_strides=rhs_dilation,
        padding=tuple(pads),
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(*[_exchanged(spec) for spec in (lhs_spec, out_spec, rhs_spec)]),
        feature_group_count=batch_group_count,
        batch_group_count=feature_group_count,
        **params,
    )
    return _in_dtype(out, rhs.aval)


def _exchanged(spec: tuple[int, ...]) -> tuple[int, ...]:
    """A spec with its first two dimensions exchanged."""
    return (spec[1], spec[0], *spec[2:])


def _in_dtype(value: Value, aval: ShapedArray) -> Value:
    if value.aval.dtype is aval.dtype:
        return value
    return convert_element_type_p.bind(value, new_dtype=aval.dtype, weak_type=aval.weak_type)


# --- reductions over windows ---


def _reduce_window_sum(
    ct: Value,
    operand: Any,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> Array:
    """The sums of the windows of the cotangent in which an element of the operand was."""
    ones = (1,) * operand.ndim
    pads = lhs_gradient_pads(
        operand.shape, window_dimensions, window_strides, ct.aval.shape, padding, base_dilation, window_dilation
    )
    config = tuple([(low, high, stride - 1) for (low, high), stride in zip(pads, window_strides)])
    return reduce_window_sum_p.bind(
        pad_p.bind(ct, literal(0, ct.aval.dtype), padding_config=config),
        window_dimensions=window_dimensions,
        window_strides=base_dilation,
        padding=((0, 0),) * operand.ndim,
        base_dilation=ones,
        window_dilation=window_dilation,
    )


linear_transpose_rule(transpose, reduce_window_sum_p, _reduce_window_sum)


@transpose.rule(select_and_gather_add_p)
def _select_and_gather_add(
    ct: Value,
    tangents: Value | Linear,
    operand: Value | Linear,
    *,
    base_dilation: tuple[int, ...],
    window_dilation: tuple[int, ...],
    **params: object,
) -> tuple[Value | None, ...]:
    if any([dilation != 1 for dilation in window_dilation]):
        raise NotImplementedError(
            "the greatest or least elements of windows are differentiable in reverse mode only without "
            f"window_dilation, got {window_dilation}"
        )
    ones = (1,) * operand.aval.ndim
    if base_dilation == ones:
        return select_and_scatter_add_p.bind(ct, operand, **params), None
    config = tuple([(0, 0, dilation - 1) for dilation in base_dilation])
    operand = pad_p.bind(operand, unselected(operand.aval.dtype, params["select_prim"]), padding_config=config)
    out = select_and_scatter_add_p.bind(ct, operand, **params)
    shape = out.aval.shape
    out = slice_p.bind(out, start_indices=(0,) * len(shape), limit_indices=shape, strides=base_dilation)
    return out, None


def unselected(dtype: np.dtype, select_prim: object) -> Value:
    """A number that is selected only where there is no other."""
    return literal((least if select_prim is ge_p else greatest)(dtype), dtype)


@transpose.rule(select_and_scatter_add_p)
def _select_and_scatter_add(
    ct: Value, source: Value | Linear, operand: Value | Linear, **params: object
) -> tuple[Value | None, ...]:
    ones = (1,) * operand.aval.ndim
    return select_and_gather_add_p.bind(ct, operand, base_dilation=ones, window_dilation=ones, **params), None
