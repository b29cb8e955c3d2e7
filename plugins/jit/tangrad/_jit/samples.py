"""Samples of the calls of a compiled program and of a region, for the conformance kit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tangrad._jit.primitives import hinted_p, jit_p, region_p, tagged_p
from tangrad.conformance import Sample, draw
from tangrad.core import find_primitive, get_aval, trace_to_closed_jaxpr

if TYPE_CHECKING:
    from tangrad.typing import Value, Values


def samples() -> list[Sample]:
    """All of them."""
    x, y = draw(2, 3, dtype="float64"), draw(2, 3, dtype="float64", seed=1)
    jaxpr = trace_to_closed_jaxpr(_wave, (get_aval(x), get_aval(y)))
    attributes = {"attributes": (("group", "first"),), "derived": (("group", "second"),)}
    return [
        _call(_wave, x, y),
        _call(_wave, draw(dtype="float64"), draw(dtype="float64", seed=1)),
        _call(_twins, x),
        Sample(hinted_p, (x, y), {"jaxpr": jaxpr, "name": "wave", **attributes}),
        Sample(tagged_p, (x,), {"attributes": (("group", "first"),)}),
    ]


def _wave(x: Value, y: Value) -> Values:
    sin, mul = find_primitive("elementwise.sin"), find_primitive("elementwise.mul")
    return (mul.bind(sin.bind(x), y), sin.bind(mul.bind(x, y)))


def _twins(x: Value) -> Values:
    return (x, find_primitive("elementwise.neg").bind(x))


def _call(function: Callable[..., Values], *args: np.ndarray) -> Sample:
    jaxpr = trace_to_closed_jaxpr(function, tuple([get_aval(arg) for arg in args]))
    return Sample(jit_p, args, {"jaxpr": jaxpr, "name": function.__name__})


def region_samples() -> list[Sample]:
    """All of them."""
    x, y = draw(2, 3, dtype="float64"), draw(2, 3, dtype="float64", seed=1)
    jaxpr = trace_to_closed_jaxpr(_wave, (get_aval(x), get_aval(y)))
    return [Sample(region_p, (x, y), {"jaxpr": jaxpr, "name": "wave"})]
