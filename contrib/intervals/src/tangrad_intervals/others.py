"""What moves or adds elements in families beside `lax`: batching, derivatives, placement, named axes."""

from __future__ import annotations

import math

from tangrad.autodiff import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p, zeros_p
from tangrad.batching import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad.core import RuleSet
from tangrad.extend import collectives as p
from tangrad.extend.lax import device_put_p
from tangrad.extend.sharding import sharding_constraint_p
from tangrad_intervals.elementwise import EXACT, ROUNDED, increasing
from tangrad_intervals.linear import sums

autodiff, batching, collectives, placement, sharding = (RuleSet("bounds", api=1) for _ in range(5))

batching.table({one: increasing(one, EXACT) for one in (broadcast_axis_p, move_axis_p)})
batching.add(sum_axes_p, sums(sum_axes_p, lambda shape, *, axes: math.prod([shape[axis] for axis in axes])))

autodiff.table({one: increasing(one, EXACT) for one in (append_dims_p, set_weak_type_p)})
autodiff.add(add_any_p, increasing(add_any_p, ROUNDED))
autodiff.add(sum_trailing_p, sums(sum_trailing_p, lambda shape, *, count: math.prod(shape[len(shape) - count :])))
autodiff.not_applicable("it has no operands", zeros_p)

MOVES = (p.pmax_p, p.pmin_p, p.all_gather_p, p.all_to_all_p, p.ppermute_p, p.pbroadcast_p, p.pvary_p)
collectives.table({one: increasing(one, EXACT) for one in MOVES})
placement.add(device_put_p, increasing(device_put_p, EXACT))
sharding.add(sharding_constraint_p, increasing(sharding_constraint_p, EXACT))
