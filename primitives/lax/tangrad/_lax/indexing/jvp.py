"""The derivatives of gather and the scatters."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._lax.elementwise import primitives as e
from tangrad._lax.indexing import primitives as p
from tangrad._lax.indexing.inverse import gathered, zeros
from tangrad._lax.indexing.other_factors import other_factors
from tangrad._lax.structure.primitives import broadcast_in_dim_p, iota_p, reshape_p
from tangrad.autodiff import Zero, add_tangents, instantiate, symbolic_zeros
from tangrad.core import Array, Primitive, RuleSet, ShapedArray, literal
from tangrad.typing import DType, Value, Values

jvp = RuleSet("jvp", api=1)


@jvp.rule(p.gather_p)
@symbolic_zeros
def _(
    primals: Values, tangents: tuple[Value | Zero, ...], *, fill_value: Any, **params: object
) -> tuple[Value, Value | Zero]:
    operand, indices = primals
    answer = p.gather_p.bind(operand, indices, fill_value=fill_value, **params)
    if type(tangents[0]) is Zero:
        return answer, Zero.of(answer)
    return answer, p.gather_p.bind(tangents[0], indices, fill_value=0, **params)


def _linear(primitive: Primitive) -> None:
    """Adding and subtracting are linear in operand and updates."""

    @jvp.rule(primitive)
    @symbolic_zeros
    def _(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> tuple[Value, Value | Zero]:
        operand, indices, updates = primals
        answer = primitive.bind(operand, indices, updates, **params)
        if type(tangents[0]) is Zero and type(tangents[2]) is Zero:
            return answer, Zero.of(answer)
        return answer, primitive.bind(instantiate(tangents[0]), indices, instantiate(tangents[2]), **params)


_linear(p.scatter_add_p)
_linear(p.scatter_sub_p)


@jvp.rule(p.scatter_mul_p)
@symbolic_zeros
def _(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> tuple[Value, Value | Zero]:
    operand, indices, updates = primals
    tangent_operand, _, tangent_updates = tangents
    answer = p.scatter_mul_p.bind(operand, indices, updates, **params)
    total: Any = Zero.of(answer)
    if type(tangent_operand) is not Zero:
        total = p.scatter_mul_p.bind(tangent_operand, indices, updates, **params)
    # Where nothing is scattered no index occurs twice, whatever was promised.
    if type(tangent_updates) is not Zero and 0 not in updates.aval.shape:
        if not params["unique_indices"]:
            others = other_factors(operand, indices, updates, params)
            tangent_updates = e.mul_p.bind(tangent_updates, others)
        spread = p.scatter_add_p.bind(zeros(operand.aval), indices, tangent_updates, **params)
        term = e.mul_p.bind(operand, spread)
        total = add_tangents(total, term)
    return answer, total


@jvp.rule(p.scatter_p)
@symbolic_zeros
def _(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> tuple[Value, Value | Zero]:
    operand, indices, updates = primals
    tangent_operand, _, tangent_updates = tangents
    answer = p.scatter_p.bind(operand, indices, updates, **params)
    if type(tangent_operand) is Zero and type(tangent_updates) is Zero:
        return answer, Zero.of(answer)
    tangent_operand, tangent_updates = instantiate(tangent_operand), instantiate(tangent_updates)
    if params["unique_indices"]:
        return answer, p.scatter_p.bind(tangent_operand, indices, tangent_updates, **params)
    # Where indices repeat, only one update is kept, and which one is the backend's choice. So find out: scatter the
    # updates' numbers, and keep the tangents of those that came through.
    count = int(np.prod(updates.aval.shape))
    wide = np.dtype(np.uint32)
    numbers = iota_p.bind(dtype=wide, shape=(count,), dimension=0)
    numbers = reshape_p.bind(add_one(numbers), new_sizes=updates.aval.shape, dimensions=None)
    winners = p.scatter_p.bind(zeros(ShapedArray(operand.aval.shape, wide)), indices, numbers, **params)
    untouched = e.eq_p.bind(winners, literal(0, wide))
    came_through = e.eq_p.bind(gathered(winners, indices, updates, params), numbers)
    zero = literal(0, operand.aval.dtype)
    masked_operand = e.select_n_p.bind(untouched, full_like(zero, tangent_operand), tangent_operand)
    masked_updates = e.select_n_p.bind(came_through, full_like(zero, tangent_updates), tangent_updates)
    return answer, p.scatter_add_p.bind(masked_operand, indices, masked_updates, **params)


def full_like(scalar: Value, value: Value) -> Value:
    """A scalar at the shape of a value."""
    shape = value.aval.shape
    return broadcast_in_dim_p.bind(scalar, shape=shape, broadcast_dimensions=()) if shape else scalar


def add_one(numbers: Value) -> Array:
    return e.add_p.bind(numbers, literal(1, numbers.aval.dtype))


def _extremum(primitive: Primitive) -> None:
    """The tangent of an extremum is that of the element that attains it; those that tie share it equally."""

    @jvp.rule(primitive)
    @symbolic_zeros
    def _(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> tuple[Value, Value | Zero]:
        operand, indices, updates = primals
        answer = primitive.bind(operand, indices, updates, **params)
        if type(tangents[0]) is Zero and type(tangents[2]) is Zero:
            return answer, Zero.of(answer)
        dtype = operand.aval.dtype
        kept = convert(e.eq_p.bind(operand, answer), dtype)
        won = convert(e.eq_p.bind(updates, gathered(answer, indices, updates, params)), dtype)
        shares = p.scatter_add_p.bind(kept, indices, won, **params)
        from_operand = e.mul_p.bind(instantiate(tangents[0]), e.div_p.bind(kept, at_least_one(shares)))
        own_share = at_least_one(gathered(shares, indices, updates, params))
        from_updates = e.mul_p.bind(instantiate(tangents[2]), e.div_p.bind(won, own_share))
        return answer, p.scatter_add_p.bind(from_operand, indices, from_updates, **params)


def convert(value: Value, dtype: DType) -> Array:
    return e.convert_element_type_p.bind(value, new_dtype=dtype, weak_type=False)


def at_least_one(count: Value) -> Array:
    return e.max_p.bind(count, literal(1, count.aval.dtype))


_extremum(p.scatter_min_p)
_extremum(p.scatter_max_p)
