"""What moves or adds elements in families beside `lax`: batching, derivatives, placement, named axes."""

from __future__ import annotations

import math

from tangrad._autodiff.primitives import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p, zeros_p
from tangrad._batching.primitives import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad._collectives import primitives as c
from tangrad._lax.placement.primitives import device_put_p
from tangrad._sharding.primitives import sharding_constraint_p
from tangrad.core import RuleSet
from tangrad_intervals.elementwise import EXACT, ROUNDED, increasing
from tangrad_intervals.linear import sums

autodiff, batching, collectives, placement, sharding = (RuleSet("bounds", api=1) for _ in range(5))

batching.table({one: increasing(one, EXACT) for one in (broadcast_axis_p, move_axis_p)})
batching.add(sum_axes_p, sums(sum_axes_p, lambda shape, *, axes: math.prod([shape[axis] for axis in axes])))

autodiff.table({one: increasing(one, EXACT) for one in (append_dims_p, set_weak_type_p)})
autodiff.add(add_any_p, increasing(add_any_p, ROUNDED))
autodiff.add(sum_trailing_p, sums(sum_trailing_p, lambda shape, *, count: math.prod(shape[len(shape) - count :])))
autodiff.not_applicable("it has no operands", zeros_p)

MOVES = (c.pmax_p, c.pmin_p, c.all_gather_p, c.all_to_all_p, c.ppermute_p, c.pbroadcast_p, c.pvary_p)
collectives.table({one: increasing(one, EXACT) for one in MOVES})
placement.add(device_put_p, increasing(device_put_p, EXACT))
sharding.add(sharding_constraint_p, increasing(sharding_constraint_p, EXACT))
