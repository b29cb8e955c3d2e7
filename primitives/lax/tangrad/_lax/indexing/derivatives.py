"""The derivatives of gather and the scatters; what gather reads, a scatter adds back, and the other way round.

Where a scatter multiplies, the derivative by one factor is the product of the others: of those before and those behind
it, never a quotient. So it is right where factors are 0, and so are its own derivatives. The updates are sorted by the
place that they go to, and what goes to one place is multiplied up from either end.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tangrad._lax.elementwise import primitives as e
from tangrad._lax.elementwise.primitives import mul_p, neg_p
from tangrad._lax.indexing import primitives as p
from tangrad._lax.indexing.primitives import GatherDimensionNumbers, gather_of, gather_p, scatter_of, window_sizes
from tangrad._lax.reductions.decompositions import associative_scan
from tangrad._lax.sorting.primitives import sort_p
from tangrad._lax.structure.primitives import broadcast_in_dim_p, concatenate_p, iota_p, reshape_p, slice_p
from tangrad.autodiff import Linear, Zero, add_tangents, instantiate, is_linear, symbolic_zeros
from tangrad.core import Array, Primitive, RuleSet, ShapedArray, dtypes, literal
from tangrad.typing import DType, Params, Value, Values


def zeros(aval: ShapedArray) -> Array:
    """Zeros of the type of an aval."""
    return broadcast_in_dim_p.bind(literal(0, aval.dtype), shape=aval.shape, broadcast_dimensions=())


def gathered(values: Value, indices: Value, updates: Value | Linear, params: Params) -> Array:
    """What stands in `values` where a scatter with these parameters writes its updates."""
    numbers = params["dimension_numbers"]
    return gather_p.bind(
        values,
        indices,
        dimension_numbers=gather_of(numbers),
        slice_sizes=window_sizes(numbers, values.aval.shape, updates.aval.shape),
        indices_are_sorted=params["indices_are_sorted"],
        unique_indices=params["unique_indices"],
        mode=params["mode"],
        fill_value=0,
    )


BOOL, NUMBER = dtypes.as_dtype(bool), dtypes.as_dtype("uint32")
# --- the other factors of a product ---

Pair = tuple[Any, Any]


def other_factors(operand: Value, indices: Value, updates: Value, params: Params) -> Array:
    """For each update the product of the other updates that the scatter takes to the same place."""
    shape = updates.aval.shape
    count = math.prod(shape)
    places = gathered(_numbers(operand.aval.shape), indices, updates, {**params, "unique_indices": False})
    places, factors = [reshape_p.bind(x, new_sizes=(count,), dimensions=None) for x in (places, updates)]
    places, factors, order = sort_p.bind(places, factors, _numbers((count,)), dimension=0, is_stable=True, num_keys=1)
    changes = e.ne_p.bind(_part(places, 0, count - 1), _part(places, 1, count))
    before = _product_before(factors, changes, reverse=False)
    behind = _product_before(factors, changes, reverse=True)
    _, found = sort_p.bind(order, e.mul_p.bind(before, behind), dimension=0, is_stable=True, num_keys=1)
    return reshape_p.bind(found, new_sizes=shape, dimensions=None)


def _numbers(shape: tuple[int, ...]) -> Array:
    """The numbers of the elements from 1 on: 0 is left for what is dropped."""
    flat = e.add_p.bind(iota_p.bind(dtype=NUMBER, shape=(math.prod(shape),), dimension=0), literal(1, NUMBER))
    return reshape_p.bind(flat, new_sizes=shape, dimensions=None)


def _part(x: Value, start: int, limit: int) -> Array:
    return slice_p.bind(x, start_indices=(start,), limit_indices=(limit,), strides=None)


def _product_before(factors: Value, changes: Value, reverse: bool) -> Array:
    """Of each element the product of those before it in its group, or with `reverse` of those behind it."""
    count = factors.aval.shape[0]
    one = broadcast_in_dim_p.bind(literal(1, factors.aval.dtype), shape=(1,), broadcast_dimensions=())
    first = broadcast_in_dim_p.bind(literal(True, BOOL), shape=(1,), broadcast_dimensions=())
    ends = (changes, first) if reverse else (first, changes)
    begins = concatenate_p.bind(*ends, dimension=0)
    counted = e.convert_element_type_p.bind(begins, new_dtype=NUMBER, weak_type=False)  # a scan adds what it scans
    _, products = associative_scan(_joined, (counted, factors), 0, reverse)
    moved = (_part(products, 1, count), one) if reverse else (one, _part(products, 0, count - 1))
    shifted = concatenate_p.bind(*moved, dimension=0)
    return e.select_n_p.bind(begins, shifted, full(literal(1, factors.aval.dtype), count))


def full(number: Value, count: int) -> Array:
    return broadcast_in_dim_p.bind(number, shape=(count,), broadcast_dimensions=())


def _joined(xs: Values, ys: Values) -> Values:
    """Two stretches, each with whether a group begins in it and the product since it began."""
    (begun, product), (begins, factor) = xs, ys
    here = e.ne_p.bind(begins, full(literal(0, NUMBER), begins.aval.shape[0]))
    return e.or_p.bind(begun, begins), e.select_n_p.bind(here, e.mul_p.bind(product, factor), factor)


# --- tangents ---

jvp = RuleSet("jvp", api=1)


@jvp.rule(p.gather_p)
@symbolic_zeros
def _(
    primals: Values, tangents: tuple[Value | Zero, ...], *, fill_value: object, **params: object
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


# --- cotangents ---

transpose = RuleSet("transpose", api=1)


@transpose.rule(p.gather_p)
def _(
    cotangent: Value,
    operand: Value | Linear,
    indices: Value | Linear,
    *,
    dimension_numbers: GatherDimensionNumbers,
    **params: object,
) -> tuple[Value | None, ...]:
    options = {name: params[name] for name in ("indices_are_sorted", "unique_indices", "mode")}
    numbers = scatter_of(dimension_numbers)
    return p.scatter_add_p.bind(zeros(operand.aval), indices, cotangent, dimension_numbers=numbers, **options), None


def _additive(primitive: Primitive, negative: bool) -> None:
    @transpose.rule(primitive)
    def _(
        cotangent: Value, operand: Value | Linear, indices: Value, updates: Value | Linear, **params: object
    ) -> tuple[Value | None, ...]:
        from_updates = None
        if is_linear(updates):
            from_updates = gathered(cotangent, indices, updates, params)
            from_updates = neg_p.bind(from_updates) if negative else from_updates
        return cotangent if is_linear(operand) else None, None, from_updates


_additive(p.scatter_add_p, False)
_additive(p.scatter_sub_p, True)


@transpose.rule(p.scatter_p)
def _(
    cotangent: Value, operand: Value | Linear, indices: Value, updates: Value | Linear, **params: object
) -> tuple[Value | None, ...]:
    # Linear where each index occurs once; the jvp rule makes no other.
    from_operand = p.scatter_p.bind(cotangent, indices, zeros(updates.aval), **params) if is_linear(operand) else None
    return from_operand, None, gathered(cotangent, indices, updates, params) if is_linear(updates) else None


@transpose.rule(p.scatter_mul_p)
def _(
    cotangent: Value, operand: Value | Linear, indices: Value, updates: Value | Linear, **params: object
) -> tuple[Value | None, ...]:
    if is_linear(operand):
        return p.scatter_mul_p.bind(cotangent, indices, updates, **params), None, None
    return None, None, gathered(mul_p.bind(cotangent, operand), indices, updates, params)


transpose.not_applicable("extrema are not linear", p.scatter_min_p, p.scatter_max_p)
