"""Samples of sharding constraints, for the conformance kit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad.conformance import Sample, draw
from tangrad.core import backend_names, get_backend
from tangrad.shardings.gspmd import GSPMDSharding
from tangrad.shardings.mesh import Mesh
from tangrad.shardings.named import NamedSharding, PartitionSpec
from tangrad.shardings.positional import PositionalSharding
from tangrad.shardings.primitives import sharding_constraint_p
from tangrad.shardings.single_device import SingleDeviceSharding

BY_IDENTITY = "a mesh is made of devices, which are compared by identity, and belong to their process"
ELSEWHERE = "its devices are those of another backend than the one that it is compared with"


def samples() -> list[Sample]:
    """Arrays constrained in every way that there is, on devices of each backend, up to eight; also within a map."""
    found = []
    for name in backend_names():
        devices = get_backend(name).devices()
        count = max([number for number in (1, 2, 4, 8) if number <= len(devices)])
        for sharding in _shardings(devices[:count]):
            found.append(_sample(sharding, name, draw(8, 8, dtype="float32")))
        found.append(_sample(_grid(devices[:count], PartitionSpec("x")), name, draw(2, 8, 3), {"i": 2}))
    return found


def _grid(devices: Sequence[Any], spec: PartitionSpec) -> NamedSharding:
    grid = np.empty(len(devices), object)
    grid[:] = devices
    return NamedSharding(Mesh(grid.reshape(min(len(devices), 2), -1), ("x", "y")), spec)


def _shardings(devices: Sequence[Any]) -> list[Any]:
    specs = (
        PartitionSpec(),
        PartitionSpec(None, "x"),
        PartitionSpec("y", "x"),
        PartitionSpec(("x", "y")),
        PartitionSpec("x", PartitionSpec.UNCONSTRAINED),
    )
    return [
        *[_grid(devices, spec) for spec in specs],
        PositionalSharding(devices).reshape(len(devices), 1),
        GSPMDSharding.get_replicated(devices),
        SingleDeviceSharding(devices[0]),
    ]


def left_out(backend: str) -> dict[str, str]:
    """The checks that do not apply to samples with devices of a backend, each with the reason."""
    without = {"params": BY_IDENTITY, "pickle": BY_IDENTITY}
    if backend != get_backend().name:
        without |= dict.fromkeys(("usage", "special", "sizes"), ELSEWHERE)
    return without


def _sample(sharding: Any, backend: str, x: Any, axes: Any = None) -> Sample:
    return Sample(
        sharding_constraint_p,
        (x,),
        {"sharding": sharding},
        without=left_out(backend),
        backends=(backend,),
        axes=axes or {},
    )
