"""How the structural primitives act on tangents and map cotangents back.

They are linear, so tangents are moved as the elements are. What was copied is summed, what was cut out is padded.
"""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._lax.elementwise.primitives import sub_p
from tangrad._lax.reductions.primitives import reduce_sum_p
from tangrad._lax.structure import primitives as p
from tangrad.autodiff import (
    Linear,
    Zero,
    instantiate,
    is_linear,
    linear_jvp,
    linear_transpose_rule,
    symbolic_zeros,
    zero_jvp,
    zeros,
)
from tangrad.core import Array, RuleSet, ShapedArray, literal
from tangrad.typing import Dimensions, Value, Values

jvp = RuleSet("jvp", api=1)

linear_jvp(jvp, p.broadcast_in_dim_p, p.reshape_p, p.transpose_p, p.squeeze_p, p.rev_p)
linear_jvp(jvp, p.slice_p, p.split_p, p.concatenate_p, p.pad_p, p.copy_p)
zero_jvp(jvp, p.iota_p, p.stop_gradient_p)


@jvp.rule(p.dynamic_slice_p)
@symbolic_zeros
def _dynamic_slice(
    primals: Values, tangents: tuple[Value | Zero, ...], *, slice_sizes: Dimensions
) -> tuple[Value, Value | Zero]:
    operand, *starts = primals
    answer = p.dynamic_slice_p.bind(operand, *starts, slice_sizes=slice_sizes)
    if type(tangents[0]) is Zero:
        return answer, Zero.of(answer)
    return answer, p.dynamic_slice_p.bind(tangents[0], *starts, slice_sizes=slice_sizes)


@jvp.rule(p.dynamic_update_slice_p)
@symbolic_zeros
def _dynamic_update_slice(primals: Values, tangents: tuple[Value | Zero, ...]) -> tuple[Value, Value | Zero]:
    operand, update, *starts = primals
    answer = p.dynamic_update_slice_p.bind(operand, update, *starts)
    if type(tangents[0]) is Zero and type(tangents[1]) is Zero:
        return answer, Zero.of(answer)
    return answer, p.dynamic_update_slice_p.bind(instantiate(tangents[0]), instantiate(tangents[1]), *starts)


@jvp.rule(p.optimization_barrier_p)
@symbolic_zeros
def _optimization_barrier(
    primals: Values, tangents: tuple[Value | Zero, ...]
) -> tuple[Sequence[Value], Sequence[Value | Zero]]:
    answers = p.optimization_barrier_p.bind(*primals)
    given = [tangent for tangent in tangents if type(tangent) is not Zero]
    # Tangents have a barrier of their own, so that primals do not wait for them.
    moved = iter(p.optimization_barrier_p.bind(*given) if given else ())
    return answers, tuple([tangent if type(tangent) is Zero else next(moved) for tangent in tangents])


# --- cotangents ---

transpose = RuleSet("transpose", api=1)


def _zero(like: Value) -> Value:
    return literal(0, like.aval.dtype, like.aval.weak_type)


def total(value: Value, axes: Sequence[int]) -> Value:
    """The sum over some axes."""
    return reduce_sum_p.bind(value, axes=tuple(axes)) if axes else value


# --- shape ---


def _broadcast_in_dim(
    ct: Value, operand: ShapedArray, *, shape: Dimensions, broadcast_dimensions: tuple[int, ...]
) -> Value:
    stretched = [d for d, size in zip(broadcast_dimensions, operand.shape) if size != shape[d]]
    kept = [d for d in broadcast_dimensions if d not in stretched]
    ct = total(ct, [d for d in range(len(shape)) if d not in kept])
    if not stretched:
        return ct
    back = tuple([i for i, d in enumerate(broadcast_dimensions) if d not in stretched])
    return p.broadcast_in_dim_p.bind(ct, shape=operand.shape, broadcast_dimensions=back)


