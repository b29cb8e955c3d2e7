"""Increasing functions keep bounds, decreasing ones swap them; products look at all four corners."""

from tangrad import lax
from tangrad._lax.elementwise import primitives as p
from tangrad.core import RuleSet

rules = RuleSet("interval", api=1)


def increasing(primitive):
    def rule(bounds, **params):
        lows, highs = zip(*bounds, strict=True)
        return primitive.bind(*lows, **params), primitive.bind(*highs, **params)

    return rule


for primitive in (p.add_p, p.exp_p, p.tanh_p, p.logistic_p, p.max_p, p.min_p, p.log1p_p, p.convert_element_type_p):
    rules.add(primitive, increasing(primitive))


@rules.rule(p.neg_p)
def _(bounds):
    ((low, high),) = bounds
    return lax.neg(high), lax.neg(low)


@rules.rule(p.sub_p)
def _(bounds):
    (low_x, high_x), (low_y, high_y) = bounds
    return lax.sub(low_x, high_y), lax.sub(high_x, low_y)


@rules.rule(p.mul_p)
def _(bounds):
    (low_x, high_x), (low_y, high_y) = bounds
    corners = [lax.mul(x, y) for x in (low_x, high_x) for y in (low_y, high_y)]
    low = high = corners[0]
    for corner in corners[1:]:
        low, high = lax.min(low, corner), lax.max(high, corner)
    return low, high
