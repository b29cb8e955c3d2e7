"""Samples of sharding constraints and sharded maps, for the conformance kit, and the meshes for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangrad._sharding.mesh import Mesh
from tangrad._sharding.named import NamedSharding, PartitionSpec
from tangrad._sharding.primitives import auto_axes_p, inspect_sharding_p, sharding_constraint_p
from tangrad._sharding.shard_map.primitives import shard_map_p
from tangrad._sharding.shard_map.scope import axes_in_scope, differing_part, part_aval
from tangrad._sharding.unnamed import GSPMDSharding, PositionalSharding, SingleDeviceSharding
from tangrad.conformance import Sample, draw
from tangrad.core import (
    Array,
    Device,
    Sharding,
    backend_names,
    find_primitive,
    get_aval,
    get_backend,
    trace_to_closed_jaxpr,
)
from tangrad.extend import collectives

if TYPE_CHECKING:
    from tangrad.typing import Value, Values


BY_IDENTITY = "a mesh is made of devices, which are compared by identity, and belong to their process"
ELSEWHERE = "its devices are those of another backend than the one that it is compared with"


def some_devices(backend: str | None = None) -> Sequence[Device]:
    """The first 1, 2, 4 or 8 devices of a backend (default: that in use)."""
    devices = get_backend(backend).devices()
    return devices[: max([number for number in (1, 2, 4, 8) if number <= len(devices)])]


def line_and_grid(backend: str | None = None) -> tuple[Mesh, Mesh]:
    """These in a row, with the axis "x", and in two rows where there are several, with the axes "x" and "y"."""
    devices = some_devices(backend)
    row = np.empty(len(devices), object)
    row[:] = devices
    return Mesh(row, ("x",)), Mesh(row.reshape(min(len(devices), 2), -1), ("x", "y"))


def left_out(backend: str) -> dict[str, str]:
    """The checks that do not apply to samples with devices of a backend, each with the reason."""
    without = {"params": BY_IDENTITY, "pickle": BY_IDENTITY}
    if backend != get_backend().name:
        without |= dict.fromkeys(("usage", "special", "sizes"), ELSEWHERE)
    return without


def samples() -> list[Sample]:
    """Arrays constrained in every way that there is, on devices of each backend, up to eight; also within a map.

    And arrays whose types are to drop some axes.
    """
    found = []
    for name in backend_names():
        _, grid = line_and_grid(name)
        for sharding in _shardings(grid):
            found.append(_sample(sharding, name, draw(8, 8, dtype="float32")))
        found.append(_sample(NamedSharding(grid, PartitionSpec("x")), name, draw(2, 8, 3), {"i": 2}))
    axes = (None, ("x",))
    shown = Sample(
        inspect_sharding_p,
        (draw(4, 3),),
        {"callback": _check_sharding},
        derivatives=0,
        without={"effects": "its effect takes place when a program is compiled"},
    )
    return [*found, *[Sample(auto_axes_p, (draw(4, 3),), {"axes": names}) for names in axes], shown]


def _check_sharding(sharding: object) -> None:
    """What a value's sharding is shown to. Raises TypeError for what is none."""
    if not isinstance(sharding, Sharding):
        raise TypeError(f"a sharding was to be shown, got {sharding!r}")


def _shardings(grid: Mesh) -> list[Sharding]:
    devices = grid.device_order
    specs = (
        PartitionSpec(),
        PartitionSpec(None, "x"),
        PartitionSpec("y", "x"),
        PartitionSpec(("x", "y")),
        PartitionSpec("x", PartitionSpec.UNCONSTRAINED),
    )
    return [
        *[NamedSharding(grid, spec) for spec in specs],
        PositionalSharding(devices).reshape(len(devices), 1),
        GSPMDSharding.get_replicated(devices),
        SingleDeviceSharding(devices[0]),
    ]


def _sample(sharding: Sharding, backend: str, x: np.ndarray, axes: Mapping[str, int] | None = None) -> Sample:
    return Sample(
        sharding_constraint_p,
        (x,),
        {"sharding": sharding},
        without=left_out(backend),
        backends=(backend,),
        axes=axes or {},
    )


ROWS = 8  # divides by the devices of every mesh here


def shard_map_samples() -> list[Sample]:
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


def _bind(name: str, *operands: object, **params: object) -> Array:
    return find_primitive(name).bind(*operands, **params)


def _sum(x: Value, *axes: object) -> Value:
    return collectives.psum_p.bind(x, axes=axes, axis_index_groups=None)


def _wave(x: Value, y: Value) -> Values:
    product = _bind("elementwise.mul", _bind("elementwise.sin", x), y)
    return product, _sum(product, "x", 0)


def _shifted(x: Value, v: object) -> tuple[Array, ...]:
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
    function: Callable[..., Values],
    args: Sequence[np.ndarray],
    mesh: Mesh,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    axes: tuple[object, ...] | None = None,
    around: dict[str, int] | None = None,
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