def _reshape(ct: Value, operand: ShapedArray, *, new_sizes: Dimensions, dimensions: tuple[int, ...] | None) -> Array:
    if dimensions is None:
        return p.reshape_p.bind(ct, new_sizes=operand.shape, dimensions=None)
    ordered = p.reshape_p.bind(ct, new_sizes=tuple([operand.shape[d] for d in dimensions]), dimensions=None)
    return p.transpose_p.bind(ordered, permutation=inverse(dimensions))


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes one."""
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


linear_transpose_rule(transpose, p.broadcast_in_dim_p, _broadcast_in_dim)
linear_transpose_rule(transpose, p.reshape_p, _reshape)
linear_transpose_rule(
    transpose, p.transpose_p, lambda ct, x, *, permutation: p.transpose_p.bind(ct, permutation=inverse(permutation))
)
linear_transpose_rule(
    transpose, p.squeeze_p, lambda ct, x, *, dimensions: p.reshape_p.bind(ct, new_sizes=x.shape, dimensions=None)
)
linear_transpose_rule(transpose, p.rev_p, lambda ct, x, *, dimensions: p.rev_p.bind(ct, dimensions=dimensions))
linear_transpose_rule(transpose, p.copy_p, lambda ct, x: ct)

# --- parts ---


def _slice(
    ct: Value,
    operand: ShapedArray,
    *,
    start_indices: Dimensions,
    limit_indices: Dimensions,
    strides: tuple[int, ...] | None,
) -> Array:
    steps = strides or (1,) * len(start_indices)
    config = []
    for start, step, taken, size in zip(start_indices, steps, ct.aval.shape, operand.shape):
        config.append((start, size - start - p.dilated_size(taken, step - 1), step - 1))
    return p.pad_p.bind(ct, _zero(ct), padding_config=tuple(config))


linear_transpose_rule(transpose, p.slice_p, _slice)


@transpose.rule(p.split_p)
def _split(
    cotangents: Values, operand: Value | Linear, *, sizes: tuple[int, ...], axis: int
) -> tuple[Value | None, ...]:
    return (p.concatenate_p.bind(*cotangents, dimension=axis) if len(cotangents) > 1 else cotangents[0],)


@transpose.rule(p.dynamic_slice_p)
def _dynamic_slice_transposed(
    ct: Value, operand: Value | Linear, *starts: Value | Linear, slice_sizes: Dimensions
) -> tuple[Value | None, ...]:
    return (p.dynamic_update_slice_p.bind(zeros(operand.aval), ct, *starts), *[None] * len(starts))


@transpose.rule(p.dynamic_update_slice_p)
def _dynamic_update_slice_transposed(
    ct: Value, operand: Value | Linear, update: Value | Linear, *starts: Value | Linear
) -> tuple[Value | None, ...]:
    rest = update_ct = None
    if is_linear(operand):
        rest = p.dynamic_update_slice_p.bind(ct, zeros(update.aval), *starts)
    if is_linear(update):
        update_ct = p.dynamic_slice_p.bind(ct, *starts, slice_sizes=update.aval.shape)
    return (rest, update_ct, *[None] * len(starts))


# --- joining ---


@transpose.rule(p.concatenate_p)
def _concatenate(ct: Value, *operands: Value | Linear, dimension: int) -> tuple[Value | None, ...]:
    sizes = tuple([operand.aval.shape[dimension] for operand in operands])
    if len(operands) == 1:
        return (ct,)
    parts = p.split_p.bind(ct, sizes=sizes, axis=dimension)
    return tuple([part if is_linear(operand) else None for part, operand in zip(parts, operands)])


@transpose.rule(p.pad_p)
def _pad(
    ct: Value, operand: Value | Linear, padding_value: Value | Linear, *, padding_config: tuple[tuple[int, ...], ...]
) -> tuple[Value | None, ...]:
    operand_ct = _unpad(ct, operand.aval.shape, padding_config)
    if not is_linear(padding_value):
        return operand_ct, None
    # All that is not the operand's is the padding's; what was cut off the operand has got zeros.
    every = total(ct, range(len(padding_config)))
    return operand_ct if is_linear(operand) else None, sub_p.bind(every, total(operand_ct, range(len(padding_config))))


def _unpad(ct: Value, shape: Dimensions, config: tuple[tuple[int, ...], ...]) -> Array:
    """The operand's own part of a padded array; zeros where it was cut off."""
    if any(size == 0 for size in shape):
        return p.broadcast_in_dim_p.bind(_zero(ct), shape=shape, broadcast_dimensions=())
    undone = tuple([(-low, -high, 0) for low, high, _ in config])
    whole = p.pad_p.bind(ct, _zero(ct), padding_config=undone)
    steps = tuple([interior + 1 for _, _, interior in config])
    if all(step == 1 for step in steps):
        return whole
    return p.slice_p.bind(whole, start_indices=(0,) * len(config), limit_indices=whole.aval.shape, strides=steps)


# --- identities ---


@transpose.rule(p.optimization_barrier_p)
@symbolic_zeros
def _optimization_barrier_transposed(
    cotangents: tuple[Value | Zero, ...], *operands: Value | Linear
) -> tuple[Value | None, ...]:
    given = [ct for ct in cotangents if type(ct) is not Zero]
    moved = iter(p.optimization_barrier_p.bind(*given) if given else ())
    return tuple([None if type(ct) is Zero else next(moved) for ct in cotangents])


transpose.not_applicable("it has no operands", p.iota_p)
# Of a value that has a tangent none passes. What a linear program hands it is itself a tangent, as when a rule of a
# user's calls jvp of a mapped conditional: forward it stays what it is, and so does its cotangent.
linear_transpose_rule(transpose, p.stop_gradient_p, lambda ct, x: ct)
