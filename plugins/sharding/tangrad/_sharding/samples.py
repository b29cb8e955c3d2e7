"""Samples of sharding constraints, for the conformance kit."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._sharding.gspmd import GSPMDSharding
from tangrad._sharding.mesh import Mesh
from tangrad._sharding.named import NamedSharding, PartitionSpec
from tangrad._sharding.positional import PositionalSharding
from tangrad._sharding.primitives import auto_axes_p, sharding_constraint_p
from tangrad._sharding.sample_meshes import left_out, line_and_grid
from tangrad._sharding.single_device import SingleDeviceSharding
from tangrad.conformance import Sample, draw
from tangrad.core import Sharding, backend_names


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
    return [*found, *[Sample(auto_axes_p, (draw(4, 3),), {"axes": names}) for names in axes]]


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


def _sample(sharding: Sharding, backend: str, x: np.ndarray, axes: Any = None) -> Sample:
    return Sample(
        sharding_constraint_p,
        (x,),
        {"sharding": sharding},
        without=left_out(backend),
        backends=(backend,),
        axes=axes or {},
    )
