"""What the derivative of a product by one of its factors is, where a scatter multiplies: the product of the others.

It is a product of those before and those behind it, never a quotient: so it is right where factors are 0, and so are
its own derivatives. The updates are sorted by the place that they go to, and what goes to one place is multiplied up
from either end.
"""

from __future__ import annotations

import math
from typing import Any

from tangrad._lax.elementwise import primitives as e
from tangrad._lax.indexing.inverse import gathered
from tangrad._lax.reductions.running import associative_scan
from tangrad._lax.sorting.primitives import sort_p
from tangrad._lax.structure.primitives import broadcast_in_dim_p, concatenate_p, iota_p, reshape_p, slice_p
from tangrad.core import Array, dtypes, literal
from tangrad.typing import Params, Value

BOOL, NUMBER = dtypes.as_dtype(bool), dtypes.as_dtype("uint32")
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


def _joined(xs: Pair, ys: Pair) -> Pair:
    """Two stretches, each with whether a group begins in it and the product since it began."""
    (begun, product), (begins, factor) = xs, ys
    here = e.ne_p.bind(begins, full(literal(0, NUMBER), begins.aval.shape[0]))
    return e.or_p.bind(begun, begins), e.select_n_p.bind(here, e.mul_p.bind(product, factor), factor)
