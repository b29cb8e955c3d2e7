"""Samples of linear calls and of calls with batch rules of their own, for the conformance kit."""

from __future__ import annotations

from typing import Any

from tangrad.conformance import Sample, draw, recorded
from tangrad.core import find_primitive
from tangrad.custom_rules.linear import linear_call, linear_call_p
from tangrad.custom_rules.mapped import custom_vmap, custom_vmap_call_p


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
