"""How contractions map cotangents back: by a contraction with the other operand."""

from __future__ import annotations

from typing import Any

from tangrad._lax.contractions.dimensions import transposed
from tangrad._lax.contractions.primitives import DotDimensionNumbers, dot_general_p
from tangrad._lax.contractions.ragged import (
    BATCH,
    CONTRACTING,
    FREE,
    Layout,
    RaggedDotDimensionNumbers,
    layout,
    ragged_dot_general_p,
    transposed_to,
)
from tangrad._lax.elementwise.primitives import convert_element_type_p
from tangrad._lax.structure.primitives import transpose_p
from tangrad.autodiff import Linear, is_linear
from tangrad.core import RuleSet, ShapedArray
from tangrad.typing import DType, Value

transpose = RuleSet("transpose", api=1)


@transpose.rule(dot_general_p)
def _dot_general(
    ct: Value,
    lhs: Value | Linear,
    rhs: Value | Linear,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: Any,
    preferred_element_type: DType | None,
) -> tuple[Value | None, ...]:
    rhs_is_linear = is_linear(rhs)
    if rhs_is_linear and is_linear(lhs):
        raise TypeError("dot_general: a product of two arguments is not linear in both, so it cannot be transposed")
    linear, other = (rhs, lhs) if rhs_is_linear else (lhs, rhs)
    numbers, ct_first, permutation = transposed(dimension_numbers, lhs.aval.ndim, rhs.aval.ndim, rhs_is_linear)
    out = dot_general_p.bind(
        *((ct, other) if ct_first else (other, ct)),
        dimension_numbers=numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    if permutation is not None:
        out = transpose_p.bind(out, permutation=permutation)
    out = _of_dtype(out, linear.aval)
    return (None, out) if rhs_is_linear else (out, None)


def _of_dtype(x: Value, aval: ShapedArray) -> Value:
    if x.aval.dtype is aval.dtype:
        return x
    return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=aval.weak_type)


# --- ragged --------------------------------------------------------------------------------------------------------


@transpose.rule(ragged_dot_general_p)
def _ragged(
    ct: Value,
    lhs: Value | Linear,
    rhs: Value | Linear,
    group_sizes: Value | Linear,
    *,
    ragged_dot_dimension_numbers: Any,
    **params: Any,
) -> tuple[Value | None, ...]:
    rhs_is_linear = is_linear(rhs)
    if rhs_is_linear and is_linear(lhs):
        raise TypeError("ragged_dot_general: a product of two arguments is not linear in both: it has no transpose")
    form = layout(ragged_dot_dimension_numbers, lhs.aval.ndim, rhs.aval.ndim)
    lhs_order = (*form.lhs_batch, *form.lhs_free, *form.lhs_contracting)
    rhs_order = (*form.group, *form.rhs_batch, *form.rhs_contracting, *form.rhs_free)
    if rhs_is_linear:
        numbers, order = _of_rhs(form), rhs_order
        operands = transposed_to(lhs, lhs_order), ct
    else:
        numbers, order = _of_lhs(form), lhs_order
        other = transposed_to(rhs, rhs_order)
        operands = (other, ct) if form.mode is CONTRACTING else (ct, other)
    out = ragged_dot_general_p.bind(*operands, group_sizes, ragged_dot_dimension_numbers=numbers, **params)
    if not rhs_is_linear and form.mode is CONTRACTING:  # the contracted dimensions come before the free ones
        order = (*form.lhs_batch, *form.lhs_contracting, *form.lhs_free)
    out = transposed_to(out, sorted(range(len(order)), key=order.__getitem__))
    if rhs_is_linear:
        return None, _of_dtype(out, rhs.aval), None
    return _of_dtype(out, lhs.aval), None, None


def _spans(*counts: int) -> list[tuple[int, ...]]:
    """Consecutive dimensions in groups of these sizes."""
    ends = [sum(counts[: i + 1]) for i in range(len(counts))]
    return [tuple(range(end - count, end)) for end, count in zip(ends, counts)]


def _numbers(contracting: Any, batch: Any, ragged: int, group: tuple[int, ...]) -> RaggedDotDimensionNumbers:
    return RaggedDotDimensionNumbers(DotDimensionNumbers((contracting, batch)), (ragged,), group)


def _of_lhs(form: Layout) -> RaggedDotDimensionNumbers:
    """Of the contraction of cotangent and `rhs` (of `rhs` and cotangent, where the ragged dimension is contracted).

    The operands' dimensions stand in order: of the cotangent batch, those of `lhs`, those of `rhs`; of `rhs` batch,
    contracted, free; and before these the groups, if there.
    """
    batch, free, contracted, others = map(len, (form.lhs_batch, form.lhs_free, form.lhs_contracting, form.rhs_free))
    if form.mode is CONTRACTING:
        group, ct_batch, _, ct_others = _spans(1, batch, free, others)
        rhs_batch, rhs_contracted, rhs_others = _spans(batch, contracted, others)
        return _numbers((rhs_others, ct_others), (rhs_batch, ct_batch), rhs_contracted[form.place], group)
    ct_batch, ct_free, ct_others = _spans(batch, free, others)
    group, rhs_batch, _, rhs_others = _spans(len(form.group), batch, contracted, others)
    ragged = ct_free if form.mode is FREE else ct_batch
    return _numbers((ct_others, rhs_others), (ct_batch, rhs_batch), ragged[form.place], group)


def _of_rhs(form: Layout) -> RaggedDotDimensionNumbers:
    """Of the contraction of `lhs` and cotangent, with their dimensions in order."""
    batch, free, contracted, others = map(len, (form.lhs_batch, form.lhs_free, form.lhs_contracting, form.rhs_free))
    lhs_batch, lhs_free, lhs_contracted = _spans(batch, free, contracted)
    group, ct_batch, ct_free, _ = _spans(int(form.mode is CONTRACTING), batch, free, others)
    ragged = {FREE: lhs_free, CONTRACTING: lhs_contracted, BATCH: lhs_batch}[form.mode][form.place]
    return _numbers((lhs_free, ct_free), (lhs_batch, ct_batch), ragged, group)
