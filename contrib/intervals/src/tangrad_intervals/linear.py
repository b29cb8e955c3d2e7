"""What moves elements moves their bounds; sums add them; of products of arrays midpoints and radii are taken.

Rump, Fast and parallel interval arithmetic, BIT 39, 1999: the product of two intervals of matrices in terms of
midpoints m and radii r is within |m_x| r_y + r_x (|m_y| + r_y) of m_x m_y, which takes a few products of matrices.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tangrad import lax
from tangrad.autodiff import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p, zeros_p
from tangrad.batching import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad.core import RuleSet, dtypes
from tangrad.extend import collectives as named
from tangrad.extend import lax as p
from tangrad.extend.lax import device_put_p
from tangrad.extend.sharding import sharding_constraint_p
from tangrad_intervals.elementwise import EXACT, ROUNDED, increasing, is_inexact, of_truth_values, outward

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangrad.core import Array, Primitive
    from tangrad.extend.lax import DotDimensionNumbers
    from tangrad.lax import ConvDimensionNumbers
    from tangrad.typing import Dimensions, Value
    from tangrad_intervals.transformation import Pair, Pairs, Rule, Rules

structure, reductions = RuleSet("bounds", api=1), RuleSet("bounds", api=1)
contractions, windows, indexing = (RuleSet("bounds", api=1) for _ in range(3))

MOVES = (
    p.broadcast_in_dim_p, p.reshape_p, p.transpose_p, p.squeeze_p, p.rev_p, p.slice_p, p.concatenate_p, p.pad_p,
    p.copy_p, p.stop_gradient_p,
)  # fmt: skip
structure.table({one: increasing(one, EXACT) for one in MOVES})


def _several(primitive: Primitive[tuple[Array, ...]]) -> Rules:
    def rule(pairs: Pairs, **params: object) -> Pairs:
        lows, highs = zip(*pairs, strict=True)
        return list(zip(primitive.bind(*lows, **params), primitive.bind(*highs, **params), strict=True))

    return rule


structure.table({one: _several(one) for one in (p.split_p, p.optimization_barrier_p)})
structure.not_applicable("it has no operands", p.iota_p)


def _at_known_places(primitive: Primitive[Array], places: slice) -> Rule:
    """The rule of an operation at indices, which must be known exactly; increasing in everything else."""

    def rule(pairs: Pairs, **params: object) -> Pair:
        if any(low is not high for low, high in pairs[places]):
            raise NotImplementedError(f"bounds: {primitive} at indices that are not known exactly")
        return increasing(primitive, EXACT)(pairs, **params)

    return rule


structure.rule(p.dynamic_slice_p)(_at_known_places(p.dynamic_slice_p, slice(1, None)))
structure.rule(p.dynamic_update_slice_p)(_at_known_places(p.dynamic_update_slice_p, slice(2, None)))
indexing.rule(p.gather_p)(_at_known_places(p.gather_p, slice(1, 2)))
indexing.table({one: _at_known_places(one, slice(1, 2)) for one in (p.scatter_p, p.scatter_min_p, p.scatter_max_p)})

EXTREMA = (p.reduce_max_p, p.reduce_min_p, p.cummax_p, p.cummin_p)
reductions.table({one: increasing(one, EXACT) for one in EXTREMA})
reductions.table({one: of_truth_values(one, increasing(one, EXACT)) for one in (p.reduce_and_p, p.reduce_or_p)})
windows.table({one: increasing(one, EXACT) for one in (p.reduce_window_max_p, p.reduce_window_min_p)})


def sums(primitive: Primitive[Array], terms: Callable[..., int]) -> Rule:
    """The rule of sums of so many terms: their rounding errors are within that of the sum of the absolute values."""

    def rule(pairs: Pairs, **params: object) -> Pair:
        ((low, high),) = pairs
        found = primitive.bind(low, **params), primitive.bind(high, **params)
        if not is_inexact(low):
            return found
        largest = primitive.bind(lax.max(-low, high), **params)
        return _apart(*found, largest, terms(low.shape, **params))

    return rule


def _apart(low: Value, high: Value, largest: Array, count: int) -> Pair:
    """Bounds with room for the errors of sums of `count` products whose absolute values add up to `largest`."""
    room = largest * ((count + 4) * 2 * dtypes.finfo(low.dtype).eps)
    return outward(low - room, high + room)


reductions.rule(p.reduce_sum_p)(sums(p.reduce_sum_p, lambda shape, *, axes, **_: math.prod([shape[a] for a in axes])))
reductions.rule(p.cumsum_p)(sums(p.cumsum_p, lambda shape, *, axis, **_: shape[axis]))
windows.rule(p.reduce_window_sum_p)(
    sums(p.reduce_window_sum_p, lambda shape, *, window_dimensions, **_: math.prod(window_dimensions))
)


def _bilinear(primitive: Primitive[Array], terms: Callable[..., int]) -> Rule:
    """The rule of an operation that is linear in each of two operands; `terms`: how many products a result sums."""

    def rule(pairs: Pairs, **params: object) -> Pair:
        x, y = [_middle(low, high) for low, high in pairs]
        product: Callable[[Value, Value], Array] = lambda one, other: primitive.bind(one, other, **params)
        size_x, size_y = [lax.abs(middle) if radius is None else lax.abs(middle) + radius for middle, radius in (x, y)]
        middle, largest = product(x[0], y[0]), product(size_x, size_y)
        radius = lax.full_like(middle, 0)
        if x[1] is not None:
            radius = radius + product(x[1], size_y)
        if y[1] is not None:
            radius = radius + product(lax.abs(x[0]), y[1])
        return _apart(middle - radius, middle + radius, largest, terms(*[pair[0].shape for pair in pairs], **params))

    return rule


def _middle(low: Value, high: Value) -> tuple[Value, Value | None]:
    """Midpoint and radius; None: the radius is 0. The radius covers both bounds, however the midpoint was rounded."""
    if low is high:
        return low, None
    middle = low * 0.5 + high * 0.5
    _, radius = outward(middle, lax.max(high - middle, middle - low), 2)
    return middle, radius


def _of_dot(x: Dimensions, y: Dimensions, *, dimension_numbers: DotDimensionNumbers, **_: object) -> int:
    (contracted, _), _ = dimension_numbers
    return math.prod([x[axis] for axis in contracted])


def _of_convolution(x: Dimensions, y: Dimensions, *, dimension_numbers: ConvDimensionNumbers, **_: object) -> int:
    count: int = math.prod(y) // max(y[dimension_numbers.rhs_spec[0]], 1)
    return count


contractions.rule(p.dot_general_p)(_bilinear(p.dot_general_p, _of_dot))
windows.rule(p.conv_general_dilated_p)(_bilinear(p.conv_general_dilated_p, _of_convolution))


# --- The same in families beside `lax`: batching, derivatives, placement, named axes ---


autodiff, batching, collectives, placement, sharding = (RuleSet("bounds", api=1) for _ in range(5))

batching.table({one: increasing(one, EXACT) for one in (broadcast_axis_p, move_axis_p)})
batching.add(sum_axes_p, sums(sum_axes_p, lambda shape, *, axes: math.prod([shape[axis] for axis in axes])))

autodiff.table({one: increasing(one, EXACT) for one in (append_dims_p, set_weak_type_p)})
autodiff.add(add_any_p, increasing(add_any_p, ROUNDED))
autodiff.add(sum_trailing_p, sums(sum_trailing_p, lambda shape, *, count: math.prod(shape[len(shape) - count :])))
autodiff.not_applicable("it has no operands", zeros_p)

MOVES_ALONG_AXES = (
    named.pmax_p,
    named.pmin_p,
    named.all_gather_p,
    named.all_to_all_p,
    named.ppermute_p,
    named.pbroadcast_p,
    named.pinvary_p,
    named.pvary_p,
)
collectives.table({one: increasing(one, EXACT) for one in MOVES_ALONG_AXES})
placement.add(device_put_p, increasing(device_put_p, EXACT))
sharding.add(sharding_constraint_p, increasing(sharding_constraint_p, EXACT))
