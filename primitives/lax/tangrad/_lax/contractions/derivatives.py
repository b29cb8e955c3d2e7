"""How contractions act on tangents: they are linear in each of the two factors; and how they map cotangents back."""

from __future__ import annotations

from functools import lru_cache

from tangrad._lax.contractions.primitives import (
    BATCH,
    CONTRACTING,
    FREE,
    DotDimensionNumbers,
    Layout,
    RaggedDotDimensionNumbers,
    dot_general_p,
    free_axes,
    layout,
    ragged_dot_general_p,
    transposed_to,
)
from tangrad._lax.elementwise.primitives import convert_element_type_p
from tangrad._lax.structure.primitives import transpose_p
from tangrad.autodiff import Linear, Zero, add_tangents, has_tangent, is_linear, symbolic_zeros
from tangrad.core import Primitive, RuleSet, ShapedArray
from tangrad.typing import DType, Value, Values

jvp = RuleSet("jvp", api=1)


def _product(primitive: Primitive) -> None:
    """Register the rule of a product of the first two operands; what follows them (sizes of groups) does not vary."""

    @jvp.rule(primitive)
    @symbolic_zeros
    def _(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> tuple[Value, Value | Zero]:
        (lhs, rhs, *sizes), (lhs_tangent, rhs_tangent, *_) = primals, tangents
        answer = primitive.bind(lhs, rhs, *sizes, **params)
        if not has_tangent(answer.aval.dtype) or type(lhs_tangent) is type(rhs_tangent) is Zero:
            return answer, Zero.of(answer)
        if type(lhs_tangent) is Zero:
            return answer, primitive.bind(lhs, rhs_tangent, *sizes, **params)
        if type(rhs_tangent) is Zero:
            return answer, primitive.bind(lhs_tangent, rhs, *sizes, **params)
        of_lhs, of_rhs = (lhs_tangent, rhs), (lhs, rhs_tangent)
        return answer, add_tangents(*[primitive.bind(*pair, *sizes, **params) for pair in (of_lhs, of_rhs)])


_product(dot_general_p)
_product(ragged_dot_general_p)


# --- cotangents ---

transpose = RuleSet("transpose", api=1)


@transpose.rule(dot_general_p)
def _dot_general(
    ct: Value,
    lhs: Value | Linear,
    rhs: Value | Linear,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: object,
    preferred_element_type: DType | None,
) -> tuple[Value | None, ...]:
    rhs_is_linear = is_linear(rhs)
    if rhs_is_linear and is_linear(lhs):
        raise TypeError("dot_general: a product of two arguments is not linear in both, so it cannot be transposed")
    linear, other = (rhs, lhs) if rhs_is_linear else (lhs, rhs)
    numbers, ct_first, permutation = transposed(dimension_numbers, lhs.aval.ndim, rhs.aval.ndim, rhs_is_linear)
    out: Value = dot_general_p.bind(
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


# --- ragged ---


@transpose.rule(ragged_dot_general_p)
def _ragged(
    ct: Value,
    lhs: Value | Linear,
    rhs: Value | Linear,
    group_sizes: Value | Linear,
    *,
    ragged_dot_dimension_numbers: object,
    **params: object,
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
    out: Value = ragged_dot_general_p.bind(*operands, group_sizes, ragged_dot_dimension_numbers=numbers, **params)
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


def _numbers(contracting: object, batch: object, ragged: int, group: tuple[int, ...]) -> RaggedDotDimensionNumbers:
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


@lru_cache(1024)
def transposed(
    numbers: DotDimensionNumbers, lhs_rank: int, rhs_rank: int, rhs_is_linear: bool
) -> tuple[DotDimensionNumbers, bool, tuple[int, ...] | None]:
    """The contraction of a cotangent with the other operand that gives the cotangent of the linear one.

    Returns its dimension numbers, whether the cotangent comes first in it, and how its result must be permuted; None:
    not at all. It comes last where that spares a permutation.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    sides = [(lhs_rank, lhs_contract, lhs_batch), (rhs_rank, rhs_contract, rhs_batch)]
    if rhs_is_linear:
        sides.reverse()
    (rank, contract, batch), (other_rank, other_contract, other_batch) = sides
    free, other_free = free_axes(rank, contract, batch), free_axes(other_rank, other_contract, other_batch)
    # In the cotangent the batch dimensions come first, then those of lhs.
    start = len(batch) if rhs_is_linear else len(batch) + len(free)
    ct_other = tuple(range(start, start + len(other_free)))
    ct_batch = tuple(range(len(batch)))
    # What is left of the other operand are its contracted dimensions, in its own order.
    by_other = [contract[i] for i in sorted(range(len(contract)), key=other_contract.__getitem__)]
    every = list(range(rank))
    if [*batch, *by_other, *free] == every:
        return DotDimensionNumbers(((other_free, ct_other), (other_batch, ct_batch))), False, None
    found = [*batch, *free, *by_other]
    permutation = None if found == every else tuple(sorted(every, key=found.__getitem__))
    return DotDimensionNumbers(((ct_other, other_free), (ct_batch, other_batch))), True, permutation
