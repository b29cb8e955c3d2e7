"""Samples of mapped programs, for the conformance kit."""

from __future__ import annotations

from typing import Any

from tangrad.conformance import Sample, draw
from tangrad.core import find_primitive, get_aval, trace_to_closed_jaxpr
from tangrad.xmapping.primitives import in_scope, xmap_p
from tangrad.xmapping.resources import Assigned


def samples() -> list[Sample]:
    """Two axes, one of them summed over by the program; an axis in chunks; a result that is a sum, and one repeated."""
    x, y = draw(2, 3, 4, dtype="float64"), draw(3, dtype="float64", seed=1)
    axes = {"in_axes": ((("i", 0), ("j", 2)), ()), "out_axes": ((("j", 0),), (("i", 0), ("j", 1)))}
    sizes = (("i", 2), ("j", 4))
    return [
        _mapped(_centred, x, y, sizes=sizes, **axes),
        _mapped(_wave, x, y, sizes=sizes, resources=(("j", Assigned((), 2)),), sums=(("i",), ()), **axes),
    ]


def _centred(x: Any, y: Any) -> Any:
    sin, mul, psum = [find_primitive(f"{name}") for name in ("elementwise.sin", "elementwise.mul", "collectives.psum")]
    return (psum.bind(mul.bind(sin.bind(x), y), axes=("i",), axis_index_groups=None), sin.bind(y))


def _wave(x: Any, y: Any) -> Any:
    sin, mul = find_primitive("elementwise.sin"), find_primitive("elementwise.mul")
    return (mul.bind(sin.bind(x), y), sin.bind(mul.bind(x, y)))


def _mapped(
    function: Any, *args: Any, sizes: Any, in_axes: Any, out_axes: Any, resources: Any = (), sums: Any = None
) -> Sample:
    avals = []
    for arg, positions in zip(args, in_axes, strict=True):
        named = {position for _, position in positions}
        aval = get_aval(arg)
        avals.append(aval.update(shape=tuple([n for at, n in enumerate(aval.shape) if at not in named])))
    with in_scope(sizes):
        jaxpr = trace_to_closed_jaxpr(function, avals)
    params = {
        "jaxpr": jaxpr,
        "name": function.__name__,
        "in_axes": in_axes,
        "out_axes": out_axes,
        "sums": ((),) * len(out_axes) if sums is None else sums,
        "sizes": sizes,
        "resources": resources,
        "sharding": None,
        "lowering": "spmd",
    }
    return Sample(xmap_p, args, params)
