"""Samples of linear calls, composites, and calls with rules of their own for batches and dead code."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._custom_rules.composites import composite, composite_p
from tangrad._custom_rules.dead_code import custom_dce, custom_dce_call_p
from tangrad._custom_rules.linear import linear_call, linear_call_p
from tangrad._custom_rules.mapped import custom_vmap, custom_vmap_call_p
from tangrad.conformance import Sample, draw, recorded
from tangrad.core import find_primitive, get_aval, trace_to_closed_jaxpr


def _bind(name: str, *args: Any) -> Any:
    return find_primitive(f"elementwise.{name}").bind(*args)


def linear_samples() -> list[Sample]:
    """Of `linear_call`."""
    slope, x = draw(2, 3, dtype="float64"), draw(2, 3, dtype="float64")
    times = lambda r, v: _bind("mul", r, v)
    args, params = recorded(linear_call_p, lambda: linear_call(times, times, slope, x))
    return [Sample(linear_call_p, args, params)]


def mapped_samples() -> list[Sample]:
    """Of `custom_vmap_call`."""
    x = draw(2, 3, dtype="float64")
    wave = custom_vmap(lambda x: _bind("sin", x))
    wave.def_vmap(lambda size, batched, x: (_bind("sin", x), batched[0]))
    args, params = recorded(custom_vmap_call_p, lambda: wave(x))
    return [Sample(custom_vmap_call_p, args, params)]


def partial_samples() -> list[Sample]:
    """Of `custom_dce_call`."""
    x = draw(2, 3, dtype="float64")
    waves = custom_dce(lambda x: (_bind("sin", x), _bind("cos", x)))
    waves.def_dce(lambda used, x: (_bind("sin", x) if used[0] else None, _bind("cos", x) if used[1] else None))
    program = trace_to_closed_jaxpr(lambda x: waves(x), (get_aval(x),))
    (equation,) = program.eqns
    return [Sample(custom_dce_call_p, (x,), equation.params)]


def composite_samples() -> list[Sample]:
    """Of `composite`: with attributes of every type, and with a result that is an operand."""
    x = draw(2, 3, dtype="float64")
    waves = composite(lambda x, **_: (_bind("sin", x), x), "test.waves", 2)
    given = {"axis": 1, "fast": True, "name": "wave", "scales": (0.5, np.arange(3)), "more": {"kind": np.dtype("int8")}}
    args, params = recorded(composite_p, lambda: waves(x, **given))
    return [Sample(composite_p, args, params)]
