"""Sums and extrema are increasing in every element."""

from sample_intervals.elementwise import increasing
from tangrad._lax.reductions import primitives as p
from tangrad.core import RuleSet

rules = RuleSet("interval", api=1)
for primitive in (p.reduce_sum_p, p.reduce_max_p, p.reduce_min_p):
    rules.add(primitive, increasing(primitive))
