"""Increasing functions keep bounds, decreasing ones swap them; products look at all four corners.

Sums and extrema are increasing in every element; what moves elements moves their bounds.
"""

from tangrad import lax
from tangrad._lax.elementwise import primitives as p
from tangrad._lax.reductions.primitives import reduce_max_p, reduce_min_p, reduce_sum_p
from tangrad._lax.structure.primitives import broadcast_in_dim_p, concatenate_p, reshape_p, squeeze_p, transpose_p
from tangrad.core import RuleSet

elementwise = RuleSet("interval", api=1)
reductions = RuleSet("interval", api=1)
structure = RuleSet("interval", api=1)


def increasing(primitive):
    def rule(bounds, **params):
        lows, highs = zip(*bounds, strict=True)
        return primitive.bind(*lows, **params), primitive.bind(*highs, **params)

    return rule


for primitive in (p.add_p, p.exp_p, p.tanh_p, p.logistic_p, p.max_p, p.min_p, p.log1p_p, p.convert_element_type_p):
    elementwise.add(primitive, increasing(primitive))
for primitive in (reduce_sum_p, reduce_max_p, reduce_min_p):
    reductions.add(primitive, increasing(primitive))
for primitive in (broadcast_in_dim_p, reshape_p, transpose_p, concatenate_p, squeeze_p):
    structure.add(primitive, increasing(primitive))


@elementwise.rule(p.neg_p)
def _(bounds):
    ((low, high),) = bounds
    return lax.neg(high), lax.neg(low)


@elementwise.rule(p.sub_p)
def _(bounds):
    (low_x, high_x), (low_y, high_y) = bounds
    return lax.sub(low_x, high_y), lax.sub(high_x, low_y)


@elementwise.rule(p.mul_p)
def _(bounds):
    (low_x, high_x), (low_y, high_y) = bounds
    corners = [lax.mul(x, y) for x in (low_x, high_x) for y in (low_y, high_y)]
    low = high = corners[0]
    for corner in corners[1:]:
        low, high = lax.min(low, corner), lax.max(high, corner)
    return low, high
