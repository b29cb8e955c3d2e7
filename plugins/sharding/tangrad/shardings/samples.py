"""Samples of sharding constraints, for the conformance kit."""

from __future__ import annotations

from typing import Any

from tangrad.conformance import Sample, draw
from tangrad.core import backend_names
from tangrad.shardings.gspmd import GSPMDSharding
from tangrad.shardings.mesh import Mesh
from tangrad.shardings.named import NamedSharding, PartitionSpec
from tangrad.shardings.positional import PositionalSharding
from tangrad.shardings.primitives import auto_axes_p, sharding_constraint_p
from tangrad.shardings.sample_meshes import left_out, line_and_grid
from tangrad.shardings.single_device import SingleDeviceSharding


def samples() -> list[Sample]:
    """Arrays constrained in every way that there is, on devices of each backend, up to eight; also within a map.

    And arrays whose types are to tell no more of some axes.
    """
    found = []
    for name in backend_names():
        _, grid = line_and_grid(name)
        for sharding in _shardings(grid):
            found.append(_sample(sharding, name, draw(8, 8, dtype="float32")))
        found.append(_sample(NamedSharding(grid, PartitionSpec("x")), name, draw(2, 8, 3), {"i": 2}))
    axes = (None, ("x",))
    return [*found, *[Sample(auto_axes_p, (draw(4, 3),), {"axes": names}) for names in axes]]


def _shardings(grid: Mesh) -> list[Any]:
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


def _sample(sharding: Any, backend: str, x: Any, axes: Any = None) -> Sample:
    return Sample(
        sharding_constraint_p,
        (x,),
        {"sharding": sharding},
        without=left_out(backend),
        backends=(backend,),
        axes=axes or {},
    )
