"""Samples of mapped programs, for the conformance kit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangrad._sharding.xmap.axes import MANUAL, REPLICATED, SPMD, Assigned
from tangrad._sharding.xmap.primitives import in_scope, xmap_p
from tangrad.conformance import Sample, draw
from tangrad.core import Sharding, find_primitive, get_aval, trace_to_closed_jaxpr
from tangrad.extend.sharding import NamedSharding, PartitionSpec, left_out, line_and_grid

if TYPE_CHECKING:
    from tangrad._sharding.xmap.axes import Positions
    from tangrad._sharding.xmap.variation import Sizes
    from tangrad.typing import Params, Value, Values


def samples() -> list[Sample]:
    """Two axes, one of them summed over by the program; an axis in chunks; a result that is a sum, and one repeated;
    axes over a mesh, in every lowering; a program that uses an axis around it.
    """
    x, y = draw(2, 3, 4, dtype="float64"), draw(3, dtype="float64", seed=1)
    axes: Params = {"in_axes": ((("i", 0), ("j", 2)), ()), "out_axes": ((("j", 0),), (("i", 0), ("j", 1)))}
    sizes = (("i", 2), ("j", 4))
    return [
        _mapped(_centred, x, y, sizes=sizes, **axes),
        _mapped(_wave, x, y, sizes=sizes, resources=(("j", Assigned((), 2)),), sums=(("i",), ()), **axes),
        *_on_mesh(),
        _within(),
    ]


def _on_mesh() -> list[Sample]:
    """Both axes cut along a grid of devices of the backend in use, and a result that is summed over one."""
    _, grid = line_and_grid()
    x, y = draw(2, 3, 8, dtype="float64"), draw(3, dtype="float64", seed=1)
    over: Params = {
        "sizes": (("i", 2), ("j", 8)),
        "in_axes": ((("i", 0), ("j", 2)), ()),
        "out_axes": ((("j", 0),), (("i", 0), ("j", 1))),
        "resources": (("i", Assigned(("x",), 1)), ("j", Assigned(("y",), 1))),
        "sharding": NamedSharding(grid, PartitionSpec()),
    }
    return [
        *[_mapped(_centred, x, y, lowering=lowering, **over) for lowering in (SPMD, MANUAL, REPLICATED)],
        _mapped(_wave, x, y, lowering=MANUAL, sums=(("i",), ()), **over),
    ]


def _within() -> Sample:
    """Within other axes, of which the program names one, and its own hides one."""
    around = {"i": 2, "k": 3}
    x, y = draw(2, 3, 4, 2, dtype="float64"), draw(2, 3, 2, dtype="float64", seed=1)
    return _mapped(
        _around, x, y, sizes=(("i", 4),), in_axes=((("i", 0),), ()), out_axes=((("i", 1),), ()), around=around
    )


def _around(x: Value, y: Value) -> Values:
    sin, mul, psum = [find_primitive(f"{name}") for name in ("elementwise.sin", "elementwise.mul", "collectives.psum")]
    return (
        mul.bind(x, psum.bind(sin.bind(x), axes=("k",), axis_index_groups=None)),
        mul.bind(y, psum.bind(x, axes=("i", "k"), axis_index_groups=None)),
    )


def _centred(x: Value, y: Value) -> Values:
    sin, mul, psum = [find_primitive(f"{name}") for name in ("elementwise.sin", "elementwise.mul", "collectives.psum")]
    return (psum.bind(mul.bind(sin.bind(x), y), axes=("i",), axis_index_groups=None), sin.bind(y))


def _wave(x: Value, y: Value) -> Values:
    sin, mul = find_primitive("elementwise.sin"), find_primitive("elementwise.mul")
    return (mul.bind(sin.bind(x), y), sin.bind(mul.bind(x, y)))


def _mapped(
    function: Callable[..., Values],
    *args: np.ndarray,
    sizes: Sizes,
    in_axes: Sequence[Positions],
    out_axes: Sequence[Positions],
    resources: Sequence[tuple[Hashable, Assigned]] = (),
    sums: Sequence[tuple[Hashable, ...]] | None = None,
    sharding: Sharding | None = None,
    lowering: str = SPMD,
    around: dict[str, int] | None = None,
) -> Sample:
    given, avals = around or {}, []
    for arg, positions in zip(args, in_axes, strict=True):
        named = {position for _, position in positions}
        aval = get_aval(arg[(0,) * len(given)])
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
        "sharding": sharding,
        "lowering": lowering,
    }
    if sharding is None:
        return Sample(xmap_p, args, params, axes=given)
    backend = sharding.device_order[0].backend.name
    return Sample(xmap_p, args, params, without=left_out(backend), backends=(backend,))
