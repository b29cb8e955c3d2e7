"""The jvp rules of batching's own family: all of it is linear."""

from __future__ import annotations

from tangrad._batching.primitives import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad.autodiff import linear_jvp
from tangrad.core import RuleSet

jvp = RuleSet("jvp", api=1)
linear_jvp(jvp, broadcast_axis_p, move_axis_p, sum_axes_p)
