"""Samples of the call of a checkpointed function, and of names, for the conformance kit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._custom_rules.checkpoint.primitives import name_p, remat_p
from tangrad.conformance import Sample, draw
from tangrad.core import find_primitive, get_aval, trace_to_closed_jaxpr

if TYPE_CHECKING:
    from tangrad.typing import Value, Values


def _wave(x: Value, y: Value) -> Values:
    sin, mul = find_primitive("elementwise.sin"), find_primitive("elementwise.mul")
    return mul.bind(sin.bind(x), y), sin.bind(mul.bind(x, y))


def samples() -> list[Sample]:
    """All of them. Programs are of double precision, as derivatives are checked in it."""
    args = draw(2, 3, dtype="float64"), draw(2, 3, dtype="float64", seed=1)
    jaxpr = trace_to_closed_jaxpr(_wave, tuple([get_aval(arg) for arg in args]))
    found = [Sample(name_p, (draw(2, 3, dtype=kind),), {"name": "kept"}) for kind in ("float32", "int32", "complex64")]
    for prevent in (False, True):
        params = {"jaxpr": jaxpr, "prevent_cse": prevent, "differentiated": False, "policy": None}
        found.append(Sample(remat_p, args, params))
    return found
