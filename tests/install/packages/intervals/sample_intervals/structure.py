"""What moves elements moves their bounds."""

from sample_intervals.elementwise import increasing
from tangrad._lax.structure import primitives as p
from tangrad.core import RuleSet

rules = RuleSet("interval", api=1)
for primitive in (p.broadcast_in_dim_p, p.reshape_p, p.transpose_p, p.concatenate_p, p.squeeze_p):
    rules.add(primitive, increasing(primitive))
