"""How the elementwise primitives act on mapped axes: all element by element, but for one."""

from __future__ import annotations

from typing import Any

from tangrad._lax.elementwise.primitives import bitcast_convert_type_p, elementwise
from tangrad.batching import elementwise_batch, front_batch
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)

elementwise_batch(batch, *[p for p in elementwise.primitives.values() if p is not bitcast_convert_type_p])


def _bitcast(operand: Any, **params: Any) -> Any:
    return bitcast_convert_type_p.bind(operand, **params)


# A change of width adds or consumes the last dimension, which therefore must not be the mapped one.
front_batch(batch, bitcast_convert_type_p, _bitcast)
