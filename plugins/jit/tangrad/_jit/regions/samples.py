"""Samples of the call of a region, for the conformance kit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._jit.regions.primitives import region_p
from tangrad.conformance import Sample, draw
from tangrad.core import find_primitive, get_aval, trace_to_closed_jaxpr

if TYPE_CHECKING:
    from tangrad.typing import Value, Values


def samples() -> list[Sample]:
    """All of them."""
    x, y = draw(2, 3, dtype="float64"), draw(2, 3, dtype="float64", seed=1)
    jaxpr = trace_to_closed_jaxpr(_wave, (get_aval(x), get_aval(y)))
    return [Sample(region_p, (x, y), {"jaxpr": jaxpr, "name": "wave"})]


def _wave(x: Value, y: Value) -> Values:
    sin, mul = find_primitive("elementwise.sin"), find_primitive("elementwise.mul")
    return (mul.bind(sin.bind(x), y), sin.bind(mul.bind(x, y)))
