"""The rules of moving an array to a device: its elements stay what they are, and tangents move along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._lax.placement.primitives import device_put_p
from tangrad.core import RuleSet, ShapedArray
from tangrad.typing import Params

if TYPE_CHECKING:
    from tangrad.extend.sharding import Axes, Operand

jvp = RuleSet("jvp", api=1)
jvp.form("linear", device_put_p)

# Cotangents stay where they are: they are moved when they meet others.
transpose = RuleSet("transpose", api=1)
transpose.form("linear", device_put_p, using=[lambda ct, aval, target: ct])

batch = RuleSet("batch", api=1)
batch.form("elementwise", device_put_p)

mask = RuleSet("mask", api=1)
mask.form("whole", device_put_p)

checkify = RuleSet("checkify", api=1)
checkify.form("handed on", device_put_p)

sharding = RuleSet("sharding", api=1)


@sharding.rule(device_put_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """What is on one device is whole."""
    return (((),) * results[0].ndim,)
