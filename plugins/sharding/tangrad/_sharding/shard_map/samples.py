"""Samples of sharded maps over devices of the backend in use, up to eight, for the conformance kit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._sharding.sample_meshes import left_out, line_and_grid
from tangrad._sharding.shard_map.primitives import shard_map_p
from tangrad._sharding.shard_map.scope import axes_in_scope
from tangrad._sharding.shard_map.specs import differing_part, part_aval
from tangrad.conformance import Sample, draw
from tangrad.core import Array, find_primitive, get_aval, trace_to_closed_jaxpr
from tangrad.extend import collectives
from tangrad.sharding import Mesh, NamedSharding, PartitionSpec

if TYPE_CHECKING:
    from tangrad.typing import Value, Values

ROWS = 8  # divides by the devices of every mesh here


def samples() -> list[Sample]:
    """Collectives over one axis and two, maps over one axis of a grid, programs that use axes around the map."""
    line, grid = line_and_grid()
    rows, columns = PartitionSpec("x"), PartitionSpec(None, "y")
    whole, both = PartitionSpec(), PartitionSpec(("x", "y"))
    x, y = draw(ROWS, 3, dtype="float64"), draw(ROWS, 3, dtype="float64", seed=1)
    v = draw(3, dtype="float64", seed=2)
    around = {"i": 2, "x": 3}
    many = draw(2, 3, ROWS, 3, dtype="float64", seed=3)
    return [
        sample(_wave, (x, y), line, (rows, rows), (rows, whole)),
        sample(_shifted, (x, v), line, (rows, whole), (rows, whole)),
        sample(
            _of_grid, (draw(ROWS, ROWS, dtype="float64"), x), grid, (PartitionSpec("x", "y"), both), (both, columns)
        ),
        sample(_wave, (x, y), grid, (rows, rows), (rows, whole), axes=("x",)),
        sample(_shifted, (x, v), line, (rows, whole), (rows, whole), checked=True),
        sample(
            _of_grid,
            (draw(ROWS, ROWS, dtype="float64"), x),
            grid,
            (PartitionSpec("x", "y"), both),
            (both, columns),
            checked=True,
        ),
        sample(_around, (many, np.broadcast_to(v, (2, 3, 3))), line, (rows, whole), (rows, whole), around=around),
    ]


def _bind(name: str, *operands: Any, **params: Any) -> Any:
    return find_primitive(name).bind(*operands, **params)


def _sum(x: Value, *axes: Any) -> Value:
    return collectives.psum_p.bind(x, axes=axes, axis_index_groups=None)


def _wave(x: Value, y: Value) -> Values:
    product = _bind("elementwise.mul", _bind("elementwise.sin", x), y)
    return product, _sum(product, "x", 0)


def _shifted(x: Value, v: Any) -> tuple[Array, ...]:
    """Each device sends to the next one, and all have the sum; the second argument is the same everywhere."""
    count = ROWS // x.shape[0]
    ring = tuple([(number, (number + 1) % count) for number in range(count)])
    sent = collectives.ppermute_p.bind(_bind("elementwise.tanh", x), axis_name=("x",), perm=ring)
    return sent, _bind("elementwise.mul", v, _sum(_bind("elementwise.mul", x, sent), "x", 0))


def _of_grid(x: Value, y: Value) -> Values:
    """A sum along one axis of the grid, of which each device keeps its rows; the other axis stays cut."""
    total = _sum(_bind("elementwise.sin", y), "x", "y", 0)
    return _bind("elementwise.mul", y, y), _bind("elementwise.mul", _sum(x, "x"), _sum(total, 0))


def _around(x: Value, v: Value) -> Values:
    """`i` is an axis around the map; `x` is its own, though one around it has the same name."""
    own = _sum(_bind("elementwise.sin", x), "x", 0)
    return _bind("elementwise.mul", x, _sum(x, "i")), _bind("elementwise.mul", v, _sum(own, "i"))


def sample(
    function: Callable[..., Any],
    args: Sequence[np.ndarray],
    mesh: Mesh,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    axes: tuple[Any, ...] | None = None,
    around: Mapping[Any, int] | None = None,
    checked: bool = False,
) -> Sample:
    """A function of parts, mapped over axes (all) of a mesh.

    `around`: what the map itself is mapped over; `checked`: whether types record along which axes values differ.
    """
    given, manual = around or {}, mesh.axis_names if axes is None else axes
    in_shardings = tuple([NamedSharding(mesh, spec) for spec in in_specs])
    avals = [get_aval(arg[(0,) * len(given)]) for arg in args]
    typed = differing_part if checked else part_aval
    parts = tuple([typed(aval, sharding) for aval, sharding in zip(avals, in_shardings, strict=True)])
    with axes_in_scope(mesh, manual, checked):
        jaxpr = trace_to_closed_jaxpr(function, parts)
    params = {
        "jaxpr": jaxpr,
        "mesh": mesh,
        "in_shardings": in_shardings,
        "out_shardings": tuple([NamedSharding(mesh, spec) for spec in out_specs]),
        "manual_axes": manual,
        "checked": checked,
    }
    backend = mesh.device_order[0].backend.name
    return Sample(shard_map_p, tuple(args), params, without=left_out(backend), backends=(backend,), axes=given)
